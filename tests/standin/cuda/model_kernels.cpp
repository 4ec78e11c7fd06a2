// The stand-in with the kernels linked into it: launched by name, run in the host model of threads. A whole decoder
// runs here, so threads run in order; tests/kernels/cuda tests dependence on the order.
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <kinetograph/tests/standin/cuda/tensor_map.hpp>
#include <kinetograph/tests/standin/kernels.hpp>

#include <list>
#include <mutex>

namespace kinetograph::standin {

namespace {

host_model::Dim3 dimensions(const accel::Extent3& extent) { return {extent.x, extent.y, extent.z}; }

}  // namespace

std::optional<Kernel> find_kernel(std::string_view name) {
    const host_model::ModelKernel* kernel = host_model::find_model_kernel(name);
    if (kernel == nullptr) return find_test_kernel(name);
    return Kernel{.name = kernel->name, .argument_bytes = kernel->parameter_bytes, .max_threads = kernel->threads};
}

std::optional<std::string> run_kernel(std::string_view name, const KernelCall& call) {
    const host_model::ModelKernel* kernel = host_model::find_model_kernel(name);
    if (kernel == nullptr) return run_test_kernel(name, call);
    if (call.block != accel::Extent3{kernel->threads})
        return fmt::format("blocks of {} x {} x {} threads, the kernel is written for {}", call.block.x, call.block.y,
                           call.block.z, kernel->threads);
    const host_model::Launch launch{.grid = dimensions(call.grid),
                                    .cluster = dimensions(call.cluster),
                                    .threads = kernel->threads,
                                    .shared_bytes = call.dynamic_shared_bytes,
                                    .schedule = host_model::Schedule::Orderly,
                                    .host_threads = 0};
    return host_model::run(launch, [&] { kernel->run(call.arguments); }).fault;
}

}  // namespace kinetograph::standin

namespace kinetograph::accel::cuda {

isa::TensorMap tensor_map(const isa::TensorMapDesc& desc) {
    static std::mutex mutex;
    static std::list<isa::TensorMapDesc> described;  // a map names its description by address
    std::lock_guard lock(mutex);
    return host_model::model_map(described.emplace_back(desc));
}

}  // namespace kinetograph::accel::cuda
