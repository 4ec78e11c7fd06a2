#include <kinetograph/kernels/cuda/sm80/conv_filter.hpp>

namespace kinetograph::sm80 {
namespace {

uint16_t rounded(Element element, float value) {
    return static_cast<uint16_t>(element == Element::BF16 ? isa::bfloat16_bits(value) : isa::float16_bits(value));
}

/// Of three taps on the doubled axis, those that read stored pixel `tap` (0 or 1) of the two under a position of this
/// parity: an even position has its first tap on the pixel before, an odd one its last tap on the pixel behind.
struct Taps {
    int64_t first, end;
};
constexpr Taps folded_taps(int64_t parity, int64_t tap) {
    const int64_t split = parity == 0 ? 1 : 2;
    return tap == 0 ? Taps{0, split} : Taps{split, 3};
}

}  // namespace

int64_t packed_filter_bytes(const ConvShape& shape) {
    const int64_t taps = shape.upsample == Upsample::SubPixel ? 4 * shape.q * 4 : shape.taps();
    return shape.c_out * taps * padded_channels(shape.c_in) * 2;
}

std::vector<uint16_t> pack_filter(const ConvShape& shape, const float* filter) {
    std::vector<uint16_t> packed(static_cast<size_t>(packed_filter_bytes(shape) / 2));
    const bool folds = shape.upsample == Upsample::SubPixel;
    const int64_t parities = folds ? 4 : 1, r = folds ? 2 : shape.r, s = folds ? 2 : shape.s;
    const int64_t channels = padded_channels(shape.c_in);
    const auto given = [&](int64_t k, int64_t c, int64_t tap_q, int64_t tap_r, int64_t tap_s) {
        return filter[(((k * shape.c_in + c) * shape.q + tap_q) * shape.r + tap_r) * shape.s + tap_s];
    };
    const auto folded = [&](int64_t parity, int64_t k, int64_t c, int64_t tap_q, int64_t tap_r, int64_t tap_s) {
        const Taps rows = folded_taps(parity / 2, tap_r), columns = folded_taps(parity % 2, tap_s);
        float sum = 0;
        for (int64_t row = rows.first; row < rows.end; ++row) {
            for (int64_t column = columns.first; column < columns.end; ++column) {
                sum += given(k, c, tap_q, row, column);
            }
        }
        return sum;
    };
    const int64_t taps = shape.q * r * s;
    for (int64_t row = 0; row < parities * shape.c_out; ++row) {
        const int64_t parity = row / shape.c_out, k = row % shape.c_out;
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t tap_q = tap / (r * s), tap_r = tap / s % r, tap_s = tap % s;
            for (int64_t c = 0; c < shape.c_in; ++c) {
                const float value =
                    folds ? folded(parity, k, c, tap_q, tap_r, tap_s) : given(k, c, tap_q, tap_r, tap_s);
                packed[static_cast<size_t>((row * taps + tap) * channels + c)] = rounded(shape.element, value);
            }
        }
    }
    return packed;
}

}  // namespace kinetograph::sm80
