#include "conv_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/tests/kernels/fp64_conv.hpp>
#include <numeric>
#include <random>

namespace kinetograph::sm80 {

using test::half_step;
using test::rounded;
using test::silu;

namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

}  // namespace

ConvProblem ConvCase::problem() const {
    ConvProblem p = shape;
    p.bias = bias;
    p.residual = residual;
    p.beta = epilogue.beta;
    p.activation = epilogue.silu   ? conv::Activation::Silu
                   : epilogue.relu ? conv::Activation::Relu
                                   : conv::Activation::None;
    p.negative_slope = epilogue.negative_slope;
    p.norm = epilogue.norm;
    p.norm_activation = epilogue.norm_silu ? conv::Activation::Silu : conv::Activation::None;
    p.output = p.normed = epilogue.float32 ? Element::F32 : p.input.element;
    return p;
}

Frames::Frames(int64_t count, int64_t bytes, uint32_t seed)
    : bytes_(at(bytes)), slot_((at(bytes) + 2 * kGap - 1) / kGap * kGap), places_(at(count)) {
    std::iota(places_.begin(), places_.end(), size_t{0});
    std::shuffle(places_.begin(), places_.end(), std::mt19937(seed));
    storage_.resize(at(count) * slot_ / kGap + 1);
    poison();
}

void Frames::poison() { std::fill_n(bytes(), storage_.size() * kGap, uint8_t{0xff}); }

bool Frames::intact() const {
    std::vector<bool> inside(storage_.size() * kGap);
    for (size_t i = 0; i < places_.size(); ++i) {
        const auto begin = inside.begin() + static_cast<ptrdiff_t>(offset(i));
        std::fill(begin, begin + static_cast<ptrdiff_t>(bytes_), true);
    }
    for (size_t i = 0; i < inside.size(); ++i) {
        if (!inside[i] && bytes()[i] != 0xff) return false;
    }
    return true;
}

std::vector<std::byte*> Frames::addresses() {
    std::vector<std::byte*> all(size());
    for (size_t i = 0; i < size(); ++i) all[i] = reinterpret_cast<std::byte*>(frame(i));
    return all;
}

std::vector<const std::byte*> Frames::const_addresses() const {
    std::vector<const std::byte*> all(size());
    for (size_t i = 0; i < size(); ++i) all[i] = reinterpret_cast<const std::byte*>(frame(i));
    return all;
}

ConvNumbers::ConvNumbers(const ConvCase& conv)
    : conv_(conv), problem_(conv.problem()), value_(problem_.output.element) {
    exact_ = conv.numbers != Numbers::Random && !conv.epilogue.silu;
    draw();
    sum();
    if (conv.winograd == Winograd::Time) sum_transformed_magnitudes();
    if (conv.winograd == Winograd::Volume) sum_volume_magnitudes();
    finish();
}

