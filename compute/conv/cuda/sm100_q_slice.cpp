#include <kinetograph/compute/conv/cuda/dense_frames.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>
#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/compute/conv/cuda/sm100_problem.hpp>
#include <kinetograph/compute/conv/cuda/sm100_q_slice.hpp>
#include <kinetograph/compute/conv/cuda/sm100_sums.hpp>
#include <kinetograph/kernels/cuda/sm100/qslice_conv3d.hpp>
#include <kinetograph/kernels/cuda/sm100/slice_passes.hpp>

#include <optional>
#include <utility>

namespace kinetograph::conv::cuda {
namespace {

using sm100::QsliceForm;
using sm100::QsliceStep;

struct Bound {
    QsliceForm form = QsliceForm::FusedSums;
    Sm100Kernel slice;                                     ///< the config that all steps start from
    std::optional<Sm100Kernel> first_sum, next_sum, last;  ///< FusedSums
    std::shared_ptr<accel::Kernel> accumulate;             ///< RoundedSlices
    std::shared_ptr<accel::Kernel> finish;                 ///< RoundedSlices, and a residual behind fused sums
    std::optional<NormPass> norm;
    DeviceParameters packed;
};

// Functions without members leave the parameters as they are.
using FinishParams = sm100::FinishSlicesParams<sm100::NoEpilogue>;
static_assert(sizeof(FinishParams) == sizeof(sm100::FinishSlicesParams<sm100::SiluInRegisters>));

class Sm100QSlice final : public Convolution {
  public:
    Sm100QSlice(const ConvProblem& problem, std::shared_ptr<const Bound> bound)
        : Convolution(problem), bound_(std::move(bound)) {}
    std::string_view backend() const override {
        return bound_->form == QsliceForm::FusedSums ? "q-slice-sm100" : "q-slice-rounded-sm100";
    }
    std::uint64_t workspace_bytes() const override { return room().end; }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        if (!declined_by_sm100(sm100::qslice_gates(), other).empty()) return nullptr;
        return std::make_unique<Sm100QSlice>(other, bound_);
    }

  private:
    std::uint64_t values() const {
        const ConvProblem& p = problem();
        return static_cast<std::uint64_t>(p.n * p.d_out() * p.h_out() * p.w_out() * p.filter.k);
    }
    /// fp32 sums, then bf16 slices, then dense copies.
    DenseRoom room() const {
        return dense_room(problem(), values() * (bound_->form == QsliceForm::RoundedSlices ? 6 : 4));
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        // The output that nobody else wants is normed where it lies.
        const auto stored = problem().norm == Norm::Instead ? tensors.normed : tensors.output;
        const DenseTensors dense = enqueue_gather(stream, problem(), tensors, stored, room());
        const sm100::QsliceTensors where{.activation = dense.input,
                                         .filter = bound_->packed.filter->data(),
                                         .output = dense.output,
                                         .source = dense.residual,
                                         .sums = tensors.workspace,
                                         .slice = tensors.workspace + values() * 4};
        for (const sm100::QsliceWork& work : sm100::plan_qslice(
                 bound_->slice.config(), sm100_shape(problem()), where, bound_->form,
                 problem().activation == Activation::None ? sm100::Finisher::LastSum : sm100::Finisher::Pass)) {
            auto done = step(stream, pass_name, work, where);
            if (!done) return done;
        }
        enqueue_scatter(stream, problem(), stored, dense.output);
        if (bound_->norm)
            bound_->norm->enqueue(stream, pass_name, problem(), floats(bound_->packed.gamma), stored, tensors.normed);
        return {};
    }

