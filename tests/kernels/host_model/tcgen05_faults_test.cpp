#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>

#include "matrix_fixture.hpp"
#include "model_run.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    alignas(1024) uint8_t a[16384];
    alignas(1024) uint8_t b[8192];
    mbarrier::Barrier done, empty;
    uint32_t columns;
};

constexpr uint32_t kInstruction = tcgen05_instruction(Element::BF16, Element::BF16, 128, 32);

/// The common start of kernels with one fault: 128 threads, operands written, 32 columns allocated at `d`.
struct Ready {
    Shared& shared;
    uint32_t d;
    uint64_t a, b;

    void multiply(bool accumulate = false) const { tcgen05::mma<1, Element::BF16>(d, a, b, kInstruction, accumulate); }
    bool issuer() const { return thread_index() == 64; }
    uint32_t row() const { return (32 * warp_index() << 16) | d; }
    void end() const {
        tcgen05::fence_before_sync();
        sync_cta();
        if (warp_index() == 0) tcgen05::dealloc<1>(d, 32);
    }
};

struct Tcgen05Faults : testing::Test {
    std::function<void()> kernel(const std::function<void(const Ready&)>& body) const {
        return [this, body] {
            auto& shared = shared_as<Shared>();
            if (thread_index() == 0) {
                mbarrier::init(shared.done, 1);
                mbarrier::init(shared.empty, 128);
                fence_barrier_init();
            }
            if (warp_index() == 0) tcgen05::alloc<1>(&shared.columns, 32);
            write_tile(shared.a, a, 0, 128, Element::BF16, Swizzle::Span128, 1024, 128);
            write_tile(shared.b, b, 0, 32, Element::BF16, Swizzle::Span128, 1024, 128);
            fence_async_shared();
            sync_cta();
            tcgen05::fence_after_sync();
            const auto tile = [](const uint8_t* at) {
                return tcgen05_descriptor(
                    {.address = shared_address(at), .group_stride = 1024, .swizzle = Swizzle::Span128});
            };
            body({shared, load_shared(&shared.columns), tile(shared.a), tile(shared.b)});
        };
    }
    void expect(const std::string& sentence, const std::function<void(const Ready&)>& body) const {
        expect_fault({.threads = 128, .shared_bytes = sizeof(Shared)}, sentence, kernel(body));
    }
    Matrix a{128, 64, 1}, b{32, 64, 2};
};

TEST_F(Tcgen05Faults, NoneInTheKernelThatTheOthersAreMadeFrom) {
    expect_runs({.threads = 128, .shared_bytes = sizeof(Shared)}, kernel([](const Ready& ready) {
                    for (uint32_t lap = 0; lap < 3; ++lap) {
                        if (ready.issuer()) {
                            mbarrier::wait(ready.shared.empty, (lap & 1) ^ 1);
                            tcgen05::fence_after_sync();
                            ready.multiply();
                            tcgen05::commit<1>(ready.shared.done);
                        }
                        mbarrier::wait(ready.shared.done, lap & 1);
                        tcgen05::fence_after_sync();
                        uint32_t values[32];
                        tcgen05::load(values, ready.row());
                        tcgen05::wait_load();
                        tcgen05::fence_before_sync();
                        mbarrier::arrive(ready.shared.empty);
                    }
                    ready.end();
                }));
}

TEST_F(Tcgen05Faults, NoneWhenReadersFenceAgainAfterTheIssuerHasSeenTheirFirstFence) {
    expect_runs({.threads = 128, .shared_bytes = sizeof(Shared)}, kernel([](const Ready& ready) {
                    for (uint32_t lap = 0; lap < 2; ++lap) {
                        if (ready.issuer()) {
                            ready.multiply();
                            tcgen05::commit<1>(ready.shared.done);
                        }
                        mbarrier::wait(ready.shared.done, lap);
                        tcgen05::fence_after_sync();
                        uint32_t values[32];
                        tcgen05::load(values, ready.row());
                        tcgen05::wait_load();
                        tcgen05::fence_before_sync();
                        mbarrier::arrive(ready.shared.empty);
                        if (ready.issuer()) {
                            mbarrier::wait(ready.shared.empty, lap);
                            tcgen05::fence_after_sync();
                        }
                        sync_warp();
                        sync_cta();
                        tcgen05::fence_before_sync();  // of another tile
                        sync_cta();
                    }
                    ready.end();
                }));
}