void ConvNumbers::draw() {
    const ConvProblem& p = problem_;
    const Element stored = p.input.element;
    std::mt19937 dice(conv_.seed);
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> small(-4, 4);
    const auto number = [&] {
        return conv_.numbers == Numbers::Random ? normal(dice) : static_cast<float>(small(dice));
    };

    input = Frames(p.n * p.d, p.h * p.w * p.c_in * 2, conv_.seed);
    for (size_t frame = 0; frame < input.size(); ++frame) {
        for (size_t i = 0; i < at(p.h * p.w * p.c_in); ++i) {
            const size_t place = frame * at(p.h * p.w * p.c_in) + i;
            const float code = static_cast<float>((place * 2654435761u >> 16) % 17) - 8;
            store_value(stored, input.frame(frame), i, conv_.numbers == Numbers::Coded ? code : number());
        }
    }
    filter_.assign(at(p.filter.k * p.c_in * p.taps()), 0.0f);
    if (conv_.numbers == Numbers::Coded) {
        for (int64_t k = 0; k < p.filter.k; ++k)
            filter_[at((k * p.c_in + k * 7 % p.c_in) * p.taps() + k % p.taps())] = 1;
    } else {
        std::generate(filter_.begin(), filter_.end(), number);
    }
    packed_ = cuda::pack_filter(p, filter_);
    bias_.resize(conv_.bias ? at(p.filter.k) : 0);
    std::generate(bias_.begin(), bias_.end(), number);
    gamma_.resize(conv_.epilogue.norm == Norm::None ? 0 : at(p.filter.k));
    std::generate(gamma_.begin(), gamma_.end(), number);

    out_elements_ = p.empty() ? 0 : at(p.h_out() * p.w_out() * p.filter.k);
    const int64_t frames = p.empty() ? 0 : p.frames_out(),
                  bytes = static_cast<int64_t>(out_elements_) * element_bytes(value_);
    if (conv_.epilogue.norm != Norm::Instead) output = Frames(frames, bytes, conv_.seed + 1);
    if (conv_.epilogue.norm != Norm::None) normed = Frames(frames, bytes, conv_.seed + 2);
    residual = Frames(p.residual_frames(), bytes, conv_.seed + 3);
    if (conv_.addend) addend = Frames(frames, static_cast<int64_t>(out_elements_) * 4, conv_.seed + 4);
    for (size_t frame = 0; frame < at(frames); ++frame) {
        for (size_t i = 0; i < out_elements_; ++i) {
            if (frame < residual.size()) store_value(value_, residual.frame(frame), i, number());
            if (conv_.addend) store_value(Element::F32, addend.frame(frame), i, number());
        }
    }
}

void ConvNumbers::sum() {
    const ConvProblem& p = problem_;
    const auto filters = at(p.filter.k), channels = at(p.c_in);
    // There the folded sums are rounded, not these.
    const bool folds = cuda::upsample_of(p) == cuda::Upsample::SubPixel || conv_.winograd != Winograd::None;
    std::vector<double> by_tap(filter_.size());  // [tap][c_in][c_out]
    for (size_t k = 0; k < filters; ++k) {
        for (size_t c = 0; c < channels; ++c) {
            for (size_t tap = 0; tap < at(p.taps()); ++tap) {
                const double given = filter_[(k * channels + c) * at(p.taps()) + tap];
                by_tap[(tap * channels + c) * filters + k] = folds ? given : rounded(p.input.element, given);
            }
        }
    }
    test::ConvSums all = test::convolve(
        p, [&](size_t frame, size_t index) { return load_value(p.input.element, input.frame(frame), index); }, by_tap);
    sums_ = std::move(all.sums);
    magnitudes_ = std::move(all.magnitudes);
}

/// In place of the sums' magnitudes those of F(2,3) along time, of which one output frame is
/// g0 (d0 - d2) + (g0 + g1 + g2)/2 (d1 + d2) + (g0 - g1 + g2)/2 (d2 - d1), and the other one likewise.
void ConvNumbers::sum_transformed_magnitudes() {
    const ConvProblem& p = problem_;
    const auto filters = at(p.filter.k), image = at(p.filter.r * p.filter.s), channels = at(p.c_in);
    std::fill(magnitudes_.begin(), magnitudes_.end(), 0.0);
    std::vector<double> transformed(image * channels * 4 * filters);  // [tap][c_in][|g0|, |g2| and both sums'][c_out]
    for (size_t row = 0; row < image * channels; ++row) {
        double* const to = transformed.data() + row * 4 * filters;
        for (size_t k = 0; k < filters; ++k) {
            const float* g = filter_.data() + (k * channels + row % channels) * at(p.taps()) + row / channels;
            const double g0 = g[0], g1 = g[image], g2 = g[2 * image];
            to[k] = std::abs(g0);
            to[filters + k] = std::abs(g2);
            to[2 * filters + k] = std::abs(g0 + g1 + g2);
            to[3 * filters + k] = std::abs(g0 - g1 + g2);
        }
    }
    const auto input_value = [&](int64_t n, int64_t t, int64_t y, int64_t x, size_t c) {
        if (t < 0 || t >= p.d || y < 0 || y >= p.h || x < 0 || x >= p.w) return 0.0;
        return load_value(p.input.element, input.frame(at(n * p.d + t)), at((y * p.w + x) * p.c_in) + c);
    };
    for (int64_t pixel = 0; pixel < p.frames_out() * p.h_out() * p.w_out(); ++pixel) {
        const int64_t x = pixel % p.w_out(), y = pixel / p.w_out() % p.h_out();
        const int64_t t = pixel / (p.w_out() * p.h_out()) % p.d_out(), n = pixel / (p.w_out() * p.h_out() * p.d_out());
        const int64_t d0 = t / 2 * 2 - p.pad.front;  // input frame of the pair's first tap
        for (size_t tap = 0; tap < image; ++tap) {
            const int64_t in_y = y - p.pad.top + static_cast<int64_t>(tap) / p.filter.s;
            const int64_t in_x = x - p.pad.left + static_cast<int64_t>(tap) % p.filter.s;
            for (size_t c = 0; c < channels; ++c) {
                double d[4];
                for (int64_t i = 0; i < 4; ++i) d[i] = input_value(n, d0 + i, in_y, in_x, c);
                const double outer = std::abs(t % 2 == 0 ? d[0] - d[2] : d[1] - d[3]);
                const double sum = std::abs(d[1] + d[2]) / 2, difference = std::abs(d[2] - d[1]) / 2;
                const double* const g = transformed.data() + (tap * channels + c) * 4 * filters;
                const double* const end = g + at(t % 2) * filters;
                double* const magnitudes = magnitudes_.data() + at(pixel) * filters;
                for (size_t k = 0; k < filters; ++k)
                    magnitudes[k] += end[k] * outer + g[2 * filters + k] * sum + g[3 * filters + k] * difference;
            }
        }
    }
}

