#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_fragments.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_loader.hpp>
#include <kinetograph/kernels/isa/packed_math.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>

/// A 3x3x3 convolution for every GPU since sm_80 with two thirds of its multiplications: F(2,3) along time computes
/// two output frames from four products of transformed frames, each an implicit GEMM as in conv_kernel.hpp. The ring
/// holds frames as they are; fragments of two frames are added or subtracted between ldmatrix and mma.sync. That reads
/// shared memory twice per operand, which pays on chips whose matrix units are slow compared with it. Two accumulators
/// suffice for the four products, because a butterfly follows each half of them (winograd_loader.hpp). One source for
/// the chip and for host_model. Lavin and Gray 2016, arXiv 1509.09308 (F(2,3)).
namespace kinetograph::sm80 {

/// Grid: x = pixel tiles times filter tiles, y = pairs of output frames; threads(kConfig) threads.
template <ConvConfig kConfig, ConvFault kFault = ConvFault::None>
struct WinogradKernel : CheckedConvConfig<kConfig> {
    static constexpr ConvConfig c = kConfig;
    static_assert(c.frames == 2, "an operand is made of two frames");
    using Loader = WinogradLoader<kConfig, kFault>;
    using Epilogue = ConvEpilogueStep<kConfig, kFault>;
    using Sums = float[Epilogue::kTilesM][Epilogue::kTilesN][4];

    KG_DEVICE static void run(const WinogradParams& params) {
        auto& smem = isa::shared_as<ConvSmem<kConfig>>();
        ConvTile tile = ConvTile::of_this_cta<kConfig>(params.conv);
        const bool alone = (params.alone >> tile.frame & 1u) != 0;
        Sums p = {}, q = {};
        {
            Loader loader(params.conv, smem.ring, tile, alone);
            Ring ring(loader, smem.ring, (alone ? 3 : 4) * loader.blocks());
            KG_ROLLED
            for (uint32_t phase = 0; phase < 2; ++phase) {
                const bool sum = phase == 1 && kFault != ConvFault::WrongTransformSign;
                ring.multiply(loader.blocks(), sum ? kOne : kMinusOne, p);
                if (phase == 1 || !alone) ring.multiply(loader.blocks(), kMinusOne, q);
                if (kFault != ConvFault::NoButterfly || phase == 1) butterfly(p, q);
            }
        }
        tile.frame *= 2;
        Epilogue(params.conv, smem, tile).run(p);
        if (alone) return;
        ++tile.frame;
        Epilogue(params.conv, smem, tile).run(q);
    }

  private:
    static constexpr uint32_t kRowBytes = row_bytes(c);
    /// Two ones, two minus ones.
    static constexpr uint32_t kOne = c.element == Element::BF16 ? 0x3f803f80u : 0x3c003c00u,
                              kMinusOne = kOne | 0x80008000u;

    /// p, q <- p + q, p - q. After phase 1 these are the frames; of a frame alone only p is one.
    KG_DEVICE static void butterfly(Sums& p, Sums& q) {
        KG_UNROLL
        for (uint32_t i = 0; i < Epilogue::kTilesM; ++i) {
            KG_UNROLL
            for (uint32_t j = 0; j < Epilogue::kTilesN; ++j) {
                KG_UNROLL
                for (uint32_t e = 0; e < 4; ++e) {
                    const float sum = p[i][j][e] + q[i][j][e];
                    q[i][j][e] = p[i][j][e] - q[i][j][e];
                    p[i][j][e] = sum;
                }
            }
        }
    }

    /// The ring of ConvKernel::multiply, in several runs: while a stage is multiplied, the copies of the next stages -
    /// 1 are in flight, of this product or the next.
    class Ring {
      public:
        KG_DEVICE Ring(Loader& loader, ConvRing<kConfig>& smem, uint32_t blocks)
            : loader_(loader), fragments_(smem), left_(blocks) {
            for (uint32_t block = 0; block < kAhead; ++block) load(block);
        }

        /// The next `blocks` blocks: sums += (first frame + sign * second frame) * filters.
        KG_DEVICE void multiply(uint32_t blocks, uint32_t sign, Sums& sums) {
            for (uint32_t block = 0; block < blocks; ++block) {
                if constexpr (kFault != ConvFault::NoWait) isa::cp_async::wait<kAhead - 1>();
                if constexpr (kFault != ConvFault::NoBarrier) isa::sync_cta();
                load(next_);
                multiply_stage(sign, sums);
                if (++stage_ == c.stages) stage_ = 0;
                if (++next_ == c.stages) next_ = 0;
            }
        }

      private:
        static constexpr uint32_t kAhead = c.stages - 1;

        /// The next block, if there is one; a group of copies in any case, since waits count groups.
        KG_DEVICE void load(uint32_t stage) {
            if (left_ != 0) {
                --left_;
                loader_.load(stage);
            }
            isa::cp_async::commit();
        }

        KG_DEVICE void multiply_stage(uint32_t sign, Sums& sums) const {
            const uint32_t first = fragments_.a + stage_ * 2 * c.bm * kRowBytes;
            const uint32_t filters = fragments_.b + stage_ * c.bn * kRowBytes;
            KG_UNROLL
            for (uint32_t step = 0; step < c.bk / 16; ++step) {  // as in ConvKernel::multiply_stage
                uint32_t a[Epilogue::kTilesM][4], second[Epilogue::kTilesM][4], b[Epilogue::kTilesN][2];
                isa::load_matrices(a, first ^ (step * 32), 16 * kRowBytes);
                isa::load_matrices(second, (first + c.bm * kRowBytes) ^ (step * 32), 16 * kRowBytes);
                KG_UNROLL
                for (uint32_t i = 0; i < Epilogue::kTilesM; ++i) {
                    KG_UNROLL
                    for (uint32_t word = 0; word < 4; ++word)
                        a[i][word] = isa::multiply_add_values<c.element>(second[i][word], sign, a[i][word]);
                }
                isa::load_matrices(b, filters ^ (step * 32), 16 * kRowBytes);
                isa::multiply_add<c.element>(sums, a, b);
            }
        }

        Loader& loader_;
        const ConvFragments<kConfig, kFault> fragments_;
        uint32_t left_;  ///< blocks that are not loaded yet
        uint32_t stage_ = 0, next_ = kFault == ConvFault::LoadsIntoReadStage ? 0 : kAhead;
    };
};

}  // namespace kinetograph::sm80
