#include <kinetograph/compute/conv/cuda/dense_frames.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>
#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/compute/conv/cuda/sm100_im2col.hpp>
#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/compute/conv/cuda/sm100_problem.hpp>
#include <kinetograph/compute/conv/cuda/sm100_sums.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_product.hpp>

#include <optional>
#include <utility>

namespace kinetograph::conv::cuda {
namespace {

constexpr std::uint64_t kChunkBytes = 64 << 20;

// Functions without members leave the parameters as they are.
using HomeParams = sm100::BringHomeParams<sm100::NoEpilogue>;
static_assert(sizeof(HomeParams) == sizeof(sm100::BringHomeParams<sm100::SiluInRegisters>));

struct Bound {
    Sm100Kernel product;
    std::shared_ptr<accel::Kernel> gather, home;
    std::optional<NormPass> norm;
    DeviceParameters packed;
};

class Sm100Im2col final : public Convolution {
  public:
    Sm100Im2col(const ConvProblem& problem, std::shared_ptr<const Bound> bound)
        : Convolution(problem),
          sizes_(sm100::im2col_sizes(sm100_shape(problem), kChunkBytes)),
          bound_(std::move(bound)) {}
    std::string_view backend() const override { return "im2col-sm100"; }
    std::uint64_t workspace_bytes() const override { return room().end; }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        return std::make_unique<Sm100Im2col>(other, bound_);
    }

  private:
    /// A chunk's rows, its sums, dense copies.
    DenseRoom room() const {
        return dense_room(problem(), workspace_part(sizes_.matrix_bytes) + workspace_part(sizes_.sums_bytes));
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        // The output that nobody else wants is normed where it lies.
        const auto stored = problem().norm == Norm::Instead ? tensors.normed : tensors.output;
        const DenseTensors dense = enqueue_gather(stream, problem(), tensors, stored, room());
        for (const sm100::Im2colStep& step :
             sm100::plan_im2col(bound_->product.config(), sm100_shape(problem()), sizes_,
                                {.activation = dense.input,
                                .filter = bound_->packed.filter->data(),
                                .output = dense.output,
                                .source = dense.residual,
                                .matrix = tensors.workspace,
                                .sums = tensors.workspace + workspace_part(sizes_.matrix_bytes)})) {
            KG_CHECK(enqueue_step(stream, pass_name, step));
        }
        enqueue_scatter(stream, problem(), stored, dense.output);
        if (bound_->norm)
            bound_->norm->enqueue(stream, pass_name, problem(), floats(bound_->packed.gamma), stored, tensors.normed);
        return {};
    }

    Result<void> enqueue_step(accel::Stream& stream, std::string_view pass_name, const sm100::Im2colStep& step) const {
        const std::uint64_t parts = step.gather.rows * step.gather.k_padded *
                                    tensor::bytes_per_element(problem().dtype) / sizeof(sm100::GatheredPart<uint16_t>);
        pass(stream, pass_name, *bound_->gather, parts, step.gather);
        if (auto done = bound_->product.enqueue(stream, pass_name, step.product, {}); !done) return done;
        HomeParams home = step.home;
        home.bias = floats(bound_->packed.bias);
        home.beta = problem().beta;
        pass(stream, pass_name, *bound_->home, home.rows * home.group_filters, home);
        return {};
    }

    template <class Params>
    void pass(accel::Stream& stream, std::string_view pass_name, accel::Kernel& kernel, std::uint64_t threads,
              const Params& params) const {
        stream.launch({pass_name,
                       kernel,
                       {sm100::im2col_blocks(threads), 1, 1},
                       {sm100::kIm2colThreads, 1, 1},
                       {},
                       0,
                       accel::bytes_of(params)});
    }

    sm100::Im2colSizes sizes_;
    std::shared_ptr<const Bound> bound_;
};

std::string_view home_of(const ConvProblem& problem) {
    if (problem.output_dtype == tensor::DType::F32) return "im2col_home_fp32";
    if (problem.output_dtype == tensor::DType::F16)
        return problem.activation == Activation::Silu ? "im2col_home_fp16_silu" : "im2col_home_fp16";
    return problem.activation == Activation::Silu ? "im2col_home_bf16_silu" : "im2col_home_bf16";
}

Result<void> load_kernels(Bound& bound, const std::shared_ptr<Kernels>& kernels, const ConvProblem& problem) {
    const sm100::Im2colSizes sizes = sm100::im2col_sizes(sm100_shape(problem), kChunkBytes);
    const sm100::Conv2dProblemShape product{.h = 1,
                                            .w = static_cast<std::int64_t>(sizes.rows_per_chunk),
                                            .c_in = sizes.k_padded,
                                            .c_out = sizes.padded_filters,
                                            .element = *sm100_element_of(problem.dtype)};
    KG_TRY(bound.product, Sm100Kernel::create(kernels, choose_product(product, sm100_rates(kernels->device().info()))));
    const bool bytes = tensor::bytes_per_element(problem.dtype) == 1;
    for (const auto& [kernel, name] : {std::pair<std::shared_ptr<accel::Kernel>*, std::string_view>{
                                           &bound.gather, bytes ? "im2col_gather_8bit" : "im2col_gather_16bit"},
                                       {&bound.home, home_of(problem)}}) {
        KG_TRY(*kernel, kernels->get("im2col_passes", name));
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<Convolution>> create_im2col_sm100(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters) {
    const auto kernels = Kernels::of(device);
    auto bound = std::make_shared<Bound>();
    KG_CHECK(load_kernels(*bound, kernels, problem));
    if (problem.norm != Norm::None) {
        KG_TRY(bound->norm, NormPass::create(*kernels, problem));
    }
    const auto filter = sm100::pack_im2col_filter(sm100_shape(problem), sm100_filter(problem, parameters.filter));
    KG_TRY(bound->packed, upload_parameters(device, filter, parameters));
    return std::make_unique<Sm100Im2col>(problem, std::move(bound));
}

}  // namespace kinetograph::conv::cuda
