#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_epilogue.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_loader.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_order.hpp>

/// Implicit-GEMM convolution on MI355X: M = output pixels of one frame, N = C_out, K = Q * R * S * C_in.
///
/// Four waves compute a BM x BN tile in four quadrants (half i of the rows, half j of the channels), each wave a
/// quarter of every quadrant. The two LDS stages hold k blocks in halves A0, A1, B0, B1. When all waves have read a
/// half into registers, the k block after next is loaded in its place:
///
///   block   waits for                     loads to LDS      reads from LDS      multiplies
///   1       k in LDS, reads done, all     A0 of k + 2       b1 of k             c00 += a0 b0
///   2                                     B0 of k + 2       a1 of k             c01 += a0 b1
///   3       A0, B0 of k + 1, reads, all   B1 of k + 2       a0 of k + 1         c10 += a1 b0
///   4                                     A1 of k + 2       b0 of k + 1         c11 += a1 b1
///
/// So loads of two k blocks are always in flight, and a wait leaves as many loads pending as two half tiles of each
/// operand have. Loads past the last k block read zeros from an empty descriptor, so that every count stays the same to
/// the end. Source: the four-wave schedule of AMD's CDNA4 GEMM articles and of HipKittens (FP8_4wave), with strict
/// waits.
namespace kinetograph::gfx950 {

template <class Config, class Observer = NoObserver>
class FourWaveConv {
  public:
    KG_DEVICE static void run(const FourWaveConvParams& params) {
        const uint32_t index = remap_to_xcd(isa::amd::workgroup_index().x,
                                            params.frames * params.tiles_m * params.tiles_n, params.xcd_chunk);
        const TilePlace tile = tile_place(index, params.tiles_m, params.tiles_n, params.group_m);
        FourWaveConvEpilogue<Config, Observer> epilogue(params, tile.frame, tile.m, tile.n);
        epilogue.prefetch();
        FourWaveConv conv(params, tile);
        uint32_t steps = conv.loader_.steps();
        conv.prologue();
        if constexpr (Config::kFault == ConvFault::DropsLastStep) steps -= 2;
        for (uint32_t step = 0; step < steps; step += 2) {
            conv.multiply_block<0>();
            conv.multiply_block<1>();
        }
        if constexpr (Config::kFault != ConvFault::NoDrain) isa::amd::wait_vector_memory<0>();
        isa::amd::sync_workgroup();  // the norm writes where the last fragments were read
        epilogue.finish(conv.sums_, conv.lds_);
    }

  private:
    static constexpr uint32_t kM = Config::kTilesM, kN = Config::kTilesN, kProducts = Config::kProducts;
    using Fragment = std::conditional_t<Config::kFp8, isa::amd::Packed32, Packed16>;

    KG_DEVICE FourWaveConv(const FourWaveConvParams& params, const TilePlace& tile)
        : loader_(params, tile.frame, tile.m, tile.n), lds_(isa::amd::allocate_lds<Config::kLdsBytes>()) {
        const Lanes<uint32_t> lane = isa::amd::lane_index();
        const uint32_t wave = isa::amd::wave_index();
        const Lanes<uint32_t> row = lane % 16u, group = lane / 16u;
        KG_UNROLL
        for (uint32_t i = 0; i < Config::kChunks / 4; ++i) {
            const Lanes<uint32_t> chunk = group + i * 4;
            const bool straight = Config::kFault == ConvFault::SwizzleMismatch;
            const auto place = straight ? chunk : swizzled_chunk<Config::kChunks>(row, chunk);
            const auto place_a = Config::kFault == ConvFault::WrongLaneMapping
                                     ? swizzled_chunk<Config::kChunks>(row, chunk ^ Lanes<uint32_t>(1u))
                                     : place;
            fragment_a_[i] = row * Config::kRowBytes + place_a * 16u + wave / 2 * (Config::kBM / 4 * Config::kRowBytes);
            fragment_b_[i] = row * Config::kRowBytes + place * 16u + wave % 2 * (Config::kBN / 4 * Config::kRowBytes);
        }
        KG_UNROLL
        for (auto& half : sums_) {
            KG_UNROLL
            for (auto& quadrant : half) {
                KG_UNROLL
                for (auto& row_of_tiles : quadrant) {
                    KG_UNROLL
                    for (Accumulator& sum : row_of_tiles) {
                        KG_UNROLL
                        for (uint32_t e = 0; e < 4; ++e) sum[e] = 0.0f;
                    }
                }
            }
        }
    }

    KG_DEVICE LdsPlace place_a(uint32_t stage, uint32_t half) const {
        return lds_ + (stage * Config::kStageBytes + half * Config::kHalfA);
    }
    KG_DEVICE LdsPlace place_b(uint32_t stage, uint32_t half) const {
        return lds_ + (stage * Config::kStageBytes + 2 * Config::kHalfA + half * Config::kHalfB);
    }