/// The same for F(2,3) along all three axes: of every result, the magnitudes of its 27 products of operands and
/// filters, over all channels.
void ConvNumbers::sum_volume_magnitudes() {
    const ConvProblem& p = problem_;
    const auto filters = at(p.filter.k);
    std::fill(magnitudes_.begin(), magnitudes_.end(), 0.0);
    const auto along = [](double* d, size_t step) {
        const double d1 = d[step], d2 = d[2 * step];
        d[0] -= d2;
        d[step] = d1 + d2;
        d[2 * step] = d2 - d1;
        d[3 * step] = d1 - d[3 * step];
    };
    const auto filter_along = [](double* g, size_t step) {
        const double g0 = g[0], g1 = g[step], g2 = g[2 * step];
        g[step] = (g0 + g1 + g2) / 2;
        g[2 * step] = (g0 - g1 + g2) / 2;
        g[3 * step] = g2;
    };
    const auto everywhere = [](double* values, const auto& transform) {
        for (size_t i = 0; i < 16; ++i) transform(values + 4 * i, 1);
        for (size_t i = 0; i < 16; ++i) transform(values + i / 4 * 16 + i % 4, 4);
        for (size_t i = 0; i < 16; ++i) transform(values + i, 16);
    };
    std::vector<double> transformed(filters * at(p.c_in) * 64);
    for (size_t row = 0; row < filters * at(p.c_in); ++row) {
        double* g = transformed.data() + row * 64;
        for (size_t tap = 0; tap < 27; ++tap) g[tap / 9 * 16 + tap / 3 % 3 * 4 + tap % 3] = filter_[row * 27 + tap];
        everywhere(g, filter_along);
    }
    const int64_t h = (p.h_out() + 1) / 2, w = (p.w_out() + 1) / 2, pairs = p.d_out() / 2;
    for (int64_t cell = 0; cell < p.n * pairs * h * w; ++cell) {
        const int64_t x = cell % w * 2, y = cell / w % h * 2, t = cell / (w * h) % pairs * 2,
                      n = cell / (w * h * pairs);
        std::vector<double> sums(64 * filters);
        for (size_t c = 0; c < at(p.c_in); ++c) {
            double d[64] = {};
            for (int64_t i = 0; i < 64; ++i) {
                const int64_t in_t = t + i / 16 - p.pad.front, in_y = y + i / 4 % 4 - p.pad.top,
                              in_x = x + i % 4 - p.pad.left;
                if (in_t >= 0 && in_t < p.d && in_y >= 0 && in_y < p.h && in_x >= 0 && in_x < p.w)
                    d[i] = load_value(p.input.element, input.frame(at(n * p.d + in_t)),
                                      at((in_y * p.w + in_x) * p.c_in) + c);
            }
            everywhere(d, along);
            for (size_t k = 0; k < filters; ++k)
                for (size_t i = 0; i < 64; ++i)
                    sums[k * 64 + i] += std::abs(d[i] * transformed[(k * at(p.c_in) + c) * 64 + i]);
        }
        for (int64_t of = 0; of < 8; ++of) {
            const int64_t out_t = t + of / 4, out_y = y + of / 2 % 2, out_x = x + of % 2;
            if (out_y >= p.h_out() || out_x >= p.w_out()) continue;
            const int64_t pixel = ((n * p.d_out() + out_t) * p.h_out() + out_y) * p.w_out() + out_x;
            for (size_t i = 0; i < 64; ++i) {  // result 0 adds products 0 to 2, result 1 products 1 to 3
                const auto adds = [](int64_t result, size_t position) {
                    return at(result) <= position && position <= at(result) + 2;
                };
                if (!adds(of / 4, i / 16) || !adds(of / 2 % 2, i / 4 % 4) || !adds(of % 2, i % 4)) continue;
                for (size_t k = 0; k < filters; ++k) magnitudes_[at(pixel) * filters + k] += sums[k * 64 + i];
            }
        }
    }
}