TEST_F(Tcgen05Faults, ReadingAnAccumulatorBeforeItsCommitWasWaitedForIsCaught) {
    expect("tcgen05.ld at tcgen05_faults_test.cpp", [](const Ready& ready) {
        if (ready.issuer()) {
            ready.multiply();
            tcgen05::commit<1>(ready.shared.done);
        }
        sync_cta();
        tcgen05::fence_after_sync();
        uint32_t values[32];
        tcgen05::load(values, ready.row());
        tcgen05::wait_load();
        mbarrier::wait(ready.shared.done, 0);
        ready.end();
    });
}

TEST_F(Tcgen05Faults, AMissingFenceAfterTheWaitIsCaught) {
    expect("without tcgen05.fence::after_thread_sync since their product was waited for", [](const Ready& ready) {
        if (ready.issuer()) {
            ready.multiply();
            tcgen05::commit<1>(ready.shared.done);
        }
        mbarrier::wait(ready.shared.done, 0);
        uint32_t values[32];
        tcgen05::load(values, ready.row());
        tcgen05::wait_load();
        ready.end();
    });
}

/// A lap of product and load, then a second product into the same columns.
void second_product(const Ready& ready, bool wait, bool before, bool after) {
    uint32_t values[32];
    if (ready.issuer()) {
        ready.multiply();
        tcgen05::commit<1>(ready.shared.done);
    }
    mbarrier::wait(ready.shared.done, 0);
    tcgen05::fence_after_sync();
    tcgen05::load(values, ready.row());
    if (wait) tcgen05::wait_load();
    if (before) tcgen05::fence_before_sync();
    sync_cta();
    if (ready.issuer()) {
        if (after) tcgen05::fence_after_sync();
        ready.multiply();
        tcgen05::commit<1>(ready.shared.done);
    }
    mbarrier::wait(ready.shared.done, 1);
    tcgen05::wait_load();
    ready.end();
}

TEST_F(Tcgen05Faults, OverwritingColumnsWhoseLoadWasNotWaitedForIsCaught) {
    expect("still reads (tcgen05.wait::ld)", [](const Ready& ready) { second_product(ready, false, true, true); });
}
TEST_F(Tcgen05Faults, AMissingFenceBeforeTheSynchronisationIsCaught) {
    expect("without its tcgen05.fence::before_thread_sync",
           [](const Ready& ready) { second_product(ready, true, false, true); });
}
TEST_F(Tcgen05Faults, AMissingFenceAfterTheSynchronisationIsCaught) {
    expect("without tcgen05.fence::after_thread_sync",
           [](const Ready& ready) { second_product(ready, true, true, false); });
}

TEST_F(Tcgen05Faults, HandingColumnsOnWithoutWaitingForTheLoadIsCaught) {
    expect("has not been waited for (tcgen05.wait::ld)", [](const Ready& ready) {
        uint32_t values[32];
        if (ready.issuer()) {
            ready.multiply();
            tcgen05::commit<1>(ready.shared.done);
        }
        mbarrier::wait(ready.shared.done, 0);
        tcgen05::fence_after_sync();
        tcgen05::load(values, ready.row());
        mbarrier::arrive(ready.shared.empty);
    });
}

TEST_F(Tcgen05Faults, AProductWithoutAWaitIsCaughtAtExit) {
    expect("tcgen05.mma at tcgen05_faults_test.cpp", [](const Ready& ready) {
        if (ready.issuer()) ready.multiply();
        if (warp_index() == 3) sync_warp();
    });
}

TEST_F(Tcgen05Faults, ACommitThatArrivesAfterItsCtaHasExitedIsCaught) {
    expect_fault_in_some_schedule({.threads = 128, .shared_bytes = sizeof(Shared)}, "of a CTA that has exited",
                                  kernel([](const Ready& ready) {
                                      if (ready.issuer()) {
                                          ready.multiply();
                                          tcgen05::commit<1>(ready.shared.empty);  // no thread waits for this one
                                          tcgen05::commit<1>(ready.shared.done);
                                      }
                                      mbarrier::wait(ready.shared.done, 0);
                                      ready.end();
                                  }));
}

TEST_F(Tcgen05Faults, ALeakOfTensorMemoryIsCaught) {
    expect("the CTA exits without tcgen05.dealloc of 32 columns", [](const Ready&) {});
}

TEST_F(Tcgen05Faults, FreeingTwiceIsCaught) {
    expect("which are not allocated so", [](const Ready& ready) {
        ready.end();
        if (warp_index() == 0) tcgen05::dealloc<1>(ready.d, 32);
    });
}

TEST_F(Tcgen05Faults, FreeingColumnsThatAProductStillWritesIsCaught) {
    expect("tcgen05.dealloc at tcgen05_faults_test.cpp", [](const Ready& ready) {
        if (ready.issuer()) {
            ready.multiply();
            tcgen05::commit<1>(ready.shared.done);
        }
        ready.end();
    });
}

