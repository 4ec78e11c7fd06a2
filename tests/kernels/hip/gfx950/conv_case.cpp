#include "conv_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <kinetograph/tests/kernels/fp64_conv.hpp>
#include <kinetograph/tests/kernels/stored_values.hpp>
#include <numeric>
#include <random>

namespace kinetograph::gfx950 {
namespace {

using test::silu;

float rounded(Element element, double value) { return static_cast<float>(test::rounded(element, value)); }

constexpr uint16_t kPoison = 0xffff;  // NaN in bf16 and in fp16
constexpr size_t kGuard = 64;         // values after a frame that must not change

/// The output's type: fp16 for fp16, otherwise bf16.
Element output_element(Element element) { return element == Element::F16 ? Element::F16 : Element::BF16; }
uint16_t encode_output(Element element, double value) {
    return static_cast<uint16_t>(test::bits_of(output_element(element), value));
}
double decode_output(Element element, uint16_t bits) { return test::number_of(output_element(element), bits); }

/// The frames one after the other, and a guard after the last; and back.
std::vector<uint16_t> joined(const std::vector<std::vector<uint16_t>>& frames, size_t elements) {
    std::vector<uint16_t> block(frames.empty() ? 0 : frames.size() * elements + kGuard, kPoison);
    for (size_t i = 0; i < frames.size(); ++i) std::copy_n(frames[i].begin(), elements, block.begin() + i * elements);
    return block;
}
void part(const std::vector<uint16_t>& block, std::vector<std::vector<uint16_t>>& frames, size_t elements) {
    for (size_t i = 0; i < frames.size(); ++i) std::copy_n(block.begin() + i * elements, elements, frames[i].begin());
    if (!frames.empty()) std::copy_n(block.end() - kGuard, kGuard, frames.back().end() - kGuard);
}

/// Value `index` of an output frame.
double output_value(const ConvProblem& problem, const std::vector<uint16_t>& frame, size_t index) {
    return test::load_value(
        problem.output.element == Element::F32 ? Element::F32 : output_element(problem.input.element), frame.data(),
        index);
}

}  // namespace

std::string describe(const ConvCase& conv) {
    const ConvProblem& p = conv.problem;
    const auto number = [](int64_t value) { return std::to_string(value); };
    std::string text = std::string(element_name(p.input.element)) + " " + number(p.frames_out()) + "x" + number(p.h) +
                       "x" + number(p.w) + "x" + number(p.c_in);
    text += (p.upsample ? " upsampled" : "") + std::string(" -> ") + number(p.filter.k) + ", taps " +
            number(p.filter.q) + "x" + number(p.filter.r) + "x" + number(p.filter.s);
    text += ", stride " + number(p.stride.h) + "," + number(p.stride.w) + " dilation " + number(p.dilation.h) + "," +
            number(p.dilation.w);
    text +=
        " pad " + number(p.pad.top) + "," + number(p.pad.bottom) + "," + number(p.pad.left) + "," + number(p.pad.right);
    if (p.bias) text += " + bias";
    if (p.activation == Activation::Silu) text += ", silu";
    if (p.activation == Activation::Relu) text += ", relu";
    if (p.residual) text += ", + source";
    if (p.output.element == Element::F32) text += ", float32";
    if (p.channel_scales) text += ", scaled";
    if (p.norm != Norm::None) text += p.norm != Norm::Instead ? ", norm beside" : ", norm instead";
    return text;
}

ConvRun::ConvRun(const ConvCase& conv) : case_(conv), plan_(*plan_four_wave_conv(conv.problem, conv.overrides).plan) {
    make_data();
    if (conv.dense) place_images();
    filter_ = pack_filter(conv.problem, *plan_.kernel, weights_, FilterOrder::Qrsck);
    packed_bias_ = pack_channels(conv.problem, bias_);
    packed_gamma_ = pack_channels(conv.problem, gamma_);
    packed_scales_ = pack_channels(conv.problem, scales_);
}

void ConvRun::make_data() {
    const ConvProblem& p = case_.problem;
    std::mt19937 random(static_cast<uint32_t>(p.c_in * 131 + p.filter.k * 17 + p.h * 7 + p.filter.q));
    const bool whole = case_.data == Data::Integer;
    const auto draw = [&](Element element, float scale) {
        if (whole) return static_cast<float>(static_cast<int>(random() % 9) - 4);
        return rounded(element, scale * (static_cast<float>(random() % 2001) / 1000.0f - 1.0f));
    };
    inputs_.resize(case_.input_frames);
    images_.resize(case_.input_frames);
    const size_t bytes = p.input.element == Element::F8E4M3 ? 1 : 2;
    for (int64_t frame = 0; frame < case_.input_frames; ++frame) {
        auto& values = inputs_[frame];
        values.resize(p.h * p.w * p.c_in);
        images_[frame].resize(values.size() * bytes);
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = draw(p.input.element, 1.0f);
            if (case_.data == Data::Indexed) {
                const auto pixel = static_cast<int64_t>(i) / p.c_in, c = static_cast<int64_t>(i) % p.c_in;
                const int64_t code = frame * 7919 + pixel / p.w * 131 + pixel % p.w * 17 + c;
                values[i] = rounded(p.input.element, static_cast<float>(code % 251 + 1) / 16.0f);
            }
            test::store_value(p.input.element, images_[frame].data(), i, values[i]);
        }
    }
    const int64_t depth = p.filter.q * p.filter.r * p.filter.s * p.c_in;
    weights_.resize(depth * p.filter.k);
    const float scale = 1.0f / std::sqrt(static_cast<float>(depth) / 3);
    for (float& weight : weights_) weight = draw(p.input.element, p.input.element == Element::F8E4M3 ? 0.25f : scale);
    if (case_.data == Data::Indexed) {  // output channel k copies one tap and channel of the input
        std::fill(weights_.begin(), weights_.end(), 0.0f);
        for (int64_t k = 0; k < p.filter.k; ++k) weights_[(k * 37 + 11) % depth * p.filter.k + k] = 1.0f;
    }
    if (p.bias) bias_.resize(p.filter.k);
    for (float& value : bias_) value = draw(Element::BF16, 1.0f);
    if (p.channel_scales) scales_.resize(p.filter.k);
    for (float& value : scales_) value = draw(Element::BF16, 1.0f);
    if (p.norm != Norm::None) gamma_.resize(p.filter.k);
    for (float& value : gamma_) value = draw(Element::BF16, 1.0f);
    if (p.residual) source_.resize(p.frames_out());
    for (auto& frame : source_) {
        frame.resize(p.h_out() * p.w_out() * p.filter.k);
        for (uint16_t& value : frame) value = encode_output(p.input.element, draw(p.input.element, 1.0f));
    }
}

