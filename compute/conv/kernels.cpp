#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/kernels/conv/images.hpp>

#include <algorithm>
#include <cstring>
#include <map>

namespace kinetograph::conv {
namespace {

/// The image in the best format of the device's back end that this build has it in.
Result<std::span<const std::byte>> find_image(const accel::DeviceInfo& device, std::string_view image) {
    std::string none;
    const accel::Backend* const backend = accel::find_backend(device.kind);
    for (const std::string_view format :
         backend != nullptr ? backend->image_formats : std::span<const std::string_view>())
        for (const Images& row : images()) {
            if (row.format != format) continue;
            if (const auto bytes = row.find(device.architecture, image); !bytes.empty()) return bytes;
            none += fmt::format("{}no {} \"{}\" in this build: {}", none.empty() ? "" : "; ", format, image,
                                row.compiler());
        }
    return fail(ErrorCode::Unsupported, "{}",
                none.empty() ? fmt::format("this build has no device code for {}", device.kind) : none);
}

}  // namespace

std::string missing_image(const accel::DeviceInfo& device, std::string_view image) {
    const auto found = find_image(device, image);
    return found ? "" : found.error().message;
}

std::uint64_t image_hash(const accel::DeviceInfo& device, std::string_view image) {
    static Mutex mutex;
    static std::map<const std::byte*, std::uint64_t> known;
    const auto found = find_image(device, image);
    if (!found) return 0;
    const Lock lock(mutex);
    if (const auto hashed = known.find(found->data()); hashed != known.end()) return hashed->second;
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a over words: some milliseconds for ten megabytes
    for (std::span<const std::byte> rest = *found; !rest.empty();) {
        std::uint64_t word = 0;
        const std::size_t bytes = std::min(rest.size(), sizeof(word));
        std::memcpy(&word, rest.data(), bytes);
        hash = (hash ^ word) * 0x100000001B3;
        rest = rest.subspan(bytes);
    }
    return known.emplace(found->data(), hash).first->second;
}

Result<std::shared_ptr<accel::Kernel>> Kernels::get(std::string_view image, std::string_view kernel) const {
    auto found = device_->kernels().get(image, kernel, [&]() -> Result<std::span<const std::byte>> {
        KG_TRY_IN(fmt::format("kernel \"{}\"", kernel), const auto bytes, find_image(device_->info(), image));
        return bytes;
    });
    // Not in this build: another method is used.
    if (!found && found.error().code == ErrorCode::NotFound) found.error().code = ErrorCode::Unsupported;
    return found;
}

}  // namespace kinetograph::conv
