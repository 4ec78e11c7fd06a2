#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/isa/convert.hpp>

namespace kinetograph::cuda {
namespace {

using conv::ConvProblem;

uint16_t rounded(Element element, float value) {
    return static_cast<uint16_t>(element == Element::BF16 ? isa::bfloat16_bits(value) : isa::float16_bits(value));
}

}  // namespace

int64_t packed_filter_bytes(const ConvProblem& p) {
    const int64_t taps = upsample_of(p) == Upsample::SubPixel ? 4 * p.filter.q * 4 : p.taps();
    return p.filter.k * taps * padded_channels(p.c_in) * 2;
}

std::vector<std::byte> pack_filter(const ConvProblem& p, std::span<const float> filter) {
    std::vector<std::byte> packed(static_cast<size_t>(packed_filter_bytes(p)));
    const bool folds = upsample_of(p) == Upsample::SubPixel;
    const int64_t parities = folds ? 4 : 1, r = folds ? 2 : p.filter.r, s = folds ? 2 : p.filter.s;
    const int64_t channels = padded_channels(p.c_in);
    const auto given = [&](int64_t k, int64_t c, int64_t tap_q, int64_t tap_r, int64_t tap_s) {
        const int64_t row = ((k * p.c_in + c) * p.filter.q + tap_q) * p.filter.r + tap_r;
        return filter[static_cast<size_t>(row * p.filter.s + tap_s)];
    };
    const int64_t taps = p.filter.q * r * s;
    for (int64_t row = 0; row < parities * p.filter.k; ++row) {
        const int64_t parity = row / p.filter.k, k = row % p.filter.k;
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t tap_q = tap / (r * s), tap_r = tap / s % r, tap_s = tap % s;
            for (int64_t c = 0; c < p.c_in; ++c) {
                const float value = folds ? conv::sub_pixel_weight(p, filter, {parity, k, c, tap_q, tap_r, tap_s})
                                          : given(k, c, tap_q, tap_r, tap_s);
                const uint16_t bits = rounded(p.dtype, value);
                std::memcpy(packed.data() + ((row * taps + tap) * channels + c) * 2, &bits, 2);
            }
        }
    }
    return packed;
}

std::vector<float> winograd_filter(const ConvProblem& p, std::span<const float> filter) {
    const auto image = static_cast<size_t>(p.filter.r * p.filter.s), rows = static_cast<size_t>(p.filter.k * p.c_in);
    std::vector<float> all(rows * 4 * image);
    for (size_t row = 0; row < rows; ++row) {
        for (size_t tap = 0; tap < image; ++tap) {
            const float* g = filter.data() + row * 3 * image + tap;
            const float g0 = g[0], g1 = g[image], g2 = g[2 * image];
            const float products[] = {g0, g2, g0 + g1 + g2, g0 - g1 + g2};
            for (size_t i = 0; i < 4; ++i) all[(row * 4 + i) * image + tap] = products[i] / 2;
        }
    }
    return all;
}

std::vector<float> slice_filter(const ConvProblem& p, std::span<const float> filter, int64_t q) {
    const int64_t taps = p.filter.r * p.filter.s, rows = p.filter.k * p.c_in;
    std::vector<float> slice;
    slice.reserve(static_cast<size_t>(rows * taps));
    for (int64_t row = 0; row < rows; ++row) {
        const auto first = filter.begin() + (row * p.filter.q + q) * taps;
        slice.insert(slice.end(), first, first + taps);
    }
    return slice;
}

}  // namespace kinetograph::cuda
