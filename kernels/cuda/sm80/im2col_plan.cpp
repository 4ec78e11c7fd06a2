#include <kinetograph/kernels/cuda/sm80/im2col_plan.hpp>

#include <algorithm>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/im2col.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/sm80/im2col.hpp>
#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;
using conv::Im2colMatrix;
using conv::Im2colPart;

using conv::i32;
using conv::u32;

int64_t pixel_bytes(const ConvProblem& p) { return p.c_in * element_bytes(p.input.element); }

uint32_t unit_of(const ConvProblem& p) { return cuda::upsample_unit(u32(pixel_bytes(p))); }

Im2colParams gather_params(const Im2colMatrix& matrix, const Im2colPart& part) {
    const ConvProblem& p = matrix.problem;
    const int64_t bytes = pixel_bytes(p), unit = unit_of(p);
    return {.frames = {},
            .h = u32(p.h_seen()),
            .w = u32(p.w_seen()),
            .w_stored = u32(p.w),
            .upsample = p.upsample ? 1U : 0U,
            .w_out = u32(p.w_out()),
            .s = u32(p.filter.s),
            .stride_h = i32(p.stride.h),
            .stride_w = i32(p.stride.w),
            .dilation_h = i32(p.dilation.h),
            .dilation_w = i32(p.dilation.w),
            .pad_top = i32(p.pad.top),
            .pad_left = i32(p.pad.left),
            .first_pixel = u32(part.first),
            .pixels = u32(part.count),
            .pixel_units = u32(bytes / unit),
            .tap_units = u32(p.filter.r * p.filter.s * bytes / unit),
            .row_units = u32(matrix.row_bytes() / unit),
            .q = u32(p.filter.q),
            .first_slab = 0};
}

void append_gather(std::vector<ConvStep>& steps, const Im2colMatrix& matrix, const ConvTensors& tensors,
                   const Im2colPart& part) {
    const ConvProblem& p = matrix.problem;
    const int64_t tap_bytes = p.filter.r * p.filter.s * pixel_bytes(p);
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    for (int64_t t = 0; t < p.d_out(); ++t)
        for (int64_t q = 0; q < p.filter.q; ++q) {
            const int64_t frame = conv::input_frame(p, t, q);
            input.push_back(frame < 0 || frame >= p.d ? nullptr
                                                      : tensors.input[static_cast<size_t>(part.sample * p.d + frame)]);
            output.push_back(tensors.workspace + t * part.count * matrix.row_bytes() + q * tap_bytes);
        }
    Im2colParams params = gather_params(matrix, part);
    const bool rows = unit_of(p) < kPieceBytes;
    const uint32_t threads = params.pixels * (rows ? u32(matrix.row_bytes() / kPieceBytes) : params.widest());
    const size_t most = rows ? cuda::kMaxPassFrames / params.q * params.q : cuda::kMaxPassFrames;
    for (size_t slab = 0; slab < input.size(); slab += most) {
        const size_t some = std::min<size_t>(most, input.size() - slab);
        params.first_slab = static_cast<uint32_t>(slab);
        cuda::append_pass(
            steps, 0, params, std::span(input).subspan(slab, some), std::span(output).subspan(slab, some),
            [&](uint32_t slabs) { return cuda::elements_launch(threads, rows ? slabs / params.q : slabs); });
    }
}

}  // namespace

conv::ConvPlan plan_im2col(const ConvProblem& problem, const conv::Chip& chip) {
    const auto matrix = Im2colMatrix::of(problem, 32);  // whole blocks of the kernel's loop
    return conv::plan_im2col(
        matrix, chip,
        {.gather = {"sm80_im2col_" + std::to_string(unit_of(problem)), "frame_passes"},
         .append_gather = [matrix](std::vector<ConvStep>& steps, const ConvTensors& tensors,
                                   const Im2colPart& part) { append_gather(steps, matrix, tensors, part); },
         .plan_product = plan_implicit_gemm});
}

}  // namespace kinetograph::sm80
