#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_fragments.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_loader.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>

/// The implicit-GEMM forward convolution for every GPU since sm_80: D[pixels, c_out] = A[pixels, taps * c_in] *
/// B[c_out, taps * c_in]^T, where A is never stored. 2-D and causal 3-D; one source for the chip and for host_model.
/// Chetlur et al. 2014, arXiv 1410.0759 (implicit GEMM).
namespace kinetograph::sm80 {

/// Grid: x = pixel tiles times filter tiles, y = output frames times parities; threads(kConfig) threads.
template <ConvConfig kConfig, ConvFault kFault = ConvFault::None>
struct ConvKernel : CheckedConvConfig<kConfig> {
    static constexpr ConvConfig c = kConfig;
    using Loader = ConvLoader<kConfig, kFault>;
    using Epilogue = ConvEpilogueStep<kConfig, kFault>;
    using Fragments = ConvFragments<kConfig, kFault>;
    static constexpr uint32_t kTilesM = Epilogue::kTilesM, kTilesN = Epilogue::kTilesN, kRowBytes = row_bytes(c);

    KG_DEVICE static void run(const ConvParams& params) {
        auto& smem = isa::shared_as<ConvSmem<kConfig>>();
        const ConvTile tile = ConvTile::of_this_cta<kConfig>(params);
        float sums[kTilesM][kTilesN][4] = {};
        {
            Loader loader(params, smem.ring, tile);
            multiply(loader, smem.ring, sums);
        }
        Epilogue(params, smem, tile).run(sums);
    }

  private:
    /// A ring of stages: while one is multiplied, the copies of the next stages - 1 are in flight.
    ///
    ///   block      0  1  2  3 ...      copies of block b go to stage b % stages;
    ///   copies  0 1  2  3  4  5        after the barrier of block b every thread's copies of b have landed, and
    ///   products   0  1  2  3          every warp has finished block b - 1, whose stage is filled next
    KG_DEVICE static void multiply(Loader& loader, ConvRing<kConfig>& smem, float (&sums)[kTilesM][kTilesN][4]) {
        constexpr uint32_t kAhead = c.stages - 1;
        constexpr uint32_t kPending = kFault == ConvFault::WaitsForOneGroupLess ? kAhead : kAhead - 1;
        const uint32_t blocks = loader.blocks();
        for (uint32_t block = 0; block < kAhead; ++block) {
            if (block < blocks) loader.load(block);
            commit();
        }
        const Fragments fragments(smem);
        uint32_t stage = 0, next = kFault == ConvFault::LoadsIntoReadStage ? 0 : kAhead;
        for (uint32_t block = 0; block < blocks; ++block) {
            if constexpr (kFault != ConvFault::NoWait) isa::cp_async::wait<kPending>();
            if constexpr (kFault != ConvFault::NoBarrier) isa::sync_cta();
            if (block + kAhead < blocks) loader.load(next);
            commit();
            multiply_stage(fragments, stage, sums);
            if (++stage == c.stages) stage = 0;
            if (++next == c.stages) next = 0;
        }  // the groups that no wait has covered are empty
    }

    KG_DEVICE static void commit() {
        if constexpr (kFault != ConvFault::NoCommit) isa::cp_async::commit();
    }

    KG_DEVICE static void multiply_stage(const Fragments& fragments, uint32_t stage,
                                         float (&sums)[kTilesM][kTilesN][4]) {
        const uint32_t a_stage = fragments.a + stage * c.bm * kRowBytes;
        const uint32_t b_stage = fragments.b + stage * c.bn * kRowBytes;
        KG_UNROLL
        for (uint32_t step = 0; step < c.bk / 16; ++step) {
            // A step is two chunks along k. The lane's chunk of step 0 has index 0 or 1, so XOR adds the step's chunks
            // to it, and XOR commutes with the swizzle.
            const uint32_t a_row = a_stage ^ (step * 32), b_row = b_stage ^ (step * 32);
            uint32_t a[kTilesM][4], b[kTilesN][2];
            isa::load_matrices(a, a_row, 16 * kRowBytes);
            isa::load_matrices(b, b_row, 16 * kRowBytes);
            isa::multiply_add<c.element>(sums, a, b);
        }
    }
};

}  // namespace kinetograph::sm80