    Result<void> step(accel::Stream& stream, std::string_view pass_name, const sm100::QsliceWork& work,
                      const sm100::QsliceTensors& where) const {
        switch (work.step) {
            case QsliceStep::Slice:
                return bound_->slice.enqueue(stream, pass_name, work.launch, {});
            case QsliceStep::FirstSum:
                return bound_->first_sum->enqueue(stream, pass_name, work.launch, {});
            case QsliceStep::NextSum:
                return bound_->next_sum->enqueue(stream, pass_name, work.launch, {});
            case QsliceStep::LastSum:
                return bound_->last->enqueue(stream, pass_name, work.launch, {.bias = floats(bound_->packed.bias)});
            case QsliceStep::Accumulate:
                pass(stream, pass_name, *bound_->accumulate,
                     sm100::AccumulateSliceParams{.sums = static_cast<float*>(where.sums),
                                                  .slice = static_cast<const std::uint32_t*>(where.slice),
                                                  .values = values(),
                                                  .first = work.first});
                return {};
            case QsliceStep::Finish:
                pass(stream, pass_name, *bound_->finish,
                     FinishParams{.sums = static_cast<const float*>(where.sums),
                                  .bias = floats(bound_->packed.bias),
                                  .source = static_cast<std::uint32_t*>(where.source),
                                  .output = static_cast<std::uint32_t*>(where.output),
                                  .values = values(),
                                  .c_out = static_cast<std::uint32_t>(problem().filter.k),
                                  .beta = problem().beta,
                                  .function = {}});
                return {};
        }
        return {};
    }

    template <class Params>
    void pass(accel::Stream& stream, std::string_view pass_name, accel::Kernel& kernel, const Params& params) const {
        stream.launch({pass_name,
                       kernel,
                       {sm100::slice_pass_blocks(values()), 1, 1},
                       {sm100::kPassThreads, 1, 1},
                       {},
                       0,
                       accel::bytes_of(params)});
    }

    std::shared_ptr<const Bound> bound_;
};

/// A pass has to finish where the last sum's epilogue cannot.
bool pass_finishes(const ConvProblem& problem, QsliceForm form) {
    return form == QsliceForm::RoundedSlices || problem.residual || problem.activation != Activation::None;
}

Result<void> load_kernels(Bound& bound, const std::shared_ptr<Kernels>& kernels, const ConvProblem& problem) {
    sm100::Conv2dProblemShape image = sm100_shape(problem);
    image.n *= image.d_out();
    image.d = image.q = 1;
    const Sm100SumEntries entries = choose_sums(image, sm100_rates(kernels->device().info()));
    const auto load = [&](auto& kernel, const sm100::Conv2dEntry* entry) -> Result<void> {
        KG_TRY(kernel, Sm100Kernel::create(kernels, entry));
        return {};
    };
    const auto load_pass = [&](std::shared_ptr<accel::Kernel>& kernel, std::string_view name) -> Result<void> {
        KG_TRY(kernel, kernels->get("slice_passes", name));
        return {};
    };
    KG_CHECK(load(bound.slice, entries.image));
    if (bound.form == QsliceForm::FusedSums) {
        KG_CHECK(load(bound.first_sum, entries.first_sum));
        KG_CHECK(load(bound.next_sum, entries.next_sum));
        KG_CHECK(load(bound.last, entries.last_sum));
    } else {
        KG_CHECK(load_pass(bound.accumulate, "qslice_accumulate"));
    }
    if (!pass_finishes(problem, bound.form)) return {};
    return load_pass(bound.finish, problem.activation == Activation::Silu ? "qslice_finish_silu" : "qslice_finish");
}

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem,
                                            const ConvParameters& parameters, QsliceForm form) {
    const auto kernels = Kernels::of(device);
    auto bound = std::make_shared<Bound>();
    bound->form = form;
    KG_CHECK(load_kernels(*bound, kernels, problem));
    if (problem.norm != Norm::None) {
        KG_TRY(bound->norm, NormPass::create(*kernels, problem));
    }
    KG_TRY(bound->packed, upload_parameters(device, sm100_filter(problem, parameters.filter), parameters));
    return std::make_unique<Sm100QSlice>(problem, std::move(bound));
}

}  // namespace

Result<std::unique_ptr<Convolution>> create_q_slice_sm100(accel::Device& device, const ConvProblem& problem,
                                                          const ConvParameters& parameters) {
    return create(device, problem, parameters, QsliceForm::FusedSums);
}

Result<std::unique_ptr<Convolution>> create_rounded_q_slice_sm100(accel::Device& device, const ConvProblem& problem,
                                                                  const ConvParameters& parameters) {
    return create(device, problem, parameters, QsliceForm::RoundedSlices);
}

}  // namespace kinetograph::conv::cuda
