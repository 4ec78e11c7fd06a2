#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/reference/convolution.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <cmath>

namespace kinetograph::conv::reference {
namespace {

/// sums[k] += x * filter[k] for every output channel of a group.
[[gnu::always_inline]] inline void add_scaled_loop(double* sums, const double* filter, double x, std::int64_t count) {
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) sums[k] += x * filter[k];
}
constexpr CpuClones<add_scaled_loop> add_scaled;

double silu(double x) { return x / (1 + std::exp(-x)); }

class ReferenceConvolution final : public Convolution {
  public:
    ReferenceConvolution(const ConvProblem& problem, const ConvParameters& parameters)
        : Convolution(problem),
          bias_(parameters.bias.begin(), parameters.bias.end()),
          scales_(parameters.scales.begin(), parameters.scales.end()) {
        transpose(parameters.filter);
    }
    std::string_view backend() const override { return "reference-cpu"; }
    std::uint64_t workspace_bytes() const override { return 0; }

  private:
    struct Frames {
        std::vector<const std::byte*> input;
        std::vector<std::byte*> output;
        std::vector<const std::byte*> residual;
    };

    /// [k][c][q][r][s] to [group][q][r][s][c][k of the group], rounded to the problem's dtype.
    void transpose(std::span<const float> filter) {
        const ConvProblem& p = problem();
        const std::int64_t taps = p.filter.q * p.filter.r * p.filter.s;
        const std::int64_t c_group = p.c_in / p.groups, k_group = p.filter.k / p.groups;
        filter_.resize(filter.size());
        for (std::int64_t k = 0; k < p.filter.k; ++k) {
            for (std::int64_t c = 0; c < c_group; ++c) {
                for (std::int64_t tap = 0; tap < taps; ++tap) {
                    const float given = filter[(k * c_group + c) * taps + tap];
                    const double value = rounded_element(given, p.weight.element);
                    filter_[((k / k_group * taps + tap) * c_group + c) * k_group + k % k_group] = value;
                }
            }
        }
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        Frames frames{{tensors.input.begin(), tensors.input.end()},
                      {tensors.output.begin(), tensors.output.end()},
                      {tensors.residual.begin(), tensors.residual.end()}};
        stream.enqueue(pass_name, [this, frames = std::move(frames)]() -> Result<void> {
            run(frames);
            return {};
        });
        return {};
    }

    void run(const Frames& frames) const {
        const ConvProblem& p = problem();
        std::vector<std::vector<double>> sums(static_cast<std::size_t>(worker_count()),
                                              std::vector<double>(static_cast<std::size_t>(p.filter.k)));
        // In order: carried sums are read by the first frames and written, in the same place, by the last.
        for (std::int64_t frame = 0; frame < p.frames_out(); ++frame)
            for_tasks(p.h_out(), [&](std::int64_t y, int worker) {
                std::vector<double>& own = sums[static_cast<std::size_t>(worker)];
                for (std::int64_t x = 0; x < p.w_out(); ++x) {
                    sum_pixel(frames, frame, y, x, own);
                    finish_pixel(frames, frame, y, x, own);
                }
            });
    }

    /// sums[k] = the sums at output pixel (y, x) of output frame `frame` (sample-major), without epilogue.
    void sum_pixel(const Frames& frames, std::int64_t frame, std::int64_t y, std::int64_t x,
                   std::vector<double>& sums) const {
        const ConvProblem& p = problem();
        const std::int64_t sample = frame / p.d_out(), t = frame % p.d_out(), scale = p.upsample ? 2 : 1;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t q = 0; q < p.filter.q; ++q) {
            const std::int64_t t_in = t * p.stride.d + q * p.dilation.d - p.pad.front;
            if (t_in < 0 || t_in >= p.d) continue;
            for (std::int64_t r = 0; r < p.filter.r; ++r) {
                const std::int64_t y_in = y * p.stride.h + r * p.dilation.h - p.pad.top;
                if (y_in < 0 || y_in >= p.h * scale) continue;
                for (std::int64_t s = 0; s < p.filter.s; ++s) {
                    const std::int64_t x_in = x * p.stride.w + s * p.dilation.w - p.pad.left;
                    if (x_in < 0 || x_in >= p.w * scale) continue;
                    add_tap(frames.input[sample * p.d + t_in], (y_in / scale * p.w + x_in / scale) * p.c_in,
                            (q * p.filter.r + r) * p.filter.s + s, sums);
                }
            }
        }
    }

    /// Adds one tap of one input pixel, whose channels start at element `pixel` of `input`.
    void add_tap(const std::byte* input, std::int64_t pixel, std::int64_t tap, std::vector<double>& sums) const {
        const ConvProblem& p = problem();
        const std::int64_t taps = p.filter.q * p.filter.r * p.filter.s;
        const std::int64_t c_group = p.c_in / p.groups, k_group = p.filter.k / p.groups;
        for (std::int64_t group = 0; group < p.groups; ++group) {
            const double* filter = filter_.data() + (group * taps + tap) * c_group * k_group;
            for (std::int64_t c = 0; c < c_group; ++c) {
                const double value = load_element(input, pixel + group * c_group + c, p.input.element) - p.input.zero;
                add_scaled(sums.data() + group * k_group, filter + c * k_group, value, k_group);
            }
        }
    }

    void finish_pixel(const Frames& frames, std::int64_t frame, std::int64_t y, std::int64_t x,
                      const std::vector<double>& sums) const {
        const ConvProblem& p = problem();
        const std::int64_t pixel = (y * p.w_out() + x) * p.filter.k;
        for (std::int64_t k = 0; k < p.filter.k; ++k) {
            double value = p.product_scale() * (p.channel_scales ? scales_[k] : 1.0F) * sums[k];
            if (p.bias && !(p.carried && frame >= p.d)) value += bias_[k];
            if (p.activation == Activation::Silu) value = silu(value);
            if (frame < p.residual_frames())
                value += p.beta * load_element(frames.residual[frame], pixel + k, p.output.element);
            if (p.activation == Activation::Relu && value < 0) value *= p.negative_slope;
            store_element(frames.output[frame], pixel + k, p.output.element, value);
        }
    }

    std::vector<double> filter_;
    std::vector<float> bias_, scales_;
};

}  // namespace

Result<std::unique_ptr<Convolution>> create(accel::Device&, const ConvProblem& problem, Weights& weights) {
    return std::make_unique<ReferenceConvolution>(problem, weights.load().view());
}

}  // namespace kinetograph::conv::reference