/// The epilogue, and what rounding may change: `lost` of fp32 additions, half a step of the output, and, where the
/// filter was folded, half a step of every folded weight; with F(2,3) also of every transformed number.
void ConvNumbers::finish() {
    const ConvProblem& p = problem_;
    const double lost = static_cast<double>(p.taps() * p.c_in + 4) * std::ldexp(1.0, -24);
    const double folded = conv_.winograd == Winograd::Time                   ? 2.01 * half_step(p.input.element)
                          : conv_.winograd == Winograd::Volume               ? 3.01 * half_step(Element::F16)
                          : cuda::upsample_of(p) == cuda::Upsample::SubPixel ? half_step(p.input.element)
                                                                             : 0;
    expected_.resize(sums_.size());
    allowed_.resize(sums_.size());
    for (size_t i = 0; i < sums_.size(); ++i) {
        const size_t frame = i / out_elements_, element = i % out_elements_;
        double value = sums_[i];
        if (conv_.addend) value += load_value(Element::F32, addend.frame(frame), element);
        if (conv_.bias && !(p.carried && frame >= at(p.d))) value += bias_[i % at(p.filter.k)];
        const double before = value;
        if (conv_.epilogue.silu) value = silu(value);
        if (frame < residual.size())
            value += double{conv_.epilogue.beta} * load_value(value_, residual.frame(frame), element);
        if (conv_.epilogue.relu && value < 0) value *= conv_.epilogue.negative_slope;
        expected_[i] = value;
        // 1.1: the largest slope of SiLU.
        allowed_[i] = half_step(value_) * std::abs(value) * 1.001 +
                      1.1 * (lost + folded) * (magnitudes_[i] + std::abs(before)) + lost * std::abs(value) + 1e-6;
    }
    if (conv_.epilogue.norm == Norm::None) return;
    expected_norm_.resize(sums_.size());
    allowed_norm_.resize(sums_.size());
    for (size_t i = 0; i < sums_.size(); i += at(p.filter.k)) norm_pixel(i);
}

/// One pixel's norm, of the rounded values; any of them may have been rounded the other way.
void ConvNumbers::norm_pixel(size_t first) {
    const auto channels = at(problem_.filter.k);
    double squares = 0, error = 0;
    for (size_t c = 0; c < channels; ++c) {
        const double value = rounded(value_, expected_[first + c]);
        squares += value * value;
        error += std::pow(allowed_[first + c] + half_step(value_) * std::abs(value), 2);
    }
    const double length = std::max(std::sqrt(squares), 1e-12),
                 scale = std::sqrt(static_cast<double>(channels)) / length;
    for (size_t c = 0; c < channels; ++c) {
        const double value = rounded(value_, expected_[first + c]);
        double result = value * scale * gamma_[c];
        const double off = allowed_[first + c] + half_step(value_) * std::abs(value);
        double allowed = scale * std::abs(gamma_[c]) * off + std::abs(result) * (std::sqrt(error) / length + 1e-5);
        if (conv_.epilogue.norm_silu) {
            result = silu(result);
            allowed *= 1.1;
        }
        expected_norm_[first + c] = result;
        allowed_norm_[first + c] = allowed + half_step(value_) * std::abs(result) * 1.001 + 1e-6;
    }
}

