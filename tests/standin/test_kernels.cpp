#include <kinetograph/tests/standin/kernels.hpp>
#include <kinetograph/tests/standin/standin.hpp>

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

}  // namespace

std::optional<Kernel> find_test_kernel(std::string_view name) {
    if (name == "standin_scale_add")
        return Kernel{.name = std::string(name), .argument_bytes = sizeof(ScaleAddParams), .max_threads = kThreads};
    if (name == "standin_spin")
        return Kernel{.name = std::string(name), .argument_bytes = sizeof(SpinParams), .max_threads = 64};
    return std::nullopt;
}

std::optional<std::string> run_test_kernel(std::string_view name, const KernelCall& call) {
    if (name == "standin_scale_add") return scale_add(call);
    if (name == "standin_spin") return spin(call);
    return fmt::format("no kernel \"{}\"", name);
}

}  // namespace kinetograph::standin
