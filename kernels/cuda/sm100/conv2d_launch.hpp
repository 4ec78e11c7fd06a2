#pragma once

#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_params.hpp>
#include <span>
#include <vector>

/// From a problem and its addresses to the parameters of a launch. Pure host code: tensor maps are descriptions until
/// the caller encodes them, with the CUDA driver or for the host model.
namespace kinetograph::sm100 {

/// Device addresses, 16-byte aligned. Frames2d and Volume3d take one address for each dense tensor [n, d, h, w, c];
/// Window3d takes n * d input frames and n * d_out output and source frames, each dense [h, w, c].
struct Conv2dTensors {
    std::span<void* const> activation;
    void* filter = nullptr;              ///< KQRSC: [c_out][filter_taps][c_in], at the first of the taps used
    int64_t filter_taps = 0;             ///< taps of one filter in memory; 0: as many as the problem uses
    std::span<void* const> output;       ///< [n, d_out, h_out, w_out, c_out] of Conv2dConfig::output
    std::span<void* const> source = {};  ///< the same shape of Conv2dConfig::source_value; may be the output itself
    uint32_t panel = 1;                  ///< Conv2dGeometry::panel, at least 1
};

/// One launch. Its map descriptions must not move while maps that the host model made of them are in use.
struct Conv2dLaunch {
    uint32_t grid[3] = {0, 0, 0};  ///< CTAs
    uint32_t cluster[3] = {1, 1, 1};
    uint32_t threads = 0;
    uint32_t shared_bytes = 0;
    Conv2dGeometry geometry;
    std::vector<isa::TensorMapDesc> activation, output, source;
    isa::TensorMapDesc filter;

    /// A problem without pixels or filters: there is nothing to launch.
    bool empty() const { return grid[0] * grid[1] * grid[2] == 0; }
};

/// `problem` fits `config` (gates.hpp) and has no upsampling; `tensors` hold as many addresses as the config's
/// activation form takes.
Conv2dLaunch plan_launch(const Conv2dConfig& config, const conv::ConvProblem& problem, const Conv2dTensors& tensors);

/// Applied after the sum. bias and scales [c_out], 16-byte aligned, or null; alpha and scales scale conv, beta a
/// residual source.
template <class Epilogue>
struct Conv2dEpilogueArguments {
    const float *bias = nullptr, *scales = nullptr;
    float alpha = 1, beta = 0;
    Epilogue function{};
};

/// The kernel's parameters; `encode(const TensorMapDesc&)` gives a TensorMap.
template <Conv2dConfig kConfig, class Epilogue, class Encode>
Conv2dParams<kConfig, Epilogue> make_params(const Conv2dLaunch& launch, const Conv2dEpilogueArguments<Epilogue>& after,
                                            const Encode& encode) {
    Conv2dParams<kConfig, Epilogue> params;
    for (size_t i = 0; i < launch.activation.size(); ++i) params.activation[i] = encode(launch.activation[i]);
    for (size_t i = 0; i < launch.output.size(); ++i) params.output[i] = encode(launch.output[i]);
    for (size_t i = 0; i < launch.source.size(); ++i) params.source[i] = encode(launch.source[i]);
    params.filter = encode(launch.filter);
    params.geometry = launch.geometry;
    params.bias = after.bias;
    params.scales = after.scales;
    params.alpha = after.alpha;
    params.beta = after.beta;
    params.epilogue = after.function;
    return params;
}

}  // namespace kinetograph::sm100
