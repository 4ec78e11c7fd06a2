#include <kinetograph/compute/conv/hip/kernels.hpp>
#include <kinetograph/kernels/hip/gfx950/code_objects.hpp>

namespace kinetograph::conv::hip {

std::shared_ptr<Kernels> Kernels::of(accel::Device& device) {
    static std::mutex mutex;
    static std::map<accel::Device*, std::weak_ptr<Kernels>> known;
    const std::scoped_lock lock(mutex);
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = known[&device];
    auto kernels = entry.lock();
    if (!kernels) entry = kernels = std::make_shared<Kernels>(device);
    return kernels;
}

Result<std::shared_ptr<accel::Kernel>> Kernels::get(const std::string& object, const std::string& kernel) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = kernels_.find(kernel); found != kernels_.end()) return found->second;
    auto& module = modules_[object];
    if (!module) {
        const auto image = gfx950::code_object(object);
        if (image.empty())
            return fail(ErrorCode::Unsupported, "kernel \"{}\": no code object \"{}\" in this build: {}", kernel,
                        object, gfx950::code_object_compiler());
        auto loaded = device_.load(object, image);
        if (!loaded) return fail(std::move(loaded.error()));
        module = std::move(*loaded);
    }
    auto found = module->kernel(kernel);
    if (found) kernels_.emplace(kernel, *found);
    return found;
}

Result<BoundKernel> BoundKernel::create(Kernels& kernels, const gfx950::LaunchShape& shape) {
    auto kernel = kernels.get(shape.object, shape.kernel);
    if (!kernel) return fail(std::move(kernel.error()));
    BoundKernel bound;
    bound.kernel_ = std::move(*kernel);
    bound.grid_ = {shape.grid_x, shape.grid_y, shape.grid_z};
    bound.threads_ = shape.threads;
    return bound;
}

}  // namespace kinetograph::conv::hip