TEST_F(Tcgen05Faults, ColumnsOutsideTheAllocationAreCaught) {
    expect("are not inside one allocation", [](const Ready& ready) {
        if (ready.issuer()) tcgen05::mma<1, Element::BF16>(ready.d + 16, ready.a, ready.b, kInstruction, false);
    });
}

TEST_F(Tcgen05Faults, AnotherWarpsLanesAreCaught) {
    expect("reaches lanes", [](const Ready& ready) {
        uint32_t values[32];
        tcgen05::load(values, ready.d | (32 * ((warp_index() + 1) % 4)) << 16);
    });
}

TEST_F(Tcgen05Faults, ColumnsThatNoProductHasWrittenAreCaught) {
    expect("which no product has written", [](const Ready& ready) {
        uint32_t values[32];
        tcgen05::load(values, ready.row());
    });
}

TEST_F(Tcgen05Faults, AccumulatingOntoNothingIsCaught) {
    expect("accumulates onto columns that no product has written", [](const Ready& ready) {
        if (ready.issuer()) ready.multiply(true);
    });
}

TEST_F(Tcgen05Faults, AWgmmaDescriptorIsCaught) {
    expect("A: bits 46-48 of the descriptor are not the constant 0b001", [](const Ready& ready) {
        const OperandTile tile{
            .address = shared_address(ready.shared.a), .group_stride = 1024, .swizzle = Swizzle::Span128};
        if (ready.issuer())
            tcgen05::mma<1, Element::BF16>(ready.d, wgmma_descriptor(tile), ready.b, kInstruction, false);
    });
}

TEST_F(Tcgen05Faults, AWgmmaLayoutCodeIsCaught) {
    expect("layout code 1 is none of 0 (no swizzle), 2 (128B), 4 (64B), 6 (32B)", [](const Ready& ready) {
        const uint64_t wrong = (ready.b & ~(7ull << 61)) | 1ull << 61;
        if (ready.issuer()) tcgen05::mma<1, Element::BF16>(ready.d, ready.a, wrong, kInstruction, false);
    });
}

TEST_F(Tcgen05Faults, SwappedStridesAreCaught) {
    expect("group stride (SBO) 16 makes groups of 8 rows of 128 bytes overlap", [](const Ready& ready) {
        const OperandTile tile{.address = shared_address(ready.shared.a),
                               .group_stride = 16,
                               .swizzle = Swizzle::Span128,
                               .chunk_stride = 1024};
        if (ready.issuer())
            tcgen05::mma<1, Element::BF16>(ready.d, tcgen05_descriptor(tile), ready.b, kInstruction, false);
    });
}

TEST_F(Tcgen05Faults, AShapeThatDoesNotExistIsCaught) {
    expect("cta_group::1 has no shape M 256, N 32", [](const Ready& ready) {
        const uint32_t wrong = tcgen05_instruction(Element::BF16, Element::BF16, 256, 32);
        if (ready.issuer()) tcgen05::mma<1, Element::BF16>(ready.d, ready.a, ready.b, wrong, false);
    });
}

TEST_F(Tcgen05Faults, OperandsWithoutAProxyFenceAreCaught) {
    expect("has written without a fence.proxy.async since", [](const Ready& ready) {
        store_shared(ready.shared.a + thread_index() * 16, uint8_t{0});
        sync_cta();
        if (ready.issuer()) ready.multiply();
    });
}

TEST_F(Tcgen05Faults, AllocatingAfterRelinquishingIsCaught) {
    expect("allocates after tcgen05.relinquish_alloc_permit", [](const Ready& ready) {
        if (warp_index() != 0) return;
        tcgen05::relinquish<1>();
        tcgen05::alloc<1>(&ready.shared.columns, 32);
    });
}

TEST_F(Tcgen05Faults, MixedGroupsAreCaught) {
    expect_fault({.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Shared)},
                 "a kernel uses one of them", [] {
                     auto& shared = shared_as<Shared>();
                     tcgen05::alloc<1>(&shared.columns, 32);
                     tcgen05::dealloc<2>(shared.columns, 32);
                 });
}

TEST_F(Tcgen05Faults, APairThatFreesBeforeItsPeerHasAllocatedIsCaught) {
    const Launch pair{.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Shared)};
    expect_fault_in_some_schedule(pair, "its pair, has allocated: a cluster barrier is missing", [] {
        auto& shared = shared_as<Shared>();
        tcgen05::alloc<2>(&shared.columns, 64);
        sync_warp();
        tcgen05::dealloc<2>(load_shared(&shared.columns), 64);
    });
}

}  // namespace
}  // namespace kinetograph::isa
