// Upsampling for methods that cannot upsample as they read their input: a pass doubles the frames first.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv {

/// The problem on the doubled frames themselves.
ConvProblem on_doubled_input(ConvProblem problem);

/// Nearest-neighbour doubling in rows and columns: `input` is [height, width] pixels, each of `output`'s frames twice
/// that. Uses every core.
void double_frames(std::span<const std::byte* const> input, std::span<std::byte* const> output, std::int64_t height,
                   std::int64_t width, std::size_t pixel_bytes);

/// `plain` computes on_doubled_input(problem); `backend` is the name of the whole. workspace: the doubled frames, and
/// that of `plain`.
std::unique_ptr<Convolution> create_doubled_before(const ConvProblem& problem, std::unique_ptr<Convolution> plain,
                                                   std::string_view backend);

}  // namespace kinetograph::conv
