#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/tools/kinetograph/conv_timing.hpp>

#include <cmath>
#include <random>

namespace kinetograph::cli {
namespace {

using conv::ConvProblem;

constexpr std::uint64_t kColdBytes = 256U << 20U;  // more than any known cache of a GPU or CPU holds
constexpr std::uint64_t kPattern = 16U << 20U;     // bytes of random values, repeated

std::vector<float> draw(std::int64_t count, double scale, std::mt19937_64& random) {
    std::uniform_real_distribution<float> uniform(static_cast<float>(-scale), static_cast<float>(scale));
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(random);
    return values;
}

/// Frames of `turns` tensors, one after another.
class Tensors {
  public:
    static Result<Tensors> create(accel::Device& device, std::string_view name, std::int64_t turns, std::int64_t frames,
                                  std::uint64_t frame_bytes) {
        Tensors tensors;
        tensors.frames_ = frames;
        tensors.frame_bytes_ = (frame_bytes + 255) / 256 * 256;
        const auto bytes = static_cast<std::uint64_t>(turns * frames) * tensors.frame_bytes_;
        KG_TRY(tensors.memory_, device.allocate(name, std::max<std::uint64_t>(bytes, 256)));
        return tensors;
    }
    std::vector<std::byte*> frames(std::int64_t turn) const {
        std::vector<std::byte*> frames;
        for (std::int64_t i = 0; i < frames_; ++i)
            frames.push_back(memory_->data() + static_cast<std::uint64_t>(turn * frames_ + i) * frame_bytes_);
        return frames;
    }
    std::vector<const std::byte*> readable(std::int64_t turn) const {
        const auto writable = frames(turn);
        return {writable.begin(), writable.end()};
    }
    Result<void> fill(accel::Stream& stream, std::span<const std::byte> pattern) const {
        for (std::uint64_t at = 0; at < memory_->bytes(); at += pattern.size()) {
            const auto part = pattern.first(std::min<std::uint64_t>(pattern.size(), memory_->bytes() - at));
            KG_CHECK(stream.upload(memory_->data() + at, part));
        }
        return {};
    }

  private:
    std::unique_ptr<accel::Memory> memory_;
    std::int64_t frames_ = 0;
    std::uint64_t frame_bytes_ = 0;
};

std::vector<std::byte> random_pattern(tensor::DType dtype, std::uint64_t bytes, std::mt19937_64& random) {
    const auto count = static_cast<std::int64_t>(bytes / tensor::bytes_per_element(dtype));
    std::vector<std::byte> pattern(static_cast<std::size_t>(count) * tensor::bytes_per_element(dtype));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < count; ++i) conv::store_element(pattern.data(), i, dtype, uniform(random));
    return pattern;
}

std::vector<std::byte*> every(std::int64_t step, const std::vector<std::byte*>& frames) {
    std::vector<std::byte*> some;
    for (std::size_t i = 0; i < frames.size(); i += static_cast<std::size_t>(step)) some.push_back(frames[i]);
    return some;
}

/// A convolution with the tensors that its launches use in turn.
class Row {
  public:
    static Result<Row> create(accel::Device& device, const ConvProblem& problem, const ConvTimingOptions& options) {
        std::mt19937_64 random(1);
        Row row;
        row.frame_step_ = options.frame_step;
        row.in_place_ = options.in_place && problem.residual && problem.norm != conv::Norm::Instead;
        const double fan_in = static_cast<double>(problem.filter_elements()) / static_cast<double>(problem.filter.k);
        const std::vector<float> filter = draw(problem.filter_elements(), std::sqrt(3 / fan_in), random);
        const std::vector<float> bias = draw(problem.bias ? problem.filter.k : 0, 0.1, random);
        const std::vector<float> scales = draw(problem.channel_scales ? problem.filter.k : 0, 2, random);
        const std::vector<float> gamma = draw(problem.norm == conv::Norm::None ? 0 : problem.filter.k, 2, random);
        KG_TRY(row.convolution_,
               conv::Convolution::create(device, problem,
                                         {.filter = filter, .bias = bias, .gamma = gamma, .scales = scales},
                                         {.backend = options.backend}));
        KG_TRY(row.workspace_, device.allocate("workspace", std::max<std::uint64_t>(row.workspace_bytes(), 64)));
        KG_CHECK(row.make_tensors(device, problem, random));
        return row;
    }

    std::int64_t turns() const { return turns_; }
    std::uint64_t workspace_bytes() const { return convolution_->workspace_bytes(); }
    std::string_view backend() const { return convolution_->backend(); }
    accel::Stream& stream() const { return *stream_; }

