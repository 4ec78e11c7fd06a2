#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <random>
#include <vector>

#include "gemm_sm100.hpp"
#include "gemm_sm90.hpp"

namespace kinetograph::conformance {
namespace {

using isa::MapMode;
using isa::TensorMapDesc;

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// Random bf16 operands, the fp64 product, and memory for the kernel's output.
struct Problem {
    Problem(uint32_t its_m, uint32_t its_n, uint32_t its_k)
        : m(its_m), n(its_n), k(its_k), a(m * k), b(n * k), d(m * n, 0xffff) {
        std::mt19937 dice(m * 31 + n * 7 + k);
        std::normal_distribution<float> normal;
        for (auto* operand : {&a, &b}) {
            for (uint16_t& value : *operand) value = static_cast<uint16_t>(to_bfloat16(normal(dice)));
        }
    }

    static TensorMapDesc map(std::vector<uint16_t>& values, uint64_t columns, uint64_t rows, uint32_t box_columns,
                             uint32_t box_rows, isa::Swizzle swizzle) {
        TensorMapDesc desc = isa::dense_map(MapMode::Tiled, Element::BF16, values.data(), 2, {columns, rows});
        desc.box = {box_columns, box_rows};
        desc.swizzle = swizzle;
        return desc;
    }

    /// |error| <= half a bf16 step of the result + the error of k fp32 additions of the products.
    void judge() const {
        for (uint32_t row = 0; row < m; ++row) {
            for (uint32_t column = 0; column < n; ++column) {
                double sum = 0, magnitude = 0;
                for (uint32_t i = 0; i < k; ++i) {
                    const double product = double{from_bfloat16(a[row * k + i])} * from_bfloat16(b[column * k + i]);
                    sum += product;
                    magnitude += std::abs(product);
                }
                const double allowed = std::abs(sum) * std::ldexp(1.0, -8) + magnitude * k * std::ldexp(1.0, -24);
                ASSERT_NEAR(from_bfloat16(d[row * n + column]), sum, allowed) << "row " << row << " column " << column;
            }
        }
    }

    uint32_t m, n, k;
    std::vector<uint16_t> a, b, d;
};

/// Runs the kernel under three schedules and checks each output.
void expect_product(host_model::Launch launch, Problem& problem, const std::function<void()>& kernel) {
    for (launch.seed = 0; launch.seed < 3; ++launch.seed) {
        std::fill(problem.d.begin(), problem.d.end(), uint16_t{0xffff});
        const auto outcome = host_model::run(launch, kernel);
        ASSERT_EQ(outcome.fault.value_or(""), "") << "seed " << launch.seed;
        problem.judge();
        if (testing::Test::HasFatalFailure()) FAIL() << "seed " << launch.seed;
    }
}

uint32_t ceil_div(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

template <class Kernel>
void run_sm90(Problem problem) {
    const TensorMapDesc a = Problem::map(problem.a, problem.k, problem.m, 64, 128, isa::Swizzle::Span128);
    const TensorMapDesc b =
        Problem::map(problem.b, problem.k, problem.n, 64, Kernel::kBN / Kernel::kCluster, isa::Swizzle::Span128);
    const TensorMapDesc d = Problem::map(problem.d, problem.n, problem.m, Kernel::kBN, 64, isa::Swizzle::None);
    const GemmSm90Params params{host_model::model_map(a), host_model::model_map(b), host_model::model_map(d),
                                ceil_div(problem.k, 64)};
    const uint32_t m_tiles = ceil_div(ceil_div(problem.m, 128), Kernel::kCluster) * Kernel::kCluster;
    host_model::Launch launch{.grid = {m_tiles, ceil_div(problem.n, Kernel::kBN)},
                              .cluster = {Kernel::kCluster},
                              .threads = Kernel::kThreads,
                              .shared_bytes = sizeof(typename Kernel::Shared),
                              .registers = 168};
    expect_product(launch, problem, [&] { Kernel::run(params); });
}

template <int kGroup>
void run_sm100(Problem problem, uint32_t groups) {
    using Kernel = GemmSm100<kGroup>;
    const TensorMapDesc a = Problem::map(problem.a, problem.k, problem.m, 64, 128, isa::Swizzle::Span128);
    const TensorMapDesc b = Problem::map(problem.b, problem.k, problem.n, 64, Kernel::kShare, isa::Swizzle::Span128);
    const TensorMapDesc d = Problem::map(problem.d, problem.n, problem.m, 64, 32, isa::Swizzle::Span128);
    const uint32_t m_tiles = ceil_div(problem.m, 128 * kGroup), tiles = m_tiles * ceil_div(problem.n, Kernel::kBN);
    const GemmSm100Params params{host_model::model_map(a),
                                 host_model::model_map(b),
                                 host_model::model_map(d),
                                 ceil_div(problem.k, 64),
                                 m_tiles,
                                 tiles};
    host_model::Launch launch{.grid = {groups * kGroup},
                              .cluster = {kGroup},
                              .threads = Kernel::kThreads,
                              .shared_bytes = sizeof(typename Kernel::Shared)};
    expect_product(launch, problem, [&] { Kernel::run(params); });
}

TEST(GemmSm90, AgreesWithFp64OnWholeTiles) { run_sm90<GemmSm90<96, 1, 3>>({128, 96, 256}); }
TEST(GemmSm90, AgreesWithFp64WhenEveryEdgeIsRagged) { run_sm90<GemmSm90<96, 1, 3>>({200, 104, 200}); }
TEST(GemmSm90, AgreesWithFp64WithOneBlockOfK) { run_sm90<GemmSm90<64, 1, 3>>({64, 64, 64}); }
TEST(GemmSm90, AgreesWithFp64WhenAPairSharesB) { run_sm90<GemmSm90<96, 2, 3>>({300, 96, 320}); }
TEST(GemmSm100, AgreesWithFp64WhenOneCtaWalksAllTiles) { run_sm100<1>({256, 192, 256}, 1); }
TEST(GemmSm100, AgreesWithFp64WhenEveryEdgeIsRagged) { run_sm100<1>({200, 104, 200}, 2); }
TEST(GemmSm100, AgreesWithFp64OnPairsOfCtas) { run_sm100<2>({512, 128, 320}, 2); }
TEST(GemmSm100, AgreesWithFp64OnAPairWhenEveryEdgeIsRagged) { run_sm100<2>({300, 136, 72}, 1); }

}  // namespace
}  // namespace kinetograph::conformance
