#include <algorithm>
#include <kinetograph/kernels/conv/im2col.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvProblem;
using conv::Im2colMatrix;
using conv::Im2colPart;

Im2colMatrix matrix_of(const ConvProblem& problem) {
    // For the kernels' fastest loader.
    return Im2colMatrix::of(problem, problem.input.element == Element::F8E4M3 ? 128 : 64);
}

/// Input frames under `outputs` consecutive output frames, those in the padding included.
int64_t frames_under(const ConvProblem& p, int64_t outputs) {
    return (outputs - 1) * p.stride.d + (p.filter.q - 1) * p.dilation.d + 1;
}

/// Output frames whose input frames fit a launch's table; at least one.
int64_t frames_a_launch(const ConvProblem& p) {
    const int64_t most = (int64_t{kMostFrames} - frames_under(p, 1)) / p.stride.d + 1;
    return std::max<int64_t>(1, std::min(most, p.d_out()));
}

/// Of `outputs` output frames; padding in time is frames without an address.
Im2colProblem gather_of(const Im2colMatrix& matrix, int64_t outputs, int64_t first, int64_t pixels) {
    const ConvProblem& p = matrix.problem;
    return {.frames = {frames_under(p, outputs), p.filter.q, p.stride.d, p.dilation.d, 0, 0},
            .height = {p.h, p.filter.r, p.stride.h, p.dilation.h, p.pad.top, p.pad.bottom},
            .width = {p.w, p.filter.s, p.stride.w, p.dilation.w, p.pad.left, p.pad.right},
            .channels = p.c_in,
            .storage = p.input.element,
            .columns = matrix.columns,
            .first_pixel = first,
            .pixels = pixels};
}

void append_gather(std::vector<conv::ConvStep>& steps, const Im2colMatrix& matrix, const conv::ConvTensors& tensors,
                   const Im2colPart& part) {
    const ConvProblem& p = matrix.problem;
    const auto of_sample = tensors.input.subspan(static_cast<size_t>(part.sample * p.d), static_cast<size_t>(p.d));
    const int64_t most = frames_a_launch(p);
    for (int64_t t = 0; t < p.d_out(); t += most) {
        const int64_t outputs = std::min(most, p.d_out() - t);
        const Im2colProblem gather = gather_of(matrix, outputs, part.first, part.count);
        std::vector<const std::byte*> input;
        for (int64_t i = 0; i < gather.frames.size; ++i) {
            const int64_t frame = conv::input_frame(p, t, 0) + i;
            input.push_back(frame < 0 || frame >= p.d ? nullptr : of_sample[static_cast<size_t>(frame)]);
        }
        const LaunchShape shape = launch_shape(gather);
        steps.emplace_back(
            conv::ConvLaunch{.grid = {shape.grid_x, shape.grid_y, shape.grid_z},
                             .threads = shape.threads,
                             .arguments = conv::Arguments::of(
                                 make_params(gather, input, tensors.workspace + t * part.count * matrix.row_bytes()))});
    }
}

}  // namespace

Refusal im2col_refusal(const ConvProblem& problem) {
    const Im2colMatrix matrix = matrix_of(problem);
    return refusal(gather_of(matrix, frames_a_launch(problem), 0, matrix.part_pixels()));
}

ConvProblem im2col_product(const ConvProblem& problem) {
    const Im2colMatrix matrix = matrix_of(problem);
    return matrix.product(matrix.part_pixels());
}

conv::ConvPlan plan_im2col(const ConvProblem& problem, const conv::Chip& chip) {
    const Im2colMatrix matrix = matrix_of(problem);
    return conv::plan_im2col(
        matrix, chip,
        {.gather = {launch_shape(gather_of(matrix, 1, 0, matrix.part_pixels())).kernel, "frame_moves"},
         .append_gather = [matrix](std::vector<conv::ConvStep>& steps, const conv::ConvTensors& tensors,
                                   const Im2colPart& part) { append_gather(steps, matrix, tensors, part); },
         .plan_product = plan_product});
}

}  // namespace kinetograph::gfx950
