// A convolution in fp64, straight from its definition: what the tests of every chip compare with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <kinetograph/kernels/conv/problem.hpp>
#include <span>
#include <vector>

namespace kinetograph::test {

struct ConvSums {
    std::vector<double> sums, magnitudes;  ///< [frame][pixel][c_out]; magnitudes: sums of |value * weight|
    std::vector<double> slices;            ///< the same, sums over temporal taps of |a tap's sum|
};

/// value(frame, index): element `index` of the stored [h, w, c_in] image of input frame n * d + t, which is not asked
/// for frames in the padding. weights: [q][r][s][c_in][c_out]. An upsampling is that of the definition: nothing is
/// folded.
template <class Value>
ConvSums convolve(const conv::ConvProblem& p, const Value& value, std::span<const double> weights) {
    const auto filters = static_cast<size_t>(p.filter.k), channels = static_cast<size_t>(p.c_in);
    const int64_t scale = p.upsample ? 2 : 1, image = p.filter.r * p.filter.s;
    const int64_t pixels = p.empty() ? 0 : p.frames_out() * p.h_out() * p.w_out();
    ConvSums all;
    for (auto* values : {&all.sums, &all.magnitudes, &all.slices})
        values->assign(static_cast<size_t>(pixels) * filters, 0.0);
    std::vector<double> before(filters);  // the sums when the current temporal tap began
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        const int64_t x = pixel % p.w_out(), y = pixel / p.w_out() % p.h_out();
        const int64_t t = pixel / (p.w_out() * p.h_out()) % p.d_out(), n = pixel / (p.w_out() * p.h_out() * p.d_out());
        double* const sum = all.sums.data() + static_cast<size_t>(pixel) * filters;
        double* const magnitude = all.magnitudes.data() + static_cast<size_t>(pixel) * filters;
        for (int64_t tap = 0; tap < p.taps(); ++tap) {
            if (tap % image == 0) std::copy_n(sum, filters, before.begin());
            const int64_t in_t = t * p.stride.d - p.pad.front + tap / image * p.dilation.d;
            const int64_t in_y = y * p.stride.h - p.pad.top + tap / p.filter.s % p.filter.r * p.dilation.h;
            const int64_t in_x = x * p.stride.w - p.pad.left + tap % p.filter.s * p.dilation.w;
            const bool inside =
                in_t >= 0 && in_t < p.d && in_y >= 0 && in_y < p.h_seen() && in_x >= 0 && in_x < p.w_seen();
            const auto place = static_cast<size_t>((in_y / scale * p.w + in_x / scale) * p.c_in);
            for (size_t c = 0; inside && c < channels; ++c) {
                const double factor = value(static_cast<size_t>(n * p.d + in_t), place + c);
                const double* const row = weights.data() + (static_cast<size_t>(tap) * channels + c) * filters;
                for (size_t k = 0; k < filters; ++k) {
                    sum[k] += factor * row[k];
                    magnitude[k] += std::abs(factor * row[k]);
                }
            }
            if (tap % image != image - 1) continue;
            double* const slice = all.slices.data() + static_cast<size_t>(pixel) * filters;
            for (size_t k = 0; k < filters; ++k) slice[k] += std::abs(sum[k] - before[k]);
        }
    }
    return all;
}

}  // namespace kinetograph::test
