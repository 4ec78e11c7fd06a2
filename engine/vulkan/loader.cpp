#include <kinetograph/engine/vulkan/loader.hpp>

#include <dlfcn.h>

namespace kinetograph::vulkan {

Result<Loader> Loader::open(const std::string& library) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return fail(ErrorCode::NotFound, "{} not found: Vulkan lanes off", library);
    auto* symbol = ::dlsym(handle, "vkGetInstanceProcAddr");
    if (symbol == nullptr)
        return fail(ErrorCode::NotFound, "{} is not a Vulkan loader (no vkGetInstanceProcAddr): Vulkan lanes off",
                    library);
    return Loader(reinterpret_cast<PFN_vkGetInstanceProcAddr>(symbol));
}

}  // namespace kinetograph::vulkan