    Result<void> enqueue() const {
        for (std::int64_t turn = 0; turn < turns_; ++turn) {
            const auto input = input_.readable(turn), residual = residual_.readable(turn);
            const auto output = every(frame_step_, (in_place_ ? residual_ : output_).frames(turn));
            const auto normed = normed_.frames(turn);
            KG_CHECK(convolution_->enqueue(*stream_, "conv",
                                           {.input = input,
                                            .output = output,
                                            .residual = residual,
                                            .workspace = workspace_->data(),
                                            .normed = normed}));
        }
        return {};
    }
    /// The row as a graph; null if the device cannot capture it.
    Result<std::shared_ptr<accel::Graph>> capture(const accel::DeviceInfo& device) const {
        if (!device.can_capture) return nullptr;
        KG_CHECK(stream_->begin_capture());
        auto enqueued = enqueue();
        auto graph = stream_->end_capture();
        KG_CHECK(std::move(enqueued));
        if (!graph && graph.error().code == ErrorCode::Unsupported) return nullptr;
        return graph;
    }

  private:
    Result<void> make_tensors(accel::Device& device, const ConvProblem& problem, std::mt19937_64& random) {
        KG_TRY(stream_, device.create_stream("conv"));
        const std::int64_t inputs = problem.n * problem.d, outputs = problem.n * problem.d_out();
        const auto each = static_cast<std::uint64_t>(inputs) * problem.input_frame_bytes() +
                          static_cast<std::uint64_t>(outputs) * problem.output_frame_bytes();
        const std::int64_t stored = in_place_ || problem.norm == conv::Norm::Instead ? 0 : outputs;
        turns_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(kColdBytes / each) + 1, 2, 32);
        struct Wanted {
            Tensors& tensors;
            std::string_view name;
            std::int64_t frames;
            std::uint64_t frame_bytes;
            tensor::DType dtype;
        };
        for (const Wanted& wanted :
             {Wanted{input_, "input", inputs, problem.input_frame_bytes(), problem.input.element},
              Wanted{residual_, "residual", problem.residual_frames(), problem.output_frame_bytes(),
                     problem.output.element},
              Wanted{output_, "output", stored * frame_step_, problem.output_frame_bytes(), problem.output.element},
              Wanted{normed_, "normed", problem.norm == conv::Norm::None ? 0 : outputs, problem.output_frame_bytes(),
                     problem.output.element}}) {
            KG_TRY(wanted.tensors, Tensors::create(device, wanted.name, turns_, wanted.frames, wanted.frame_bytes));
            const std::uint64_t pattern = std::clamp<std::uint64_t>(each, 4, kPattern);
            KG_CHECK(wanted.tensors.fill(*stream_, random_pattern(wanted.dtype, pattern, random)));
        }
        return {};
    }

    std::int64_t turns_ = 0, frame_step_ = 1;
    bool in_place_ = false;
    std::unique_ptr<accel::Memory> workspace_;
    Tensors input_, residual_, output_, normed_;
    std::unique_ptr<conv::Convolution> convolution_;
    std::unique_ptr<accel::Stream> stream_;  // last member: destroyed before the memory that its work uses
};

}  // namespace

Result<ConvTiming> time_convolution(accel::Device& device, const ConvProblem& problem,
                                    const ConvTimingOptions& options) {
    KG_TRY(auto row, Row::create(device, problem, options));
    KG_TRY(auto begin, device.create_event());
    KG_TRY(auto end, device.create_event());
    KG_TRY(auto graph, row.capture(device.info()));

    ConvTiming timing;
    timing.backend = row.backend();
    timing.in_turn = row.turns();
    timing.workspace_bytes = row.workspace_bytes();
    timing.replayed = graph != nullptr;
    constexpr int kWarmUp = 2;
    for (int i = 0; i < kWarmUp + options.repeats; ++i) {
        row.stream().record(begin);
        if (graph) {
            row.stream().replay(*graph);
        } else {
            KG_CHECK(row.enqueue());
        }
        row.stream().record(end);
        KG_CHECK(row.stream().synchronize());
        const auto from = begin->time(), to = end->time();
        if (!from || !to) return fail(ErrorCode::DeviceLost, "{}: events without time", device.info().name);
        if (i >= kWarmUp) timing.launches.add(to_seconds(*to - *from) / static_cast<double>(row.turns()));
    }
    return timing;
}

std::uint64_t least_traffic(const ConvProblem& problem) {
    const auto input = static_cast<std::uint64_t>(problem.n * problem.d) * problem.input_frame_bytes();
    const std::int64_t stored = problem.frames_out() * (problem.norm == conv::Norm::Beside ? 2 : 1);
    const auto filter =
        static_cast<std::uint64_t>(problem.filter_elements()) * tensor::bytes_per_element(problem.input.element);
    return input + filter +
           static_cast<std::uint64_t>(stored + problem.residual_frames()) * problem.output_frame_bytes();
}

}  // namespace kinetograph::cli