TensorAddresses ConvNumbers::addresses() {
    return {.input = input.const_addresses(),
            .residual = residual.const_addresses(),
            .addend = addend.const_addresses(),
            .output = output.addresses(),
            .normed = normed.addresses()};
}

std::vector<conv::ConvLaunch> ConvNumbers::launches(const ConvConfig& config) {
    const TensorAddresses at = addresses();
    return conv_launches(config, problem_, at.tensors(),
                         {.filter = packed_.data(),
                          .bias = bias_.empty() ? nullptr : bias_.data(),
                          .gamma = gamma_.empty() ? nullptr : gamma_.data(),
                          .scales = nullptr},
                         at.addend);
}

void ConvNumbers::poison_outputs() {
    output.poison();
    normed.poison();
}

std::string ConvNumbers::judge() const {
    std::string wrong;
    if (conv_.epilogue.norm != Norm::Instead) wrong = judge_frames(output, expected_, allowed_, "output", exact_);
    if (wrong.empty() && conv_.epilogue.norm != Norm::None) {
        wrong = judge_frames(normed, expected_norm_, allowed_norm_, "normed", false);
    }
    return wrong;
}

std::string ConvNumbers::judge_runs(std::string_view kernel, uint64_t schedules,
                                    const std::function<std::string(uint64_t seed)>& run) {
    for (uint64_t seed = 0; seed < schedules; ++seed) {
        poison_outputs();
        std::string wrong = run(seed);
        if (wrong.empty()) wrong = judge();
        if (!wrong.empty()) return std::string(kernel) + ", seed " + std::to_string(seed) + ": " + wrong;
    }
    return "";
}

std::string ConvNumbers::judge_frames(const Frames& frames, const std::vector<double>& expected,
                                      const std::vector<double>& allowed, const char* name, bool exact) const {
    if (!frames.intact()) return std::string(name) + ": bytes outside the frames were written";
    const auto filters = at(problem_.filter.k);
    double error = 0, norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double found = load_value(value_, frames.frame(i / out_elements_), i % out_elements_);
        const double wanted = exact ? rounded(value_, expected[i]) : expected[i];
        if (!(std::abs(found - wanted) <= (exact ? 0.0 : allowed[i]))) {
            return std::string(name) + ": frame " + std::to_string(i / out_elements_) + " pixel " +
                   std::to_string(i % out_elements_ / filters) + " channel " + std::to_string(i % filters) + " is " +
                   std::to_string(found) + ", expected " + std::to_string(wanted) + " within " +
                   std::to_string(exact ? 0.0 : allowed[i]);
        }
        error += (found - expected[i]) * (found - expected[i]);
        norm += expected[i] * expected[i];
    }
    // One rounding to bf16 costs 1.65e-3 of the norm; folded weights and a norm of rounded values as much again each,
    // in quadrature 2.9e-3. F(2,3) rounds both factors of products whose squares, with frames that know nothing of each
    // other, are 5/3 of their sum's: sqrt(1 + 2 * 5/3) of one rounding, 3.4e-3; in quadrature with a norm's 3.8e-3.
    const bool again = cuda::upsample_of(problem_) == cuda::Upsample::SubPixel || conv_.epilogue.norm != Norm::None;
    const double most = conv_.winograd == Winograd::Time ? 4.6e-3 : again ? 3.5e-3 : 2.5e-3;
    if (norm > 0 && std::sqrt(error / norm) > most)
        return std::string(name) + ": relative norm of the error " + std::to_string(std::sqrt(error / norm));
    return "";
}

}  // namespace kinetograph::sm80
