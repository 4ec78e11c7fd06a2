#include <kinetograph/tests/standin/kernels.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <array>
#include <numeric>
#include <thread>

namespace kinetograph::standin {

namespace {

constexpr std::uint32_t kThreads = 256;

std::optional<std::string> scale_add(const KernelCall& call) {
    const auto& params = *static_cast<const ScaleAddParams*>(call.arguments);
    if (call.grid.volume() * call.block.volume() < params.count)
        return fmt::format("standin_scale_add: {} threads for {} elements", call.grid.volume() * call.block.volume(),
                           params.count);
    for (std::uint32_t i = 0; i < params.count; ++i) params.out[i] = params.scale * params.in[i] + params.offset;
    return std::nullopt;
}

std::optional<std::string> spin(const KernelCall& call) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<const SpinParams*>(call.arguments)->nanoseconds));
    return std::nullopt;
}

std::optional<std::string> sum_in_shared(const KernelCall& call) {
    const auto& params = *static_cast<const SharedSumParams*>(call.arguments);
    if (call.dynamic_shared_bytes < params.count * sizeof(float))
        return fmt::format("sum_in_shared: {} bytes of shared memory for {} numbers", call.dynamic_shared_bytes,
                           params.count);
    *params.out = std::accumulate(params.in, params.in + params.count, 0.F);
    return std::nullopt;
}

std::optional<std::string> write_cluster_rank(const KernelCall& call) {
    const auto& params = *static_cast<const ClusterRankParams*>(call.arguments);
    for (std::uint32_t block = 0; block < call.grid.x; ++block) params.out[block] = block % call.cluster.x;
    return std::nullopt;
}

struct TestKernel {
    Kernel kernel;
    std::optional<std::string> (*run)(const KernelCall& call);
};

const std::array<TestKernel, 5>& test_kernels() {
    static const std::array<TestKernel, 5> kernels{{
        {{.name = "standin_scale_add", .argument_bytes = sizeof(ScaleAddParams), .max_threads = kThreads}, scale_add},
        {{.name = "standin_spin", .argument_bytes = sizeof(SpinParams), .max_threads = 64}, spin},
        {{.name = "sum_in_shared", .argument_bytes = sizeof(SharedSumParams), .max_threads = kThreads}, sum_in_shared},
        {{.name = "write_cluster_rank", .argument_bytes = sizeof(ClusterRankParams), .max_threads = kThreads},
         write_cluster_rank},
        {{.name = "kinetograph_fills_an_sm", .max_threads = 1024},
         [](const KernelCall&) -> std::optional<std::string> { return std::nullopt; }},
    }};
    return kernels;
}

}  // namespace

std::optional<Kernel> find_test_kernel(std::string_view name) {
    for (const TestKernel& known : test_kernels())
        if (known.kernel.name == name) return known.kernel;
    return std::nullopt;
}

std::optional<std::string> run_test_kernel(std::string_view name, const KernelCall& call) {
    for (const TestKernel& known : test_kernels())
        if (known.kernel.name == name) return known.run(call);
    return fmt::format("no kernel \"{}\"", name);
}

}  // namespace kinetograph::standin