void ConvRun::place_images() {
    constexpr size_t kGap = 32;
    const size_t bytes = images_.front().size(), pitch = (bytes + kGap + 15) / 16 * 16;
    image_block_.assign(images_.size() * pitch, std::byte{0xff});
    for (size_t i = 0; i < images_.size(); ++i)
        std::copy_n(images_[i].begin(), bytes, image_block_.begin() + i * pitch);
}

host_model::WaveOutcome ConvRun::run(uint64_t seed, const host_model::ModelKernel* kernel) {
    const ConvProblem& p = case_.problem;
    const size_t elements = p.output_frame_bytes() / sizeof(uint16_t), splits = case_.overrides.splits;
    output_.assign(p.norm != Norm::Instead ? p.frames_out() * splits : 0, Frame(elements + kGuard, kPoison));
    normed_.assign(p.norm != Norm::None ? p.frames_out() : 0, Frame(elements + kGuard, kPoison));
    std::vector<const void*> input, source;
    std::vector<void*> output, normed;
    for (int64_t t = 0; t < p.frames_out(); ++t) {
        for (int64_t q = 0; q < p.filter.q; ++q) {
            const int64_t frame = t + 1 - p.filter.q + q;
            const bool exists = frame >= 0 && frame < case_.input_frames;
            input.push_back(!exists       ? nullptr
                            : case_.dense ? image_block_.data() + frame * (image_block_.size() / images_.size())
                                          : images_[frame].data());
        }
    }
    // The parts of K lie one after the other, frame by frame, in one block.
    std::vector<uint16_t> parts(splits > 1 ? splits * p.frames_out() * (elements + kGuard) : 0, kPoison);
    for (int64_t t = 0; t < p.frames_out() && p.norm != Norm::Instead; ++t)
        output.push_back(splits > 1 ? parts.data() + t * (elements + kGuard) : output_[t].data());
    for (auto& frame : normed_) normed.push_back(frame.data());
    for (auto& frame : source_) source.push_back(frame.data());
    std::vector<uint16_t> blocks[3];
    if (case_.dense) {
        blocks[0] = joined(output_, elements), blocks[1] = joined(normed_, elements);
        blocks[2] = joined(source_, elements);
        for (size_t t = 0; t < output.size(); ++t) output[t] = blocks[0].data() + t * elements;
        for (size_t t = 0; t < normed.size(); ++t) normed[t] = blocks[1].data() + t * elements;
        for (size_t t = 0; t < source.size(); ++t) source[t] = blocks[2].data() + t * elements;
    }
    const ConvAddresses addresses{.input = input,
                                  .output = output,
                                  .split_bytes = p.frames_out() * (elements + kGuard) * sizeof(uint16_t),
                                  .source = source,
                                  .normed = normed,
                                  .filter = filter_.data(),
                                  .bias = packed_bias_.data(),
                                  .gamma = packed_gamma_.data(),
                                  .scales = p.channel_scales ? packed_scales_.data() : nullptr};
    host_model::WaveOutcome total;
    workgroups_ = 0;
    if (kernel == nullptr) kernel = host_model::find_model_kernel(plan_.kernel->name);
    for (const FourWaveConvLaunch& launch : launches(plan_, addresses)) {
        const host_model::WaveOutcome outcome = host_model::launch_waves(
            *kernel, {.grid = {launch.workgroups}, .seed = seed, .threads = 2}, &launch.params);
        total.matrix_products += outcome.matrix_products;
        workgroups_ += launch.workgroups;
        total.lds_reads += outcome.lds_reads;
        total.lds_read_conflicts += outcome.lds_read_conflicts;
        total.loads_to_lds += outcome.loads_to_lds;
        if (outcome.fault && !total.fault) total.fault = outcome.fault;
    }
    if (case_.dense) {
        part(blocks[0], output_, elements);
        part(blocks[1], normed_, elements);
    }
    if (splits > 1) add_parts(parts);
    return total;
}

