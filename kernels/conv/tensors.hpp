#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What a convolution works on: parameters and frames, on the host and on the device.
namespace kinetograph::conv {

/// A convolution's parameters in host memory.
struct ConvParameters {
    std::span<const float> filter;       ///< [k][c_in / groups][q][r][s], PyTorch's order
    std::span<const float> bias;         ///< [k]; empty if the problem has none
    std::span<const float> gamma = {};   ///< [k] of the norm; empty if the problem has none
    std::span<const float> scales = {};  ///< [k]; empty without channel_scales
};

/// The same as a chip's kernels read them. Empty where the problem has none.
struct PackedParameters {
    std::vector<std::byte> filter;
    std::vector<float> bias, gamma, scales;
};
/// The filter as given, the others as they are.
PackedParameters packed_with(std::vector<std::byte> filter, const ConvParameters& parameters);

/// Where PackedParameters lie on the device; null for what there is not.
struct ParameterAddresses {
    const std::byte* filter = nullptr;
    const float *bias = nullptr, *gamma = nullptr, *scales = nullptr;
};

/// What one call works on. Frames are addressed one by one, so that a causal history ring is read in place and
/// interleaved frames are written where they belong: frame (i, t) is pointer i * d + t (i * d_out + t), a dense
/// [H, W, C] block, 64-byte aligned for best speed. Output frames overlap neither each other nor any input; a residual
/// frame may be the output frame itself.
struct ConvTensors {
    std::span<const std::byte* const> input;     ///< n * d frames [h, w, c_in]
    std::span<std::byte* const> output;          ///< n * d_out frames [h_out, w_out, k]; empty with Norm::Instead
    std::span<const std::byte* const> residual;  ///< n * d_out frames [h_out, w_out, k]; empty without residual
    std::byte* workspace = nullptr;              ///< kWorkspaceAlignment aligned; free again once the stream has passed
    std::span<std::byte* const> normed = {};     ///< n * d_out frames [h_out, w_out, k]; empty without norm
};

/// Parts of a workspace begin at multiples of this: what accelerators align their own allocations to.
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

/// `bytes` and what follows them up to the next part.
constexpr std::uint64_t workspace_part(std::uint64_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace kinetograph::conv
