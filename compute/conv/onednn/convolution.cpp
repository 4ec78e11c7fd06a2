#include <kinetograph/compute/conv/frame_taps.hpp>
#include <kinetograph/compute/conv/onednn/convolution.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/conv/onednn/tap_primitives.hpp>

#include <cassert>

namespace kinetograph::conv::onednn {
namespace {

/// oneDNN's memory takes a mutable pointer; sources are only read.
void* handle(const std::byte* address) { return const_cast<std::byte*>(address); }

std::vector<TapRun> one_by_one(const ConvProblem& problem, const std::vector<TapRun>& runs) {
    std::vector<TapRun> taps;
    for (const TapRun& run : runs)
        for (std::int64_t i = 0; i < run.count; ++i)
            taps.push_back({run.first + i, 1, run.first_frame + i * problem.dilation.d});
    return taps;
}

class OneDnnConvolution final : public Convolution {
  public:
    OneDnnConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : Convolution(problem), device_(device), weights_(&weights), primitives_(problem) {
        primitives_.expect(weights, layout(), keys());
    }
    std::string_view backend() const override { return "onednn-cpu"; }
    std::uint64_t workspace_bytes() const override {
        return (has_scratch_frame() ? frame_bytes() : 0) + (copies_residual() ? frame_bytes() : 0);
    }
    Result<void> check() const { return primitives_.check(keys().front()); }
    Result<void> pack() override {
        if (weights_ == nullptr) return {};
        const std::uint64_t bytes = weights_->expected_bytes(layout());
        KG_TRY(const auto filters, weights_->packed<std::shared_ptr<TapFilters>>(layout(), [&](const auto& parameters) {
            return TapFilters::create(device_, primitives_.engine(), problem(), parameters, bytes);
        }));
        primitives_.take(*filters);
        weights_ = nullptr;
        const std::vector<TapKey> all = keys();
        for (const TapKey& key : all) {
            const auto made = primitives_.get(key);
            if (!made && (key == all.front() || made.error().code != ErrorCode::Unsupported)) return fail(made.error());
        }
        return {};
    }

  private:
    /// Of an output frame, in float32.
    std::uint64_t frame_bytes() const {
        const ConvProblem& p = problem();
        return static_cast<std::uint64_t>(p.h_out() * p.w_out() * p.filter.k) * sizeof(float);
    }
    bool has_scratch_frame() const { return problem().filter.q != 1 || primitives_.finished_by_loop(); }
    /// oneDNN may keep partial sums in a float32 output. If the residual is at the output's address it would be
    /// overwritten, so the primitive reads a copy of it, which lies after the scratch frame.
    bool copies_residual() const {
        return problem().residual && problem().output.element == tensor::DType::F32 && !primitives_.finished_by_loop();
    }
    const char* layout() const {
        return problem().input.element == tensor::DType::BF16 ? "oneDNN, bf16" : "oneDNN, f32";
    }

    /// Every primitive that a step can need, so that nothing is allocated later: one tap at a time, each tap as every
    /// part that it can be of a sum; otherwise all taps at once and, for every place where the seam between kept and
    /// new frames can be, the taps on either side of it, those after it also alone, as where the others are in the
    /// padding before a clip, and where there is padding behind it all that end before it: for AMX the layout of a
    /// filter depends on its part of the sum. If the library has no implementation of one, an enqueue() that needs it
    /// fails.
    std::vector<TapKey> keys() const {
        const std::int64_t q = problem().filter.q;
        std::vector<TapKey> keys;
        if (!TapPrimitives::one_tap_at_a_time()) {
            keys = {{{0, q}, Part::Whole}};
            for (std::int64_t seam = 1; seam < q; ++seam) {
                keys.insert(
                    keys.end(),
                    {{{0, seam}, Part::Begin}, {{seam, q - seam}, Part::Finish}, {{seam, q - seam}, Part::Whole}});
                for (std::int64_t first = 0; first < seam && problem().pad.back > 0; ++first)
                    keys.push_back({{first, seam - first}, Part::Whole});
            }
            return keys;
        }
        for (std::int64_t tap = 0; tap < q; ++tap) {
            keys.push_back({{tap, 1}, Part::Whole});
            if (tap + 1 < q) keys.push_back({{tap, 1}, Part::Begin});
            if (tap > 0 && tap + 1 < q) keys.push_back({{tap, 1}, Part::Continue});
            if (tap > 0) keys.push_back({{tap, 1}, Part::Finish});
        }
        return keys;
    }