void ConvRun::add_parts(const std::vector<uint16_t>& parts) {
    const size_t elements = case_.problem.output_frame_bytes() / sizeof(uint16_t), pitch = elements + kGuard;
    const size_t frames = case_.problem.frames_out(), splits = case_.overrides.splits;
    output_.resize(frames);
    for (size_t t = 0; t < frames; ++t) {
        std::copy_n(parts.begin() + t * pitch, pitch, output_[t].begin());
        for (size_t part = 1; part < splits; ++part) {
            const uint16_t* from = parts.data() + (part * frames + t) * pitch;
            for (size_t i = 0; i < elements; i += 2) {
                float sum = 0, further = 0;
                std::memcpy(&sum, output_[t].data() + i, sizeof sum);
                std::memcpy(&further, from + i, sizeof further);
                sum += further;
                std::memcpy(output_[t].data() + i, &sum, sizeof sum);
            }
            if (!std::all_of(from + elements, from + pitch, [](uint16_t v) { return v == kPoison; }))
                output_[t].back() = 0;  // compare() reports it
        }
    }
}

const std::vector<double>& ConvRun::wanted() const {
    if (!wanted_.empty()) return wanted_;
    const ConvProblem& p = case_.problem;
    const std::vector<double> weights(weights_.begin(), weights_.end());
    const auto value = [&](size_t frame, size_t index) {
        return frame < inputs_.size() ? double{inputs_[frame][index]} : 0.0;
    };
    wanted_ = test::convolve(p, value, weights).sums;
    for (size_t i = 0; i < wanted_.size(); ++i) {
        const size_t k = i % static_cast<size_t>(p.filter.k), elements = wanted_.size() / p.frames_out();
        double& sum = wanted_[i];
        if (p.channel_scales) sum *= scales_[k];
        if (p.bias) sum += bias_[k];
        if (p.activation == Activation::Silu) sum = silu(sum);
        if (p.residual) sum += p.beta * decode_output(p.input.element, source_[i / elements][i % elements]);
        if (p.activation == Activation::Relu && sum < 0) sum *= p.negative_slope;
    }
    return wanted_;
}