    /// Waits, in all waves, until all but the newest `kPending` loads have landed and the wave's own reads are done.
    template <uint32_t kPending, bool kBarrier = true>
    KG_DEVICE static void meet() {
        constexpr uint32_t kOneLess = Config::kFault == ConvFault::WaitsForOneLess ? 1 : 0;
        if constexpr (Config::kFault != ConvFault::NoWaitBeforeRead) {
            isa::amd::wait_vector_memory<kPending + kOneLess>();
        }
        if constexpr (Config::kFault != ConvFault::NoWaitBeforeOverwrite) isa::amd::wait_lds();
        if constexpr (kBarrier) isa::amd::barrier();
    }

    KG_DEVICE void prologue() {
        KG_UNROLL
        for (uint32_t stage = 0; stage < 2; ++stage) {
            loader_.load_a(0, place_a(stage, 0));
            loader_.load_b(0, place_b(stage, 0));
            loader_.load_b(1, place_b(stage, 1));
            loader_.load_a(1, place_a(stage, 1));
            loader_.advance();
        }
        meet<3 * Config::kCountA + 4 * Config::kCountB>();
        read<kM, Config::kRowBytes>(a_[0], place_a(0, 0), fragment_a_);
        meet<3 * Config::kCountA + 3 * Config::kCountB>();
        read<kN, Config::kRowBytes>(b_[0], place_b(0, 0), fragment_b_);
    }

    /// One k block, in stage kStage: the table above.
    template <uint32_t kStage>
    KG_DEVICE void multiply_block() {
        meet<kYounger>();
        loader_.load_a(0, place_a(kStage, 0));
        read<kN, Config::kRowBytes>(b_[1], place_b(kStage, 1), fragment_b_);
        multiply(sums_[0][0], a_[0], b_[0]);

        loader_.load_b(0, place_b(kStage, 0));
        read<kM, Config::kRowBytes>(a_[1], place_a(kStage, 1), fragment_a_);
        multiply(sums_[0][1], a_[0], b_[1]);

        meet<kYounger, Config::kFault != ConvFault::NoBarrierBetweenStages>();
        loader_.load_b(1, place_b(kStage, 1));
        read<kM, Config::kRowBytes>(a_[0], place_a(1 - kStage, 0), fragment_a_);
        multiply(sums_[1][0], a_[1], b_[0]);

        loader_.load_a(1, place_a(kStage, 1));
        read<kN, Config::kRowBytes>(b_[0], place_b(1 - kStage, 0), fragment_b_);
        multiply(sums_[1][1], a_[1], b_[1]);
        loader_.advance();
    }

    /// This wave's operands of half a tile. A lane holds row lane % 16 and, of the row's k, chunk lane / 16 (4 further
    /// for each next product, and for the second half of an fp8 operand).
    template <uint32_t kTiles, uint32_t kRowBytes>
    KG_DEVICE static void read(Fragment (&fragments)[kTiles][kProducts], LdsPlace place,
                               const Lanes<uint32_t> (&offsets)[Config::kChunks / 4]) {
        KG_UNROLL
        for (uint32_t tile = 0; tile < kTiles; ++tile) {
            KG_UNROLL
            for (uint32_t product = 0; product < kProducts; ++product) {
                const LdsPlace rows = place + tile * 16 * kRowBytes;
                if constexpr (Config::kFp8) {
                    fragments[tile][product] = isa::amd::join(isa::amd::read_lds_16(rows, offsets[2 * product]),
                                                              isa::amd::read_lds_16(rows, offsets[2 * product + 1]));
                } else {
                    fragments[tile][product] = isa::amd::read_lds_16(rows, offsets[product]);
                }
            }
        }
    }

    KG_DEVICE static void multiply(Accumulator (&sums)[kM][kN], const Fragment (&a)[kM][kProducts],
                                   const Fragment (&b)[kN][kProducts]) {
        KG_UNROLL
        for (uint32_t product = 0; product < kProducts; ++product) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {
                KG_UNROLL
                for (uint32_t n = 0; n < kN; ++n) {
                    // B is the first operand: the product is transposed, so a lane holds four channels of a pixel.
                    if constexpr (Config::kFp8) {
                        sums[m][n] = isa::amd::mfma_16x16x128_f8e4m3(b[n][product], a[m][product], sums[m][n]);
                    } else {
                        sums[m][n] = isa::amd::mfma_16x16x32<Config::kType>(b[n][product], a[m][product], sums[m][n]);
                    }
                }
            }
        }
    }

    static constexpr uint32_t kYounger = 2 * Config::kCountA + 2 * Config::kCountB;

    FourWaveConvLoader<Config> loader_;
    LdsPlace lds_;
    Lanes<uint32_t> fragment_a_[Config::kChunks / 4], fragment_b_[Config::kChunks / 4];
    Fragment a_[2][kM][kProducts], b_[2][kN][kProducts];
    Accumulator sums_[2][2][kM][kN];
};

}  // namespace kinetograph::gfx950
