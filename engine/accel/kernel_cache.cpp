#include <kinetograph/engine/accel/kernel_cache.hpp>

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel {

Result<std::shared_ptr<Kernel>> KernelCache::get(std::string_view image, std::string_view kernel,
                                                 const std::function<Result<std::span<const std::byte>>()>& bytes) {
    const Lock lock(mutex_);
    if (const auto found = kernels_.find(kernel); found != kernels_.end()) return found->second;
    auto module = modules_.find(image);
    if (module == modules_.end()) {
        KG_TRY(const auto given, bytes());
        KG_TRY(auto loaded, device_.load(image, given));
        module = modules_.emplace(image, std::move(loaded)).first;
    }
    KG_TRY(auto found, module->second->kernel(kernel));
    return kernels_.emplace(kernel, std::move(found)).first->second;
}

}  // namespace kinetograph::accel
