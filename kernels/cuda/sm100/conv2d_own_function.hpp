#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>

/// A convolution on SM100 with the caller's own function in its epilogue. samples/sm100_function is an example.
///
/// 1. The function: a type as epilogue_functions.hpp describes, trivially copyable. Its members travel in the kernel's
///    parameters, which have 4096 bytes: pointers to tables, not tables.
///
///        struct Clamp {
///            static constexpr EpilogueForm kForm = EpilogueForm::InRegisters;
///            float most = 6;
///            KG_DEVICE float operator()(float value, uint32_t pixel, uint32_t channel) const {
///                return fminf(fmaxf(value, 0.0f), most);
///            }
///        };
///
///    It is called for every element of the output once, in any order and by many threads: what it writes, it writes
///    with atomics or to a place of that element's own.
///
/// 2. The kernel, in a source for nvcc 13.0 (-std=c++20 -arch=sm_100a, or sm_100f for all chips of the family). The
///    config is any that CheckedConfig accepts: preset() and conv2d_configs.hpp make them, and a wrong one does not
///    compile, with the broken limit as the message.
///
///        #include <kinetograph/kernels/cuda/sm100/conv2d_kernel_entry.cuh>
///        inline constexpr Conv2dConfig kClampConfig = two_sm_128b({.filters = 128});
///        KG_SM100_KERNEL(clamped_conv2d, kClampConfig, Clamp)
///
/// 3. The launch, with the same config: own_launch(). Its arguments are the kernel's one parameter; it is launched by
///    cuLaunchKernelEx with the cluster as an attribute, or by accel::Stream::launch.
///
/// Filters are [c_out][taps][c_in] of the config's element (KQRSC); gates.hpp lists what a problem has to be.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig, class Function>
conv::ConvLaunch own_launch(const conv::ConvProblem& problem, const Conv2dTensors& tensors,
                            const Conv2dEpilogueArguments<Function>& after, const conv::EncodeMap& encode) {
    static_assert(std::is_trivially_copyable_v<Function>, "the function travels in the kernel's parameters");
    const Conv2dLaunch launch = plan_launch(kConfig, problem, tensors);
    return {.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
            .cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .arguments = conv::Arguments::of(make_params<kConfig, Function>(launch, after, encode))};
}

}  // namespace kinetograph::sm100