double ConvRun::exact_sum() const { return std::accumulate(wanted().begin(), wanted().end(), 0.0); }

std::string ConvRun::compare() const {
    const ConvProblem& p = case_.problem;
    if (wanted_norm_.empty() && p.norm != Norm::None) {
        const auto channels = static_cast<size_t>(p.filter.k);
        wanted_norm_ = wanted();
        for (double& value : wanted_norm_) value = rounded(output_element(p.input.element), value);
        for (size_t first = 0; first < wanted_norm_.size(); first += channels) {
            double squares = 0;
            for (size_t k = 0; k < channels; ++k) squares += std::pow(wanted_norm_[first + k], 2);
            const double scale = std::sqrt(static_cast<double>(channels)) / std::max(std::sqrt(squares), 1e-12);
            for (size_t k = 0; k < channels; ++k) {
                const double value = wanted_norm_[first + k] * scale * gamma_[k];
                wanted_norm_[first + k] = p.norm_activation == Activation::Silu ? silu(value) : value;
            }
        }
    }
    std::string wrong = p.norm != Norm::Instead ? compare_frames(output_, wanted(), "output") : "";
    return wrong.empty() && p.norm != Norm::None ? compare_frames(normed_, wanted_norm_, "normed") : wrong;
}

std::string ConvRun::compare_frames(const std::vector<Frame>& got, const std::vector<double>& want,
                                    const char* what) const {
    const ConvProblem& p = case_.problem;
    const bool exact = case_.data != Data::Random && p.activation != Activation::Silu && p.norm == Norm::None;
    const bool rounds = exact && p.output.element != Element::F32;
    double error = 0, norm = 0, largest = 0, worst = -1;
    std::string worst_place;
    const auto elements = static_cast<size_t>(p.h_out() * p.w_out() * p.filter.k);
    for (size_t t = 0; t < got.size(); ++t) {
        for (size_t i = 0; i < elements; ++i) {
            const double value = output_value(p, got[t], i), exactly = want[t * elements + i];
            const double wanted = rounds ? rounded(output_element(p.input.element), exactly) : exactly;
            const double difference = std::isfinite(value) ? std::abs(value - wanted) : INFINITY;
            error += difference * difference;
            norm += wanted * wanted;
            largest = std::max(largest, std::abs(wanted));
            if (difference <= worst) continue;
            worst = difference;
            const auto pixel = static_cast<int64_t>(i) / p.filter.k;
            worst_place = std::string(what) + " frame " + std::to_string(t) + " row " +
                          std::to_string(pixel / p.w_out()) + " column " + std::to_string(pixel % p.w_out()) +
                          " channel " + std::to_string(static_cast<int64_t>(i) % p.filter.k) + " is " +
                          std::to_string(value) + ", wanted " + std::to_string(wanted);
        }
        if (std::any_of(got[t].end() - kGuard, got[t].end(), [](uint16_t v) { return v != kPoison; })) {
            return "values after the end of the frame have changed";
        }
    }
    // One rounding of bf16 is 1.65e-3 of the norm (2^-11 / 2^-8 of that for fp16) and half an ulp of the largest value
    // at most; a norm rounds twice. A missing tap or column is twenty times that (kernels.md, section 8).
    // float32 keeps the errors of its sums, of 2^-24 a term.
    const double unit = p.output.element == Element::F32 ? 0x1p-17 : p.input.element == Element::F16 ? 0x1p-11 : 0x1p-8;
    // The four folded filters of an upsampling are rounded once more.
    const double relative = exact ? 0 : 0.65 * unit * (p.norm != Norm::None ? 1.5 : 1) * (is_folded(p) ? 1.5 : 1);
    const double absolute = exact ? 0 : unit * (p.norm != Norm::None || is_folded(p) ? 4 : 1) * largest;
    if (std::sqrt(error) <= relative * std::sqrt(norm) && worst <= absolute) return {};
    return "relative error " + std::to_string(std::sqrt(error / norm)) + ", at worst " + worst_place;
}

}  // namespace kinetograph::gfx950
