#include <kinetograph/kernels/cuda/sm80/im2col_plan.hpp>

#include <algorithm>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>
#include <kinetograph/kernels/cuda/sm80/pack.hpp>
#include <kinetograph/kernels/cuda/sm80/passes.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

constexpr int64_t kPartBytes = 64 << 20;

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
int32_t i32(int64_t value) { return static_cast<int32_t>(value); }

int64_t row_bytes(const ConvProblem& p) { return im2col_columns(p) * element_bytes(p.dtype); }
int64_t pixel_bytes(const ConvProblem& p) { return p.c_in * element_bytes(p.dtype); }

/// Pixels of every output frame of a sample that are multiplied at a time.
int64_t part_of(const ConvProblem& p) {
    return std::clamp<int64_t>(kPartBytes / (row_bytes(p) * p.d_out()), 1, p.pixels_out());
}

/// The product over `pixels` pixels of each output frame of a sample, with the problem's epilogue.
ConvProblem product_of(const ConvProblem& problem, int64_t pixels) {
    ConvProblem product = problem;
    product.n = 1;
    product.d = problem.d_out();
    product.h = 1;
    product.w = pixels;
    product.c_in = im2col_columns(problem);
    product.upsample = false;
    product.filter = {problem.filter.k};
    product.stride = product.dilation = {};
    product.pad = {};
    product.groups = 1;
    return product;
}

Im2colParams gather_params(const ConvProblem& p, int64_t first, int64_t count) {
    const int64_t bytes = pixel_bytes(p), unit = upsample_unit(u32(bytes));
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
            .first_pixel = u32(first),
            .pixels = u32(count),
            .pixel_units = u32(bytes / unit),
            .tap_units = u32(p.filter.r * p.filter.s * bytes / unit),
            .row_units = u32(row_bytes(p) / unit),
            .q = u32(p.filter.q),
            .first_slab = 0};
}

/// Pixels [first, first + count) of the sample's output frames as rows of one matrix per frame, frame after frame in
/// the workspace.
void append_gather(std::vector<ConvStep>& steps, const ConvProblem& p, const ConvTensors& tensors, int64_t sample,
                   int64_t first, int64_t count) {
    const int64_t tap_bytes = p.filter.r * p.filter.s * pixel_bytes(p);
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    for (int64_t t = 0; t < p.d_out(); ++t)
        for (int64_t q = 0; q < p.filter.q; ++q) {
            const int64_t frame = conv::input_frame(p, t, q);
            input.push_back(frame < 0 || frame >= p.d ? nullptr
                                                      : tensors.input[static_cast<size_t>(sample * p.d + frame)]);
            output.push_back(tensors.workspace + t * count * row_bytes(p) + q * tap_bytes);
        }
    Im2colParams params = gather_params(p, first, count);
    const uint32_t units = params.widest() * params.pixels;
    for (size_t slab = 0; slab < input.size(); slab += kMaxPassFrames) {
        const size_t some = std::min<size_t>(kMaxPassFrames, input.size() - slab);
        params.first_slab = static_cast<uint32_t>(slab);
        append_pass(steps, 0, params, std::span(input).subspan(slab, some), std::span(output).subspan(slab, some),
                    [&](uint32_t slabs) { return elements_launch(units, slabs); });
    }
}

/// The plan of one part's product; its kernels' indices follow the gathering kernel's.
struct Product {
    ConvPlan plan;
    uint32_t first_kernel = 0;
};

/// Multiplies the rows of append_gather() by the filter and stores the result at its final address.
void append_product(std::vector<ConvStep>& steps, const Product& product, const ConvProblem& p,
                    const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                    const conv::EncodeMap& encode, int64_t sample, int64_t first, int64_t count) {
    const int64_t offset = first * p.filter.k * element_bytes(p.output_dtype);
    std::vector<const std::byte*> input;
    for (int64_t t = 0; t < p.d_out(); ++t) input.push_back(tensors.workspace + t * count * row_bytes(p));
    const auto of_sample = [&]<class Byte>(std::span<Byte* const> frames) {
        std::vector<Byte*> moved;
        if (frames.empty()) return moved;
        const auto some = static_cast<size_t>(p.d_out());
        for (Byte* frame : frames.subspan(static_cast<size_t>(sample) * some, some)) moved.push_back(frame + offset);
        return moved;
    };
    const auto output = of_sample(tensors.output), normed = of_sample(tensors.normed);
    const auto residual = of_sample(tensors.residual);
    for (ConvStep& step : product.plan.steps(
             {.input = input, .output = output, .residual = residual, .workspace = nullptr, .normed = normed},
             parameters, encode)) {
        std::get<conv::ConvLaunch>(step).kernel += product.first_kernel;
        steps.push_back(step);
    }
}

}  // namespace

ConvPlan plan_im2col(const ConvProblem& problem, const conv::Chip& chip) {
    const int64_t pixels = problem.pixels_out(), part = part_of(problem);
    ConvPlan plan;
    plan.kernels = {{"sm80_im2col_" + std::to_string(upsample_unit(u32(pixel_bytes(problem)))), "frame_passes"}};
    std::vector<Product> products;  // for a whole part, and for the remainder
    for (const int64_t count : {part, pixels % part}) {
        if (count == 0) continue;
        products.push_back({plan_implicit_gemm(product_of(problem, count), chip), u32(std::ssize(plan.kernels))});
        const auto& kernels = products.back().plan.kernels;
        plan.kernels.insert(plan.kernels.end(), kernels.begin(), kernels.end());
        const int64_t times = count == part ? pixels / part : 1;
        plan.seconds += static_cast<double>(problem.n * times) * (conv::kLaunchSeconds + products.back().plan.seconds);
    }
    const auto matrix = static_cast<double>(problem.frames_out() * pixels) * static_cast<double>(row_bytes(problem));
    plan.seconds += traffic_seconds(2 * matrix, chip);
    plan.workspace_bytes = static_cast<uint64_t>(problem.d_out() * part * row_bytes(problem));
    plan.packing = {std::string("dense rows of taps ") + element_name(problem.dtype),
                    [problem](const conv::ConvParameters& parameters) {
                        const std::vector<float> dense = im2col_filter(problem, parameters.filter);
                        return conv::packed_with(pack_filter(product_of(problem, 1), dense), parameters);
                    }};
    plan.steps = [problem, part, products](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                           const conv::EncodeMap& encode) {
        std::vector<ConvStep> steps;
        const int64_t all = problem.pixels_out();
        for (int64_t sample = 0; sample < problem.n; ++sample)
            for (int64_t first = 0; first < all; first += part) {
                const int64_t count = std::min(part, all - first);
                append_gather(steps, problem, tensors, sample, first, count);
                append_product(steps, count == part ? products.front() : products.back(), problem, tensors, parameters,
                               encode, sample, first, count);
            }
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::sm80
