#include <kinetograph/kernels/cuda/sm100/qslice_conv3d.hpp>

namespace kinetograph::sm100 {
namespace {

/// Strides in bytes between samples and between slices.
struct Strides {
    int64_t frame, sample, filter_slice, pixels;

    explicit Strides(const Conv2dProblemShape& shape)
        : frame(shape.h * shape.w * shape.c_in * element_bytes(shape.element)),
          sample(shape.d * frame),
          filter_slice(shape.r * shape.s * shape.c_in * element_bytes(shape.element)),
          pixels(shape.d_out() * shape.h_out() * shape.w_out()) {}
};

void* moved(void* address, int64_t bytes) { return address == nullptr ? nullptr : static_cast<char*>(address) + bytes; }

class QslicePlan {
  public:
    QslicePlan(const Conv2dConfig& base, const Conv2dProblemShape& shape, const QsliceTensors& tensors)
        : configs_(qslice_configs(base)), shape_(shape), tensors_(tensors), strides_(shape) {}

    QsliceWork conv(QsliceStep step, int64_t sample, int64_t q) const {
        Conv2dProblemShape image = shape_;
        image.n = shape_.d_out();
        image.d = image.q = 1;
        const Conv2dConfig& config = config_of(step);
        void* activation = moved(tensors_.activation, sample * strides_.sample + q * strides_.frame);
        const int64_t values = sample * strides_.pixels * shape_.c_out;
        void* output = moved(output_of(step), values * element_bytes(config.output));
        void* sums = moved(tensors_.sums, values * 4);
        const std::span<void* const> source(&sums, config.source == Source::None ? 0 : 1);
        QsliceWork work{.step = step,
                        .launch = plan_launch(config, image,
                                              {.activation = {&activation, 1},
                                               .filter = moved(tensors_.filter, q * strides_.filter_slice),
                                               .filter_taps = shape_.taps(),
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
    Conv2dProblemShape shape_;
    QsliceTensors tensors_;
    Strides strides_;
};

}  // namespace

std::vector<QsliceWork> plan_qslice(const Conv2dConfig& base, const Conv2dProblemShape& shape,
                                    const QsliceTensors& tensors, QsliceForm form, Finisher finisher) {
    std::vector<QsliceWork> steps;
    if (shape.empty()) return steps;
    const QslicePlan plan(base, shape, tensors);
    steps.reserve(static_cast<size_t>((shape.n + 1) * shape.q + 1));
    const bool pass_finishes = tensors.source != nullptr || finisher == Finisher::Pass;
    for (int64_t q = 0; q < shape.q; ++q) {
        const bool finishes = q + 1 == shape.q && !pass_finishes;
        const QsliceStep sum = q == 0 ? QsliceStep::FirstSum : finishes ? QsliceStep::LastSum : QsliceStep::NextSum;
        for (int64_t sample = 0; sample < shape.n; ++sample) {
            steps.push_back(plan.conv(form == QsliceForm::RoundedSlices ? QsliceStep::Slice : sum, sample, q));
        }
        if (form == QsliceForm::RoundedSlices)
            steps.push_back({.step = QsliceStep::Accumulate, .first = q == 0, .launch = {}});
    }
    if (form == QsliceForm::RoundedSlices || pass_finishes) steps.push_back({.step = QsliceStep::Finish, .launch = {}});
    return steps;
}

}  // namespace kinetograph::sm100
