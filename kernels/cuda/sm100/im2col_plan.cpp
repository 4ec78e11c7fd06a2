#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/sm100/dense_frames.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_product.hpp>
#include <kinetograph/kernels/cuda/sm100/pack.hpp>
#include <kinetograph/kernels/cuda/sm100/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/sum_entries.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;
using conv::workspace_part;

constexpr uint64_t kChunkBytes = 64 << 20;
constexpr uint32_t kGather = 0, kProduct = 1, kHome = 2;  // indices into the plan's kernels

// Functions without members do not change the parameters.
using HomeParams = BringHomeParams<NoEpilogue>;
static_assert(sizeof(HomeParams) == sizeof(BringHomeParams<SiluInRegisters>));

const char* home_of(const ConvProblem& problem) {
    if (problem.output_dtype == Element::F32) return "im2col_home_fp32";
    const bool silu = problem.activation == conv::Activation::Silu;
    if (problem.output_dtype == Element::F16) return silu ? "im2col_home_fp16_silu" : "im2col_home_fp16";
    return silu ? "im2col_home_bf16_silu" : "im2col_home_bf16";
}

/// Workspace: a chunk's rows, its sums, then dense copies.
DenseRoom room_of(const ConvProblem& problem, const Im2colSizes& sizes) {
    return dense_room(problem, workspace_part(sizes.matrix_bytes) + workspace_part(sizes.sums_bytes));
}

ConvProblem product_of(const ConvProblem& problem, const Im2colSizes& sizes) {
    return matrix_product(static_cast<int64_t>(sizes.rows_per_chunk), sizes.k_padded, sizes.padded_filters,
                          problem.dtype);
}

/// The products, the matrix written and read once, and the sums.
double seconds_of(const ConvProblem& problem, const Im2colSizes& sizes, const Conv2dEntry& product,
                  const conv::Chip& chip) {
    const auto pixels = static_cast<double>(problem.frames_out() * problem.pixels_out());
    const auto groups = static_cast<double>(problem.groups);
    const double chunks = pixels / static_cast<double>(sizes.rows_per_chunk) * groups;
    const double row = static_cast<double>(sizes.k_padded) * element_bytes(problem.dtype) + 4.0 * sizes.padded_filters;
    return chunks * (3 * conv::kLaunchSeconds +
                     estimate(product.config, product_of(problem, sizes), rates_of(chip)).seconds) +
           cuda::traffic_seconds(2 * groups * pixels * row, chip);
}

Im2colSizes sizes_of(const ConvProblem& problem) { return im2col_sizes(problem, kChunkBytes); }

ConvPlan plan_with(const ConvProblem& problem, const conv::Chip& chip, const Conv2dEntry& product) {
    const Im2colSizes sizes = sizes_of(problem);
    const bool bytes = element_bytes(problem.dtype) == 1;
    ConvPlan plan;
    plan.kernels = {{bytes ? "im2col_gather_8bit" : "im2col_gather_16bit", "im2col_passes"},
                    kernel_name(product),
                    {home_of(problem), "im2col_passes"}};
    plan.workspace_bytes = room_of(problem, sizes).end;
    plan.seconds = seconds_of(problem, sizes, product, chip);
    plan.packing = {std::string("padded rows of taps ") + element_name(problem.dtype),
                    [problem](const conv::ConvParameters& parameters) {
                        const auto filter = pack_filter(problem, parameters.filter);
                        return conv::packed_with(pack_im2col_filter(problem, filter), parameters);
                    }};
    plan.steps = [problem, sizes, &product](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                            const conv::EncodeMap& encode) {
        std::vector<ConvStep> steps;
        const DenseTensors dense = append_gather(steps, problem, tensors, tensors.output, room_of(problem, sizes));
        for (const Im2colStep& step : im2col_steps(product.config, problem, sizes,
                                                   {.activation = dense.input,
                                                   .filter = const_cast<std::byte*>(parameters.filter),
                                                   .output = dense.output,
                                                   .source = dense.residual,
                                                   .matrix = tensors.workspace,
                                                   .sums = tensors.workspace + workspace_part(sizes.matrix_bytes)})) {
            const uint64_t parts =
                step.gather.rows * step.gather.k_padded * element_bytes(problem.dtype) / sizeof(GatheredPart<uint16_t>);
            steps.push_back(pass_launch(kGather, im2col_blocks(parts), kIm2colThreads, step.gather));
            steps.emplace_back(entry_launch(product, kProduct, step.product, {}, encode));
            HomeParams home = step.home;
            home.bias = parameters.bias;
            home.scales = parameters.scales;
            home.alpha = problem.alpha;
            home.beta = problem.beta;
            steps.push_back(pass_launch(kHome, im2col_blocks(home.rows * home.group_filters), kIm2colThreads, home));
        }
        append_scatter(steps, problem, tensors.output, dense.output);
        return steps;
    };
    return plan;
}

}  // namespace

ConvPlan plan_im2col(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_with(problem, chip, choose_product(product_of(problem, sizes_of(problem)), rates_of(chip)));
}

std::vector<std::string_view> im2col_kernels(const ConvProblem& problem, const conv::Chip& chip) {
    std::vector<std::string_view> names;
    for (const Conv2dEntry* product : all_products(product_of(problem, sizes_of(problem)), rates_of(chip)))
        names.emplace_back(product->name);
    return names;
}

ConvPlan plan_im2col_with(const ConvProblem& problem, const conv::Chip& chip, std::string_view kernel) {
    return plan_with(problem, chip, *find_entry(kernel));
}

}  // namespace kinetograph::sm100
