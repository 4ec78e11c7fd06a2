#include <kinetograph/engine/profile/student.hpp>

#include <cmath>
#include <initializer_list>

namespace kinetograph::profile {
namespace {

/// The continued fraction of DLMF 8.17.22 by Lentz's method; it converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr double kSmallest = 1e-300, kPrecision = 1e-14;
    constexpr int kMostTerms = 10'000;
    const auto kept_from_zero = [](double value) { return std::abs(value) < kSmallest ? kSmallest : value; };
    double c = 1.0, d = 1.0 / kept_from_zero(1.0 - (a + b) * x / (a + 1.0)), fraction = d;
    for (int m = 1; m <= kMostTerms; ++m) {
        const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        double factor = 0.0;
        for (const double term : {even, odd}) {
            d = 1.0 / kept_from_zero(1.0 + term * d);
            c = kept_from_zero(1.0 + term / c);
            factor = c * d;
            fraction *= factor;
        }
        if (std::abs(factor - 1.0) < kPrecision) break;
    }
    return fraction;
}

/// I_x(a, b), regularized.
double incomplete_beta(double a, double b, double x) {
    if (x <= 0.0) return 0.0;
    if (x >= 1.0) return 1.0;
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

}  // namespace

double chance_of_t(double t, double degrees) {
    if (std::isinf(t)) return 0.0;
    // The difference of two large gamma functions would lose more than the normal distribution is off by.
    constexpr double kNormal = 1e7;
    if (degrees > kNormal) return std::erfc(std::abs(t) / std::sqrt(2.0));
    return incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
}

}  // namespace kinetograph::profile
