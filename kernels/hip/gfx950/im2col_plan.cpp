#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

constexpr int64_t kPartBytes = 64 << 20;

/// K of the product: all taps and channels, rounded up to a multiple of 64 for the kernel's fastest loader.
int64_t columns(const ConvProblem& p) { return (p.taps() * p.c_in + 63) / 64 * 64; }
int64_t row_bytes(const ConvProblem& p) { return columns(p) * element_bytes(p.dtype); }

/// Pixels of every output frame of a sample that are multiplied at a time.
int64_t part_of(const ConvProblem& p) {
    return std::clamp<int64_t>(kPartBytes / (row_bytes(p) * p.d_out()), 1, p.pixels_out());
}

Im2colProblem matrix_of(const ConvProblem& p, int64_t first, int64_t pixels) {
    return {.frames = {p.d, p.filter.q, p.stride.d, p.dilation.d, p.pad.front, p.pad.back},
            .height = {p.h, p.filter.r, p.stride.h, p.dilation.h, p.pad.top, p.pad.bottom},
            .width = {p.w, p.filter.s, p.stride.w, p.dilation.w, p.pad.left, p.pad.right},
            .channels = p.c_in,
            .storage = p.dtype,
            .columns = columns(p),
            .first_pixel = first,
            .pixels = pixels};
}

/// [k][c_in / groups][q][r][s] to [k][columns], elements [q][r][s][c_in] with zeros for the channels of other groups.
std::vector<float> dense_filter(const ConvProblem& p, std::span<const float> filter) {
    const int64_t taps = p.taps(), c_group = p.c_in / p.groups, k_group = p.filter.k / p.groups;
    std::vector<float> dense(static_cast<size_t>(p.filter.k * columns(p)), 0.0F);
    for (int64_t k = 0; k < p.filter.k; ++k)
        for (int64_t c = 0; c < c_group; ++c)
            for (int64_t tap = 0; tap < taps; ++tap)
                dense[static_cast<size_t>(k * columns(p) + tap * p.c_in + k / k_group * c_group + c)] =
                    filter[static_cast<size_t>((k * c_group + c) * taps + tap)];
    return dense;
}

/// The product over `pixels` pixels of each output frame of a sample, with the problem's epilogue.
ConvProblem product_of(const ConvProblem& problem, int64_t pixels) {
    ConvProblem product;
    product.d = problem.d_out();
    product.h = 1;
    product.w = pixels;
    product.c_in = columns(problem);
    product.filter = {problem.filter.k};
    product.dtype = problem.dtype;
    product.output_dtype = problem.output_dtype;
    product.bias = problem.bias;
    product.residual = problem.residual;
    product.beta = problem.beta;
    product.activation = problem.activation;
    return product;
}

struct Product {
    ConvPlan plan;
    uint32_t first_kernel = 0;
};

/// Pixels [first, first + count) of the sample's output frames: writes the matrix, then stores its product at the final
/// addresses.
void append_part(std::vector<ConvStep>& steps, const Product& product, const ConvProblem& p, const ConvTensors& tensors,
                 const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode, int64_t sample,
                 int64_t first, int64_t count) {
    const Im2colProblem matrix = matrix_of(p, first, count);
    const LaunchShape shape = launch_shape(matrix);
    const auto frames_in = tensors.input.subspan(static_cast<size_t>(sample * p.d), static_cast<size_t>(p.d));
    steps.emplace_back(
        conv::ConvLaunch{.grid = {shape.grid_x, shape.grid_y, shape.grid_z},
                         .threads = shape.threads,
                         .arguments = conv::Arguments::of(make_params(matrix, frames_in, tensors.workspace))});
    const int64_t offset = first * p.filter.k * element_bytes(p.output_dtype);
    std::vector<const std::byte*> input, residual;
    std::vector<std::byte*> output;
    for (int64_t t = 0; t < p.d_out(); ++t) {
        const auto frame = static_cast<size_t>(sample * p.d_out() + t);
        input.push_back(tensors.workspace + t * count * row_bytes(p));
        output.push_back(tensors.output[frame] + offset);
        if (p.residual) residual.push_back(tensors.residual[frame] + offset);
    }
    for (ConvStep& step :
         product.plan.steps({.input = input, .output = output, .residual = residual}, parameters, encode)) {
        std::get<conv::ConvLaunch>(step).kernel += product.first_kernel;
        steps.push_back(step);
    }
}

}  // namespace

Refusal im2col_refusal(const ConvProblem& problem) { return refusal(matrix_of(problem, 0, part_of(problem))); }

ConvPlan plan_im2col(const ConvProblem& problem, const conv::Chip& chip) {
    const int64_t pixels = problem.pixels_out(), part = part_of(problem);
    ConvPlan plan;
    const LaunchShape gather = launch_shape(matrix_of(problem, 0, part));
    plan.kernels = {{gather.kernel, "frame_moves"}};
    std::vector<Product> products;  // for a whole part, and for the remainder
    for (const int64_t count : {part, pixels % part}) {
        if (count == 0) continue;
        products.push_back(
            {plan_four_wave(product_of(problem, count), chip), static_cast<uint32_t>(plan.kernels.size())});
        const auto& kernels = products.back().plan.kernels;
        plan.kernels.insert(plan.kernels.end(), kernels.begin(), kernels.end());
        const int64_t times = count == part ? pixels / part : 1;
        plan.seconds += static_cast<double>(problem.n * times) * (conv::kLaunchSeconds + products.back().plan.seconds);
    }
    const auto matrix = static_cast<double>(problem.frames_out() * pixels) * static_cast<double>(row_bytes(problem));
    plan.seconds += 2 * matrix / chip.memory_bytes_per_second;
    plan.workspace_bytes = static_cast<uint64_t>(problem.d_out() * part * row_bytes(problem));
    plan.packing.layout = "dense rows of taps, " + products.front().plan.packing.layout;
    plan.packing.pack = [problem, pack = products.front().plan.packing.pack](const conv::ConvParameters& parameters) {
        const std::vector<float> dense = dense_filter(problem, parameters.filter);
        return pack({dense, parameters.bias, parameters.gamma, parameters.scales});
    };
    plan.steps = [problem, part, products](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                           const conv::EncodeMap& encode) {
        std::vector<ConvStep> steps;
        for (int64_t sample = 0; sample < problem.n; ++sample)
            for (int64_t first = 0; first < problem.pixels_out(); first += part) {
                const int64_t count = std::min(part, problem.pixels_out() - first);
                append_part(steps, count == part ? products.front() : products.back(), problem, tensors, parameters,
                            encode, sample, first, count);
            }
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::gfx950
