#include <kinetograph/tools/kinetograph/picture_errors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace kinetograph::cli {
namespace {

constexpr double kRange = 2;  // from -1 to 1
constexpr std::int64_t kWindow = 11, kChannels = 3;

double decibels(double mean_square) { return 10 * std::log10(kRange * kRange / std::max(mean_square, 4e-14)); }

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) /
           static_cast<double>(std::max<std::size_t>(1, values.size()));
}

std::array<double, kWindow> gaussian() {
    std::array<double, kWindow> weights{};
    double sum = 0;
    for (std::int64_t i = 0; i < kWindow; ++i)
        sum += weights[i] = std::exp(-std::pow(i - kWindow / 2, 2) / (2 * 1.5 * 1.5));
    for (double& weight : weights) weight /= sum;
    return weights;
}

/// One channel's weighted means over the windows inside the picture: [height - 10, width - 10].
template <class Value>
std::vector<double> blurred(const Value& value, std::int64_t height, std::int64_t width) {
    static const std::array<double, kWindow> weights = gaussian();
    const std::int64_t inside_height = height - kWindow + 1, inside_width = width - kWindow + 1;
    std::vector<double> rows(height * inside_width, 0.0), result(inside_height * inside_width, 0.0);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < inside_width; ++x)
            for (std::int64_t i = 0; i < kWindow; ++i)
                rows[y * inside_width + x] += weights[i] * value(y * width + x + i);
    for (std::int64_t y = 0; y < inside_height; ++y)
        for (std::int64_t i = 0; i < kWindow; ++i)
            for (std::int64_t x = 0; x < inside_width; ++x)
                result[y * inside_width + x] += weights[i] * rows[(y + i) * inside_width + x];
    return result;
}

double ssim_of(std::span<const float> a, std::span<const float> b, std::int64_t channel, std::int64_t height,
               std::int64_t width) {
    constexpr double kC1 = 0.01 * kRange * 0.01 * kRange, kC2 = 0.03 * kRange * 0.03 * kRange;
    const auto at = [channel](std::span<const float> picture, std::int64_t pixel) {
        return static_cast<double>(picture[pixel * kChannels + channel]);
    };
    const auto blur = [&](const auto& value) { return blurred(value, height, width); };
    const auto mean_a = blur([&](std::int64_t i) { return at(a, i); });
    const auto mean_b = blur([&](std::int64_t i) { return at(b, i); });
    const auto squares_a = blur([&](std::int64_t i) { return at(a, i) * at(a, i); });
    const auto squares_b = blur([&](std::int64_t i) { return at(b, i) * at(b, i); });
    const auto products = blur([&](std::int64_t i) { return at(a, i) * at(b, i); });
    double sum = 0;
    for (std::size_t i = 0; i < mean_a.size(); ++i) {
        const double both = mean_a[i] * mean_b[i], squares = mean_a[i] * mean_a[i] + mean_b[i] * mean_b[i];
        const double variances = squares_a[i] + squares_b[i] - squares, covariance = products[i] - both;
        sum += (2 * both + kC1) * (2 * covariance + kC2) / ((squares + kC1) * (variances + kC2));
    }
    return sum / static_cast<double>(mean_a.size());
}

}  // namespace

void PictureErrors::add(std::span<const float> picture, std::span<const float> reference, std::int64_t height,
                        std::int64_t width) {
    double squares = 0;
    for (std::size_t i = 0; i < picture.size(); ++i)
        squares += std::pow(static_cast<double>(picture[i]) - reference[i], 2);
    mean_squares_.push_back(squares / static_cast<double>(picture.size()));
    if (height < kWindow || width < kWindow) return;
    std::array<double, kChannels> ssims{};
    for (std::int64_t c = 0; c < kChannels; ++c) ssims[c] = ssim_of(picture, reference, c, height, width);
    ssims_.insert(ssims_.end(), ssims.begin(), ssims.end());
}

double PictureErrors::psnr() const { return decibels(mean(mean_squares_)); }
double PictureErrors::worst_psnr() const { return decibels(std::ranges::max(mean_squares_)); }
double PictureErrors::ssim() const { return mean(ssims_); }

}  // namespace kinetograph::cli
