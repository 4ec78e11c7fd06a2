#include <kinetograph/compute/conv/onednn/convolution.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/conv/onednn/tap_primitives.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <cassert>

namespace kinetograph::conv::onednn {
namespace {

using tensor::DType;

/// The same convolution in float32, without the residual, which we add.
ConvProblem widened(ConvProblem problem) {
    problem.dtype = problem.output_dtype = DType::F32;
    problem.residual = false;
    return problem;
}

/// bf16 parameters for the float32 convolution: rounded as the problem says.
std::vector<float> rounded(std::span<const float> values) {
    std::vector<float> result(values.size());
    std::ranges::transform(values, result.begin(),
                           [](float value) { return tensor::from_bf16(tensor::to_bf16(value)); });
    return result;
}

class WidenedConvolution final : public Convolution {
  public:
    WidenedConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : Convolution(problem),
          device_(device),
          weights_(&weights),
          input_elements_(problem.h * problem.w * problem.c_in),
          output_elements_(problem.h_out() * problem.w_out() * problem.filter.k),
          primitives_(widened(problem)) {
        weights.expect(kLayout, TapFilters::bytes(primitives_.problem()));
    }
    std::string_view backend() const override { return "onednn-f32-cpu"; }
    std::uint64_t workspace_bytes() const override {
        return static_cast<std::uint64_t>(span_frames() * input_elements_ + output_elements_) * sizeof(float);
    }
    Result<void> check() const { return primitives_.check(); }
    Result<void> pack() override {
        if (weights_ == nullptr) return {};
        KG_TRY(const auto filters, weights_->packed<std::shared_ptr<TapFilters>>(kLayout, [&](const auto& parameters) {
            const std::vector<float> filter = rounded(parameters.filter);
            return TapFilters::create(device_, primitives_.engine(), primitives_.problem(),
                                      {.filter = filter, .bias = parameters.bias});
        }));
        primitives_.take(*filters);
        weights_ = nullptr;
        KG_CHECK(primitives_.get({{0, problem().filter.q}, Part::Whole}));
        return {};
    }

  private:
    static constexpr const char* kLayout = "oneDNN, f32 of bf16";

    struct Frame {
        const TapPrimitive* primitive = nullptr;
        std::vector<const std::byte*> input;  ///< one per frame under the taps, in time
        std::byte* output = nullptr;
        const std::byte* residual = nullptr;
    };

    /// Input frames from the first tap to the last, those between dilated taps included.
    std::int64_t span_frames() const { return (problem().filter.q - 1) * problem().dilation.d + 1; }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        const ConvProblem& p = problem();
        std::vector<Frame> frames;
        for (std::int64_t i = 0; i < p.n * p.d_out(); ++i) {
            auto frame = describe(tensors.input.subspan(i / p.d_out() * p.d, p.d), i % p.d_out());
            if (!frame) return fail(std::move(frame.error()), pass_name);
            frame->output = tensors.output[i];
            frame->residual = p.residual ? tensors.residual[i] : nullptr;
            frames.push_back(std::move(*frame));
        }
        stream.enqueue(pass_name,
                       [this, frames = std::move(frames),
                        workspace = reinterpret_cast<float*>(tensors.workspace)]() -> Result<void> {
                           for (const Frame& frame : frames)
                               run(frame, workspace, workspace + span_frames() * input_elements_);
                           return {};
                       });
        return {};
    }

    /// The taps of output frame `t_out` that meet the input are consecutive, because padding is only at the ends.
    Result<Frame> describe(std::span<const std::byte* const> sample, std::int64_t t_out) const {
        const ConvProblem& p = problem();
        Frame frame;
        std::int64_t first = -1, count = 0;
        for (std::int64_t tap = 0; tap < p.filter.q; ++tap) {
            const std::int64_t t_in = t_out * p.stride.d + tap * p.dilation.d - p.pad.front;
            if (t_in < 0 || t_in >= p.d) continue;
            if (first < 0) first = tap;
            ++count;
            // The primitive never reads a skipped frame between dilated taps; any address will do.
            frame.input.resize((tap - first) * p.dilation.d + 1, sample[t_in]);
            frame.input.back() = sample[t_in];
        }
        assert(count > 0);  // guaranteed by a gate
        KG_TRY(auto primitive, primitives_.get({{first, count}, Part::Whole}));
        frame.primitive = primitive;
        return frame;
    }

    void run(const Frame& frame, float* input, float* output) const {
        for (std::size_t i = 0; i < frame.input.size(); ++i) {
            widen_frame(frame.input[i], input + static_cast<std::int64_t>(i) * input_elements_, input_elements_);
        }
        const DType dtype = problem().output_dtype;
        float* sums = dtype == DType::F32 && !problem().residual ? reinterpret_cast<float*>(frame.output) : output;
        convolve(*frame.primitive, input, sums);
        finish_frame(sums, frame.residual, problem().beta, frame.output, output_elements_, dtype);
    }

    void convolve(const TapPrimitive& p, float* source, float* destination) const {
        const dnnl::engine& engine = primitives_.engine();
        dnnl::stream stream(engine);
        std::unordered_map<int, dnnl::memory> arguments{
            {DNNL_ARG_SRC, dnnl::memory(p.source, engine, source)},
            {DNNL_ARG_WEIGHTS, p.weights},
            {DNNL_ARG_DST, dnnl::memory(p.destination, engine, destination)}};
        if (problem().bias) arguments.emplace(DNNL_ARG_BIAS, primitives_.bias());
        p.primitive.execute(stream, arguments);
        stream.wait();
    }

    accel::Device& device_;
    Weights* weights_;  ///< null once they are packed
    std::int64_t input_elements_, output_elements_;
    mutable TapPrimitives primitives_;  ///< a cache with its own lock
};

}  // namespace

Result<std::unique_ptr<Convolution>> create_widened(accel::Device& device, const ConvProblem& problem,
                                                    Weights& weights) {
    auto made = std::make_unique<WidenedConvolution>(device, problem, weights);
    KG_CHECK(made->check());
    return made;
}

}  // namespace kinetograph::conv::onednn
