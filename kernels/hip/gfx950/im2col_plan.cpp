#include <kinetograph/kernels/conv/im2col.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvProblem;
using conv::Im2colMatrix;
using conv::Im2colPart;

Im2colMatrix matrix_of(const ConvProblem& problem) {
    return Im2colMatrix::of(problem, 64);  // for the kernel's fastest loader
}

Im2colProblem gather_of(const Im2colMatrix& matrix, int64_t first, int64_t pixels) {
    const ConvProblem& p = matrix.problem;
    return {.frames = {p.d, p.filter.q, p.stride.d, p.dilation.d, p.pad.front, p.pad.back},
            .height = {p.h, p.filter.r, p.stride.h, p.dilation.h, p.pad.top, p.pad.bottom},
            .width = {p.w, p.filter.s, p.stride.w, p.dilation.w, p.pad.left, p.pad.right},
            .channels = p.c_in,
            .storage = p.dtype,
            .columns = matrix.columns,
            .first_pixel = first,
            .pixels = pixels};
}

void append_gather(std::vector<conv::ConvStep>& steps, const Im2colMatrix& matrix, const conv::ConvTensors& tensors,
                   const Im2colPart& part) {
    const Im2colProblem gather = gather_of(matrix, part.first, part.count);
    const LaunchShape shape = launch_shape(gather);
    const auto frames = static_cast<size_t>(matrix.problem.d);
    const auto input = tensors.input.subspan(static_cast<size_t>(part.sample) * frames, frames);
    steps.emplace_back(
        conv::ConvLaunch{.grid = {shape.grid_x, shape.grid_y, shape.grid_z},
                         .threads = shape.threads,
                         .arguments = conv::Arguments::of(make_params(gather, input, tensors.workspace))});
}

}  // namespace

Refusal im2col_refusal(const ConvProblem& problem) {
    const Im2colMatrix matrix = matrix_of(problem);
    return refusal(gather_of(matrix, 0, matrix.part_pixels()));
}

conv::ConvPlan plan_im2col(const ConvProblem& problem, const conv::Chip& chip) {
    const Im2colMatrix matrix = matrix_of(problem);
    return conv::plan_im2col(
        matrix, chip,
        {.gather = {launch_shape(gather_of(matrix, 0, matrix.part_pixels())).kernel, "frame_moves"},
         .append_gather = [matrix](std::vector<conv::ConvStep>& steps, const conv::ConvTensors& tensors,
                                   const Im2colPart& part) { append_gather(steps, matrix, tensors, part); },
         .plan_product = plan_product});
}

}  // namespace kinetograph::gfx950