    /// One primitive of one output frame, with this call's addresses.
    struct Step {
        const TapPrimitive* primitive = nullptr;
        const std::byte* source = nullptr;
        std::byte* destination = nullptr;
        const std::byte* residual = nullptr;
        std::byte* finished = nullptr;  ///< the frame's final address, if a loop finishes it after this step
    };

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        std::vector<Step> steps;
        const std::int64_t d = problem().d, d_out = problem().d_out();
        for (std::int64_t frame = 0; frame < problem().n * d_out; ++frame) {
            const auto sample = tensors.input.subspan(frame / d_out * d, d);
            if (auto added = add_steps(sample, frame, tensors, steps); !added) {
                return fail(std::move(added.error()), pass_name);
            }
        }
        stream.enqueue(pass_name,
                       [this, steps = std::move(steps), scratch = tensors.workspace] { return run(steps, scratch); });
        return {};
    }

    Result<void> add_steps(std::span<const std::byte* const> sample, std::int64_t frame, const ConvTensors& tensors,
                           std::vector<Step>& steps) const {
        std::vector<TapRun> runs = tap_runs(problem(), sample, frame % problem().d_out());
        if (TapPrimitives::one_tap_at_a_time()) runs = one_by_one(problem(), runs);
        assert(!runs.empty());  // guaranteed by a gate
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const bool last = i + 1 == runs.size();
            const Part part = last ? (i == 0 ? Part::Whole : Part::Finish) : (i == 0 ? Part::Begin : Part::Continue);
            KG_TRY(auto primitive, primitives_.get({{runs[i].first, runs[i].count}, part}));
            const bool by_loop = primitives_.finished_by_loop();
            steps.push_back({primitive, sample[runs[i].first_frame],
                             last && !by_loop ? tensors.output[frame] : tensors.workspace,
                             problem().residual ? tensors.residual[frame] : nullptr,
                             last && by_loop ? tensors.output[frame] : nullptr});
        }
        return {};
    }

    Result<void> run(const std::vector<Step>& steps, std::byte* scratch) const {
        try {
            dnnl::stream stream(primitives_.engine());
            for (Step step : steps) {
                if (copies_residual() && step.primitive->residual_argument != 0 && step.residual == step.destination)
                    step.residual = copy_residual(stream, step.residual, scratch);
                execute(stream, step, scratch);
                if (step.finished != nullptr) finish(stream, step, scratch);
            }
            stream.wait();
        } catch (const dnnl::error& error) {
            return fail(ErrorCode::Unsupported, "oneDNN failed: {}", error.what());
        }
        return {};
    }

    const std::byte* copy_residual(dnnl::stream& stream, const std::byte* residual, std::byte* workspace) const {
        stream.wait();  // for the step before, which reads the copy
        std::byte* copy = workspace + (has_scratch_frame() ? frame_bytes() : 0);
        copy_frame(reinterpret_cast<const float*>(residual), reinterpret_cast<float*>(copy),
                   static_cast<std::int64_t>(frame_bytes() / sizeof(float)));
        return copy;
    }

    void finish(dnnl::stream& stream, const Step& step, std::byte* scratch) const {
        stream.wait();
        finish_frame(problem(), reinterpret_cast<const float*>(scratch), step.residual, step.finished);
    }

    void execute(dnnl::stream& stream, const Step& step, std::byte* scratch) const {
        const dnnl::engine& engine = primitives_.engine();
        const TapPrimitive& p = *step.primitive;
        std::unordered_map<int, dnnl::memory> arguments{
            {DNNL_ARG_SRC, dnnl::memory(p.source, engine, handle(step.source))},
            {DNNL_ARG_WEIGHTS, p.weights},
            {DNNL_ARG_DST, dnnl::memory(p.destination, engine, step.destination)}};
        if (problem().bias) arguments.emplace(DNNL_ARG_BIAS, primitives_.bias());
        if (p.scratch_argument != 0) {
            arguments.emplace(p.scratch_argument, dnnl::memory(p.scratch, engine, scratch));
        }
        if (p.residual_argument != 0) {
            arguments.emplace(p.residual_argument, dnnl::memory(p.destination, engine, handle(step.residual)));
        }
        p.primitive.execute(stream, arguments);
    }

    accel::Device& device_;
    Weights* weights_;                  ///< null once they are packed
    mutable TapPrimitives primitives_;  ///< a cache with its own lock
};

}  // namespace

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights) {
    auto made = std::make_unique<OneDnnConvolution>(device, problem, weights);
    KG_CHECK(made->check());
    return made;
}

}  // namespace kinetograph::conv::onednn
