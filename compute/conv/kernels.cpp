#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/kernels/hip/code_objects.hpp>

namespace kinetograph::conv {
namespace {

/// The images in this build for one kind of device.
struct Images {
    std::string_view noun;
    std::span<const std::byte> (*find)(std::string_view architecture, std::string_view name);
    std::string_view (*compiler)();
};

constexpr Images kFatBinaries{
    "fat binary", [](std::string_view, std::string_view name) { return kinetograph::cuda::fat_binary(name); },
    kinetograph::cuda::fat_binary_compiler};
constexpr Images kCodeObjects{"code object", kinetograph::hip::code_object, kinetograph::hip::code_object_compiler};

const Images& images_of(const accel::DeviceInfo& device) {
    return device.kind == accel::Kind::Cuda ? kFatBinaries : kCodeObjects;
}

}  // namespace

std::string missing_image(const accel::DeviceInfo& device, std::string_view image) {
    const Images& images = images_of(device);
    if (!images.find(device.architecture, image).empty()) return "";
    return fmt::format("no {} \"{}\" in this build: {}", images.noun, image, images.compiler());
}

std::shared_ptr<Kernels> Kernels::of(accel::Device& device) {
    static Mutex mutex;
    static std::map<accel::Device*, std::weak_ptr<Kernels>> known;
    const Lock lock(mutex);
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = known[&device];
    auto kernels = entry.lock();
    if (!kernels) entry = kernels = std::make_shared<Kernels>(device);
    return kernels;
}

Result<std::shared_ptr<accel::Kernel>> Kernels::get(std::string_view image, std::string_view kernel) {
    const Lock lock(mutex_);
    if (const auto found = kernels_.find(kernel); found != kernels_.end()) return found->second;
    KG_TRY(auto loaded, module(image, kernel));
    auto found = loaded->kernel(kernel);
    if (found) {
        kernels_.emplace(kernel, *found);
    } else if (found.error().code == ErrorCode::NotFound) {  // not in this build: another method is used
        found.error().code = ErrorCode::Unsupported;
    }
    return found;
}

Result<std::shared_ptr<accel::Module>> Kernels::module(std::string_view image, std::string_view kernel) {
    if (const auto found = modules_.find(image); found != modules_.end()) return found->second;
    if (const std::string missing = missing_image(device_.info(), image); !missing.empty())
        return fail(ErrorCode::Unsupported, "kernel \"{}\": {}", kernel, missing);
    auto loaded = device_.load(image, images_of(device_.info()).find(device_.info().architecture, image));
    if (loaded) modules_.emplace(image, *loaded);
    return loaded;
}

}  // namespace kinetograph::conv
