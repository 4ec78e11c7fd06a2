#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>

/// A 3-D convolution as q 2-D ones: out[t] = sum over q of conv2d(in[t + q], filter[q]). Exact for stride 1, dilation 1
/// and no temporal padding (qslice_gates). The frames of one sample are the images of each 2-D launch, and a slice of
/// the filter is a view of the packed filter: no copy, no transposition.
namespace kinetograph::sm100 {

enum class QsliceForm : uint8_t {
    RoundedSlices,  ///< a separate pass adds each slice's bf16 result to an fp32 buffer
    FusedSums,      ///< each 2-D epilogue adds its fp32 sums to the buffer; the last one finishes
};

/// What one step of the plan launches.
enum class QsliceStep : uint8_t {
    Slice,       ///< conv2d -> bf16 temporary
    Accumulate,  ///< pass: sums (+)= temporary
    FirstSum,    ///< conv2d -> sums
    NextSum,     ///< conv2d + sums -> sums
    LastSum,     ///< conv2d + sums -> bias, function -> output
    Finish,      ///< pass: sums -> bias, function, + beta * source -> output
};

struct QsliceWork {
    QsliceStep step{};
    bool first = false;   ///< Accumulate: this slice starts the sums
    Conv2dLaunch launch;  ///< of the conv2d steps
};

/// Where the fused form applies what follows the sum. A residual is added after the function, and a tile has only one
/// source: with a residual a pass always finishes.
enum class Finisher : uint8_t {
    LastSum,  ///< the last slice's epilogue
    Pass,     ///< a pass: for functions that no last-sum kernel is built with
};

/// Device addresses. sums is fp32 [n, d_out, h_out, w_out, c_out]; slice the same in bf16, for RoundedSlices only.
struct QsliceTensors {
    void* activation = nullptr;
    void* filter = nullptr;  ///< packed: [c_out][q][r][s][c_in]
    void* output = nullptr;
    void* source = nullptr;  ///< residual, or null
    void* sums = nullptr;
    void* slice = nullptr;
};

/// The 2-D configs of the steps, all derived from one.
struct QsliceConfigs {
    Conv2dConfig slice, first_sum, next_sum, last_sum;
};
KG_HOST_DEVICE QsliceConfigs qslice_configs(const Conv2dConfig& base) {
    QsliceConfigs configs{base, base, base, base};
    configs.first_sum.output = Element::F32;
    configs.first_sum.swizzle_c = isa::Swizzle::Span128;
    configs.next_sum = configs.first_sum;
    configs.next_sum.source = configs.last_sum.source = Source::Accumulate;
    configs.next_sum.source_value = configs.last_sum.source_value = Element::F32;
    configs.first_sum = with_most_stages(configs.first_sum);
    configs.next_sum = with_most_stages(configs.next_sum);
    configs.last_sum = with_most_stages(configs.last_sum);
    return configs;
}

/// The steps in order, in one stream. `base` is a Frames2d config without source.
std::vector<QsliceWork> plan_qslice(const Conv2dConfig& base, const conv::ConvProblem& problem,
                                    const QsliceTensors& tensors, QsliceForm form,
                                    Finisher finisher = Finisher::LastSum);

}  // namespace kinetograph::sm100
