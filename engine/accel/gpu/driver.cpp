#include <kinetograph/engine/accel/gpu/driver.hpp>

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace kinetograph::accel::gpu {

namespace {

std::vector<std::string> candidates(const LibraryDesc& desc, const std::string& library) {
    if (!library.empty()) return {library};
    if (const char* chosen = std::getenv(desc.variable); chosen != nullptr && *chosen != '\0') return {chosen};
    return {desc.names.begin(), desc.names.end()};
}

}  // namespace

Result<std::string> open_library(const LibraryDesc& desc, const std::string& library, const EntryPointTable& table) {
    const std::vector<std::string> names = candidates(desc, library);
    for (const std::string& name : names) {
        void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle == nullptr) {
            const std::string reason = ::dlerror();
            if (reason.starts_with(name + ": cannot open shared object file")) continue;
            return fail(ErrorCode::NotFound, "{} does not load ({}): {}", name, reason, desc.without);
        }
        for (EntryPointBase* entry_point : table.all()) {
            entry_point->set_address(::dlsym(handle, entry_point->symbol()));
            if (!entry_point->present() && entry_point->need() == Need::Required)
                return fail(ErrorCode::NotFound, "{} has no {} ({}): {}", name, entry_point->symbol(), desc.since,
                            desc.without);
        }
        return name;
    }
    return fail(ErrorCode::NotFound, "{} not found: {}", fmt::join(names, ", "), desc.without);
}

}  // namespace kinetograph::accel::gpu
