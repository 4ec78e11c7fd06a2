// A 3-D convolution as q 2-D ones over the frames of each temporal tap, on any NVIDIA GPU since sm_80.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

/// output[t] = sum over q of conv2d(input[t + q], filter[q]): the same sum as one launch over q * r * s taps where
/// stride and dilation are 1 and nothing is padded in time. Frames are read and written where they lie, in as few bands
/// of rows as the workspace's bound asks for. workspace: a band's fp32 sums, at most kQSliceSumBytes or one row, and in
/// the rounded form half as much again for a slice in bf16.
///
/// create_q_slice: each 2-D convolution's epilogue adds its fp32 sums to the frame's, the last one's finishes the
/// problem. One rounding, as in one launch. create_rounded_q_slice: each 2-D convolution stores bf16, a pass adds that
/// to the sums, another finishes: q roundings more. Errors: Unsupported (no fat binaries in this build), those of the
/// device.
Result<std::unique_ptr<Convolution>> create_q_slice(accel::Device& device, const ConvProblem& problem,
                                                    const ConvParameters& parameters);
Result<std::unique_ptr<Convolution>> create_rounded_q_slice(accel::Device& device, const ConvProblem& problem,
                                                            const ConvParameters& parameters);

/// Bounds the workspace: enough for the sums of every layer of the Wan 2.1 decoder at 1280x704 at once. Smaller bands
/// are launches of fewer CTAs, whose last waves leave SMs idle: on an H200 (36af3ab), 96 channels at 1280x704 took 8.5
/// ms in bands of 60 MiB, 7.5 of 256, 7.2 in one of 1320; sums that fit the second-level cache do not make up for it.
inline constexpr std::uint64_t kQSliceSumBytes = 1408 << 20;

enum class QSliceForm : std::uint8_t { FusedSums, RoundedSlices };
/// Either form, with bands whose sums take `sum_bytes` at most, or one row.
Result<std::unique_ptr<Convolution>> create_q_slice_in_bands(accel::Device& device, const ConvProblem& problem,
                                                             const ConvParameters& parameters, QSliceForm form,
                                                             std::uint64_t sum_bytes);

/// One slice as a 2-D convolution: every output frame is an image of its own. fp32 or the problem's element out,
/// neither bias nor anything else behind it.
ConvProblem slice_problem(const ConvProblem& problem, tensor::DType output_dtype);

/// [k][c][q][r][s] to [k][c][r][s] of temporal tap `q`.
std::vector<float> slice_filter(const ConvProblem& problem, std::span<const float> filter, std::int64_t q);

}  // namespace kinetograph::conv::cuda
