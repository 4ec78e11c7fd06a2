#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>

#include "matrix_fixture.hpp"
#include "model_run.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    alignas(1024) uint8_t a[32768];
    alignas(1024) uint8_t b[32768];
    mbarrier::Barrier done;
    uint32_t columns;
};

struct Case {
    const char* name;
    int group;
    uint32_t m, n;
    Element element;
    Swizzle swizzle;
};

/// The row and column of D at lane `lane`, column `column` of the CTA of rank `rank`; false if there is none. PTX ISA,
/// tcgen05, data path layout organization, figures of layouts A, B, D and F.
bool element_at(const Case& test, uint32_t rank, uint32_t lane, uint32_t column, uint32_t& row, uint32_t& n) {
    row = lane;
    n = column;
    if (test.group == 2 && test.m == 256) row = rank * 128 + lane;
    if (test.group == 2 && test.m == 128) {
        row = rank * 64 + lane % 64;
        n = lane / 64 * (test.n / 2) + column;
        return column < test.n / 2;
    }
    if (test.m == 64) {
        row = lane / 32 * 16 + lane % 32;
        if (lane % 32 >= 16) return false;
    }
    return column < test.n;
}

class Tcgen05Shapes : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Each, Tcgen05Shapes,
                         testing::Values(Case{"Bf16M128N64", 1, 128, 64, Element::BF16, Swizzle::Span128},
                                         Case{"Bf16M128N96Swizzle64", 1, 128, 96, Element::BF16, Swizzle::Span64},
                                         Case{"HalfM64N32Swizzle32", 1, 64, 32, Element::F16, Swizzle::Span32},
                                         Case{"Bf16M128N16NoSwizzle", 1, 128, 16, Element::BF16, Swizzle::None},
                                         Case{"E4M3M128N32", 1, 128, 32, Element::F8E4M3, Swizzle::Span128},
                                         Case{"E5M2M128N32Swizzle64", 1, 128, 32, Element::F8E5M2, Swizzle::Span64},
                                         Case{"PairBf16M256N128", 2, 256, 128, Element::BF16, Swizzle::Span128},
                                         Case{"PairE4M3M256N64", 2, 256, 64, Element::F8E4M3, Swizzle::Span128},
                                         Case{"PairHalfM128N64", 2, 128, 64, Element::F16, Swizzle::Span128}),
                         [](const auto& test) { return test.param.name; });

/// Every thread checks its lane's row of the accumulator, 16 columns at a time.
void judge(const Case& test, const Matrix& a, const Matrix& b, uint32_t address) {
    const uint32_t width = test.group == 2 && test.m == 128 ? test.n / 2 : test.n;
    for (uint32_t column = 0; column < width; column += 16) {
        uint32_t values[16];
        tcgen05::load(values, (32 * warp_index() << 16) | (address + column));
        tcgen05::wait_load();
        for (uint32_t i = 0; i < 16; ++i) {
            uint32_t row = 0, n = 0;
            if (!element_at(test, cluster_rank(), thread_index(), column + i, row, n)) continue;
            ASSERT_EQ(std::bit_cast<float>(values[i]), static_cast<float>(2 * dot(a, row, b, n, 0, a.columns)));
        }
    }
}

template <int kGroup, Element kElement>
void multiply(const Case& test) {
    const uint32_t size = element_bytes(kElement);
    const uint32_t columns = (test.swizzle == Swizzle::None ? 32 : span_bytes(test.swizzle)) / size;
    const Matrix a(test.m, columns, 1), b(test.n, columns, 2);
    const uint32_t group_stride = test.swizzle == Swizzle::None ? 256 : 8 * span_bytes(test.swizzle);
    const Launch launch{.grid = {kGroup}, .cluster = {kGroup}, .threads = 128, .shared_bytes = sizeof(Shared)};
    expect_runs(launch, [&] {
        auto& shared = shared_as<Shared>();
        if (thread_index() == 0) {
            mbarrier::init(shared.done, 1);
            fence_barrier_init();
        }
        if (warp_index() == 1) tcgen05::alloc<kGroup>(&shared.columns, 128);
        const uint32_t rows = test.m / kGroup, share = test.n / kGroup, rank = cluster_rank();
        write_tile(shared.a, a, rank * rows, rows, kElement, test.swizzle, group_stride, 128);
        write_tile(shared.b, b, rank * share, share, kElement, test.swizzle, group_stride, 128);
        fence_async_shared();
        sync_cluster();
        tcgen05::fence_after_sync();
        const uint32_t d = load_shared(&shared.columns);
        if (warp_index() == 2 && rank == 0 && elect_one()) {
            const auto tile = [&](const uint8_t* at, uint32_t k) {
                return tcgen05_descriptor({.address = shared_address(at) + k,
                                           .group_stride = group_stride,
                                           .swizzle = test.swizzle,
                                           .chunk_stride = 128});
            };
            const uint32_t instruction = tcgen05_instruction(kElement, kElement, test.m, test.n);
            for (uint32_t lap = 0; lap < 2; ++lap) {  // twice: D = 2 * A * B^T
                for (uint32_t k = 0; k < columns * size; k += 32) {
                    tcgen05::mma<kGroup, kElement>(d, tile(shared.a, k), tile(shared.b, k), instruction, lap + k != 0);
                }
            }
            if (kGroup == 1) {
                tcgen05::commit<1>(shared.done);
            } else {
                tcgen05::commit_multicast<2>(shared.done, 3);
            }
        }
        mbarrier::wait(shared.done, 0);
        tcgen05::fence_after_sync();
        judge(test, a, b, d);
        tcgen05::fence_before_sync();
        sync_cluster();
        if (warp_index() == 1) {
            tcgen05::relinquish<kGroup>();
            tcgen05::dealloc<kGroup>(d, 128);
        }
    });
}

TEST_P(Tcgen05Shapes, TheAccumulatorIsTheProductInItsDocumentedLayout) {
    const Case& test = GetParam();
    const auto of_group = [&]<int kGroup>() {
        switch (test.element) {
            case Element::F16:
                return multiply<kGroup, Element::F16>(test);
            case Element::BF16:
                return multiply<kGroup, Element::BF16>(test);
            case Element::F8E4M3:
                return multiply<kGroup, Element::F8E4M3>(test);
            case Element::F8E5M2:
                return multiply<kGroup, Element::F8E5M2>(test);
            default:
                return;
        }
    };
    if (test.group == 1) {
        of_group.operator()<1>();
    } else {
        of_group.operator()<2>();
    }
}

TEST(TensorMemory, ColumnsComeBackForTheNextAllocation) {
    expect_runs({.threads = 32, .shared_bytes = sizeof(Shared)}, [] {
        auto& shared = shared_as<Shared>();
        for (int turn = 0; turn < 3; ++turn) {
            tcgen05::alloc<1>(&shared.columns, 256);
            sync_warp();
            const uint32_t first = load_shared(&shared.columns);
            sync_warp();
            tcgen05::alloc<1>(&shared.columns, 256);
            sync_warp();
            const uint32_t second = load_shared(&shared.columns);
            EXPECT_EQ(first ^ second, 256u);
            tcgen05::dealloc<1>(first, 256);
            tcgen05::dealloc<1>(second, 256);
        }
    });
}

}  // namespace
}  // namespace kinetograph::isa
