#include <kinetograph/kernels/cuda/sm100/qslice_conv3d.hpp>

namespace kinetograph::sm100 {
namespace {

/// Bytes of a frame, between samples and between slices of the filter; output pixels of a sample.
struct Strides {
    int64_t frame, sample, filter_slice, pixels;

    explicit Strides(const conv::ConvProblem& problem)
        : frame(problem.h * problem.w * problem.c_in * element_bytes(problem.input.element)),
          sample(problem.d * frame),
          filter_slice(problem.filter.r * problem.filter.s * problem.c_in * element_bytes(problem.input.element)),
          pixels(problem.d_out() * problem.h_out() * problem.w_out()) {}
};

void* moved(void* address, int64_t bytes) { return address == nullptr ? nullptr : static_cast<char*>(address) + bytes; }

class QslicePlan {
  public:
    QslicePlan(const Conv2dConfig& base, const conv::ConvProblem& problem, const QsliceTensors& tensors)
        : configs_(qslice_configs(base)), problem_(problem), tensors_(tensors), strides_(problem) {}

    QsliceWork conv(QsliceStep step, int64_t sample, int64_t q) const {
        conv::ConvProblem image = problem_;
        image.n = problem_.d_out();
        image.d = image.filter.q = 1;
        const Conv2dConfig& config = config_of(step);
        void* activation = moved(tensors_.activation, sample * strides_.sample + q * strides_.frame);
        const int64_t values = sample * strides_.pixels * problem_.filter.k;
        void* output = moved(output_of(step), values * element_bytes(config.output));
        void* sums = moved(tensors_.sums, values * 4);
        const std::span<void* const> source(&sums, config.source == Source::None ? 0 : 1);
        QsliceWork work{.step = step,
                        .launch = plan_launch(config, image,
                                              {.activation = {&activation, 1},
                                               .filter = moved(tensors_.filter, q * strides_.filter_slice),
                                               .filter_taps = problem_.taps(),
                                               .output = {&output, 1},
                                               .source = source})};
        work.launch.geometry.first_pixel = static_cast<uint32_t>(sample * strides_.pixels);
        return work;
    }

  private:
    const Conv2dConfig& config_of(QsliceStep step) const {
        switch (step) {
            case QsliceStep::FirstSum:
                return configs_.first_sum;
            case QsliceStep::NextSum:
                return configs_.next_sum;
            case QsliceStep::LastSum:
                return configs_.last_sum;
            default:
                return configs_.slice;
        }
    }
    void* output_of(QsliceStep step) const {
        if (step == QsliceStep::Slice) return tensors_.slice;
        return step == QsliceStep::LastSum ? tensors_.output : tensors_.sums;
    }

    QsliceConfigs configs_;
    conv::ConvProblem problem_;
    QsliceTensors tensors_;
    Strides strides_;
};

}  // namespace

std::vector<QsliceWork> plan_qslice(const Conv2dConfig& base, const conv::ConvProblem& problem,
                                    const QsliceTensors& tensors, QsliceForm form, Finisher finisher) {
    std::vector<QsliceWork> steps;
    if (problem.empty()) return steps;
    const QslicePlan plan(base, problem, tensors);
    steps.reserve(static_cast<size_t>((problem.n + 1) * problem.filter.q + 1));
    const bool pass_finishes = tensors.source != nullptr || finisher == Finisher::Pass;
    for (int64_t q = 0; q < problem.filter.q; ++q) {
        const bool finishes = q + 1 == problem.filter.q && !pass_finishes;
        const QsliceStep sum = q == 0 ? QsliceStep::FirstSum : finishes ? QsliceStep::LastSum : QsliceStep::NextSum;
        for (int64_t sample = 0; sample < problem.n; ++sample) {
            steps.push_back(plan.conv(form == QsliceForm::RoundedSlices ? QsliceStep::Slice : sum, sample, q));
        }
        if (form == QsliceForm::RoundedSlices)
            steps.push_back({.step = QsliceStep::Accumulate, .first = q == 0, .launch = {}});
    }
    if (form == QsliceForm::RoundedSlices || pass_finishes) steps.push_back({.step = QsliceStep::Finish, .launch = {}});
    return steps;
}

}  // namespace kinetograph::sm100
