// The stand-in with the kernels of kernels/hip/gfx950: launched by name, run in the host model of waves.
#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <kinetograph/tests/standin/kernels.hpp>

#include <atomic>

namespace kinetograph::standin {

namespace {

/// Successive launches land loads to LDS late, early and at random.
std::uint64_t next_seed() {
    static std::atomic<std::uint64_t> seed = 0;
    return seed++;
}

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
    if (call.dynamic_shared_bytes != 0)
        return fmt::format("{} bytes of dynamic LDS, the kernel declares its own", call.dynamic_shared_bytes);
    const auto [x, y, z] = call.grid;
    return host_model::launch_waves(*kernel, {.grid = {x, y, z}, .seed = next_seed(), .threads = 0}, call.arguments)
        .fault;
}

}  // namespace kinetograph::standin
