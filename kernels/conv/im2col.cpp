#include <kinetograph/kernels/conv/im2col.hpp>

#include <algorithm>

namespace kinetograph::conv {
namespace {

constexpr std::int64_t kPartBytes = 64 << 20;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// [k][c_in / groups][q][r][s] to [k][columns], elements [q][r][s][c_in] with zeros for the channels of other groups.
std::vector<float> dense_filter(const Im2colMatrix& matrix, std::span<const float> filter) {
    const ConvProblem& p = matrix.problem;
    const std::int64_t taps = p.taps(), c_group = p.c_in / p.groups, k_group = p.filter.k / p.groups;
    std::vector<float> dense(at(p.filter.k * matrix.columns), 0.0F);
    for (std::int64_t k = 0; k < p.filter.k; ++k)
        for (std::int64_t c = 0; c < c_group; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap)
                dense[at(k * matrix.columns + tap * p.c_in + k / k_group * c_group + c)] =
                    filter[at((k * c_group + c) * taps + tap)];
    return dense;
}

/// The plan of one part's product, and where its kernels begin in the whole plan's list.
struct Product {
    ConvPlan plan;
    std::uint32_t first_kernel = 0;
};

/// Multiplies a part by the filter and stores the result at its final address.
void append_product(std::vector<ConvStep>& steps, const Product& product, const Im2colMatrix& matrix,
                    const ConvTensors& tensors, const ParameterAddresses& parameters, const EncodeMap& encode,
                    const Im2colPart& part) {
    const ConvProblem& p = matrix.problem;
    const std::int64_t frames = p.d_out();
    const std::int64_t offset = part.first * p.filter.k * element_bytes(p.output.element);
    std::vector<const std::byte*> input;
    for (std::int64_t t = 0; t < frames; ++t) input.push_back(tensors.workspace + t * part.count * matrix.row_bytes());
    const auto of_part = [&]<class Byte>(std::span<Byte* const> all) {
        std::vector<Byte*> moved;
        if (all.empty()) return moved;
        for (Byte* frame : all.subspan(at(part.sample * frames), at(frames))) moved.push_back(frame + offset);
        return moved;
    };
    const auto output = of_part(tensors.output), normed = of_part(tensors.normed);
    const auto residual = of_part(tensors.residual);
    for (ConvStep& step : product.plan.steps(
             {.input = input, .output = output, .residual = residual, .workspace = nullptr, .normed = normed},
             parameters, encode)) {
        std::get<ConvLaunch>(step).kernel += product.first_kernel;
        steps.push_back(step);
    }
}

}  // namespace

Im2colMatrix Im2colMatrix::of(const ConvProblem& problem, std::int64_t multiple) {
    return {problem, (problem.taps() * problem.c_in + multiple - 1) / multiple * multiple};
}

std::int64_t Im2colMatrix::part_pixels() const {
    return std::clamp<std::int64_t>(kPartBytes / (row_bytes() * problem.d_out()), 1, problem.pixels_out());
}

ConvProblem Im2colMatrix::product(std::int64_t pixels) const {
    ConvProblem product = problem;
    product.n = 1;
    product.d = problem.d_out();
    product.h = 1;
    product.w = pixels;
    product.c_in = columns;
    product.upsample = false;
    product.filter = {problem.filter.k};
    product.stride = product.dilation = {};
    product.pad = {};
    product.groups = 1;
    return product;
}

ConvPlan plan_im2col(const Im2colMatrix& matrix, const Chip& chip, Im2colKernels kernels) {
    const ConvProblem& problem = matrix.problem;
    const std::int64_t pixels = problem.pixels_out(), part = matrix.part_pixels();
    ConvPlan plan;
    plan.kernels = {std::move(kernels.gather)};
    std::vector<Product> products;  // for a whole part, and for the remainder
    for (const std::int64_t count : {part, pixels % part}) {
        if (count == 0) continue;
        products.push_back(
            {kernels.plan_product(matrix.product(count), chip), static_cast<std::uint32_t>(plan.kernels.size())});
        const auto& more = products.back().plan.kernels;
        plan.kernels.insert(plan.kernels.end(), more.begin(), more.end());
        const std::int64_t times = count == part ? pixels / part : 1;
        plan.seconds += static_cast<double>(problem.n * times) * (kLaunchSeconds + products.back().plan.seconds);
    }
    const auto bytes = static_cast<double>(problem.frames_out() * pixels) * static_cast<double>(matrix.row_bytes());
    plan.seconds += 2 * bytes / chip.memory_bytes_per_second;
    plan.workspace_bytes = static_cast<std::uint64_t>(problem.d_out() * part * matrix.row_bytes());
    plan.packing.layout = "dense rows of taps, " + products.front().plan.packing.layout;
    plan.packing.pack = [matrix, pack = products.front().plan.packing.pack](const ConvParameters& parameters) {
        const std::vector<float> dense = dense_filter(matrix, parameters.filter);
        return pack({dense, parameters.bias, parameters.gamma, parameters.scales});
    };
    plan.steps = [matrix, part, products, append_gather = std::move(kernels.append_gather)](
                     const ConvTensors& tensors, const ParameterAddresses& parameters, const EncodeMap& encode) {
        std::vector<ConvStep> steps;
        const std::int64_t all = matrix.problem.pixels_out();
        for (std::int64_t sample = 0; sample < matrix.problem.n; ++sample)
            for (std::int64_t first = 0; first < all; first += part) {
                const Im2colPart now{sample, first, std::min(part, all - first)};
                append_gather(steps, tensors, now);
                append_product(steps, now.count == part ? products.front() : products.back(), matrix, tensors,
                               parameters, encode, now);
            }
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::conv
