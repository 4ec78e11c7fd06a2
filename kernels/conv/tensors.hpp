#pragma once

#include <cstddef>
#include <cstdint>
#include <kinetograph/kernels/isa/element.hpp>
#include <span>
#include <vector>

/// The data of a convolution: parameters and frames, on the host and on the device.
namespace kinetograph::conv {

/// A convolution's parameters in host memory.
struct ConvParameters {
    std::span<const float> filter;       ///< [k][c_in / groups][q][r][s], PyTorch's order
    std::span<const float> bias;         ///< [k]; empty if the problem has none
    std::span<const float> gamma = {};   ///< [k] of the norm; empty if the problem has none
    std::span<const float> scales = {};  ///< [k]; empty without channel_scales
    std::span<const float> folds = {};   ///< [k]; empty unless the norm is stored as U8
};

/// A filter in device memory, [k][c_in / groups][q][r][s] or [k][q][r][s][c_in / groups].
struct DeviceFilter {
    const std::byte* address = nullptr;
    Element element = Element::F32;  ///< or, of 16 bits, that of the problem's filter
    bool channels_last = false;
};

/// The parameters as a chip's kernels read them; empty where the problem has none.
struct PackedParameters {
    std::vector<std::byte> filter;
    std::vector<float> bias, gamma, scales, folds;
};
/// The filter as given, the other parameters unchanged.
PackedParameters packed_with(std::vector<std::byte> filter, const ConvParameters& parameters);

/// Device addresses of PackedParameters; null where the problem has none.
struct ParameterAddresses {
    const std::byte* filter = nullptr;
    const float *bias = nullptr, *gamma = nullptr, *scales = nullptr, *folds = nullptr;
};

/// The data of one call. Frames are addressed one by one, so that a causal history ring is read in place and
/// interleaved frames are written directly to their final addresses. Frame (i, t) is pointer i * d + t (i * d_out + t
/// for outputs), a dense [H, W, C] block, fastest when 64-byte aligned. Output frames overlap neither each other nor
/// any input; a residual frame may be the output frame itself, and carried sums may be replaced where they lie.
struct ConvTensors {
    std::span<const std::byte* const> input;     ///< n * d frames [h, w, c_in]
    std::span<std::byte* const> output;          ///< n * d_out frames [h_out, w_out, k]; empty with Norm::Instead
    std::span<const std::byte* const> residual;  ///< residual_frames() of [h_out, w_out, k]
    std::byte* workspace =
        nullptr;  ///< kWorkspaceAlignment aligned; may be reused once the stream has completed this call
    std::span<std::byte* const> normed = {};  ///< n * d_out frames [h_out, w_out, k]; empty without norm
};

/// Parts of a workspace begin at multiples of this: the alignment of accelerators' own allocations.
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

/// `bytes` rounded up to where the next part begins.
constexpr std::uint64_t workspace_part(std::uint64_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace kinetograph::conv
