#include <kinetograph/compute/conv/onednn/convolution.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/conv/onednn/tap_primitives.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>

namespace kinetograph::conv::onednn {
namespace {

using tensor::DType;

/// The same sums in float32, without what finish_frame() does after the bias.
ConvProblem widened(ConvProblem problem) {
    problem.input = problem.weight = problem.output = problem.normed = DType::F32;
    problem.residual = false;
    problem.activation = Activation::None;
    return problem;
}

/// The filter for the float32 convolution: rounded to bf16, as in the problem.
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
          all_taps_{{0, problem.filter.q}, Part::Whole},
          primitives_(widened(problem)) {
        primitives_.expect(weights, kLayout, std::span(&all_taps_, 1));
    }
    std::string_view backend() const override { return "onednn-f32-cpu"; }
    std::uint64_t workspace_bytes() const override {
        return static_cast<std::uint64_t>(span_frames() * input_elements_ + output_elements_) * sizeof(float);
    }
    Result<void> check() const { return primitives_.check(all_taps_); }
    Result<void> pack() override {
        if (weights_ == nullptr) return {};
        const std::uint64_t bytes = weights_->expected_bytes(kLayout);
        KG_TRY(const auto filters, weights_->packed<std::shared_ptr<TapFilters>>(kLayout, [&](const auto& parameters) {
            const std::vector<float> filter = rounded(parameters.filter);
            return TapFilters::create(device_, primitives_.engine(), primitives_.problem(),
                                      {.filter = filter, .bias = parameters.bias}, bytes);
        }));
        primitives_.take(*filters);
        weights_ = nullptr;
        KG_TRY(primitive_, primitives_.get(all_taps_));
        return {};
    }

  private:
    static constexpr const char* kLayout = "oneDNN, f32 of bf16";

    struct Frame {
        std::vector<const std::byte*> input;  ///< one per frame under the taps, in time; null for zeros
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
            Frame frame = describe(tensors.input.subspan(i / p.d_out() * p.d, p.d), i % p.d_out());
            frame.output = tensors.output[i];
            frame.residual = p.residual ? tensors.residual[i] : nullptr;
            frames.push_back(std::move(frame));
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

    Frame describe(std::span<const std::byte* const> sample, std::int64_t t_out) const {
        Frame frame;
        frame.input.resize(static_cast<std::size_t>(span_frames()));
        for (std::int64_t tap = 0; tap < problem().filter.q; ++tap) {
            const std::int64_t t_in = input_frame(problem(), t_out, tap);
            if (t_in >= 0 && t_in < problem().d) frame.input[tap * problem().dilation.d] = sample[t_in];
        }
        return frame;
    }

    void run(const Frame& frame, float* input, float* output) const {
        for (std::size_t i = 0; i < frame.input.size(); ++i) {
            float* const widened = input + static_cast<std::int64_t>(i) * input_elements_;
            if (frame.input[i] == nullptr) {
                std::fill_n(widened, input_elements_, 0.0F);
            } else {
                widen_frame(frame.input[i], widened, input_elements_);
            }
        }
        const ConvProblem& p = problem();
        const bool in_place = p.output.element == DType::F32 && !p.residual;
        float* sums = in_place ? reinterpret_cast<float*>(frame.output) : output;
        convolve(*primitive_, input, sums);
        if (!in_place || p.activation != Activation::None) finish_frame(p, sums, frame.residual, frame.output);
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
    const TapKey all_taps_;
    TapPrimitives primitives_;
    const TapPrimitive* primitive_ = nullptr;  ///< of all taps
};

}  // namespace

Result<std::unique_ptr<Convolution>> create_widened(accel::Device& device, const ConvProblem& problem,
                                                    Weights& weights) {
    auto made = std::make_unique<WidenedConvolution>(device, problem, weights);
    KG_CHECK(made->check());
    return made;
}

}  // namespace kinetograph::conv::onednn
