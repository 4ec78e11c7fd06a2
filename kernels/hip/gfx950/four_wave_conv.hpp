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
        TilePlace tile = workgroup_place(params, isa::amd::workgroup_index().x);
        // Divisions leave their result in vector registers, the same in every lane.
        tile = {isa::amd::read_first_lane(tile.frame), isa::amd::read_first_lane(tile.m),
                isa::amd::read_first_lane(tile.n), isa::amd::read_first_lane(tile.parity),
                isa::amd::read_first_lane(tile.split)};
        FourWaveConv conv(params, tile);
        uint32_t steps = conv.loader_.steps();
        conv.prologue();
        if constexpr (Config::kFault == ConvFault::DropsLastStep) steps -= 2;
        for (uint32_t step = 0; step < steps; step += 2) {
            conv.multiply_block<0>();
            conv.multiply_block<1>();
        }
        isa::amd::settle_products();
        if constexpr (Config::kFault != ConvFault::NoDrain) isa::amd::wait_vector_memory<0>();
        isa::amd::sync_workgroup();  // the norm writes where the last fragments were read
        FourWaveConvEpilogue<Config, Observer>(params, tile).finish(conv.sums_, conv.lds_);
    }

  private:
    enum class Part : uint8_t { A0, A1, B0, B1 };  ///< a half of one operand's tile
    static constexpr uint32_t kM = Config::kTilesM, kN = Config::kTilesN, kProducts = Config::kProducts;
    static constexpr uint32_t kTiles = kM * kN, kSlots = kTiles * kProducts,
                              kHalf = (kSlots + 1) / 2;  ///< of a quadrant
    using Loader = FourWaveConvLoader<Config>;
    using Fragment = std::conditional_t<Config::kFp8, isa::amd::Packed32, Packed16>;

    KG_DEVICE FourWaveConv(const FourWaveConvParams& params, const TilePlace& tile)
        : loader_(params, tile), lds_(isa::amd::allocate_lds<Config::kLdsBytes>()) {
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
            KG_UNROLL
            for (uint32_t base = 0; base < kBases; ++base) {
                fragment_a_[base][i] = (row + wave / Config::kWavesN * Config::kWaveRows) * Config::kRowBytes +
                                       place_a * 16u + base * Config::kStageBytes;
                fragment_b_[base][i] = (row + wave % Config::kWavesN * Config::kWaveColumns) * Config::kRowBytes +
                                       place * 16u + base * Config::kStageBytes;
                isa::amd::forget(fragment_a_[base][i]);
                isa::amd::forget(fragment_b_[base][i]);
            }
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
            load_all(Part::A0, stage);
            load_all(Part::B0, stage);
            load_all(Part::B1, stage);
            load_all(Part::A1, stage);
            loader_.advance();
        }
        meet<3 * Config::kCountA + 4 * Config::kCountB>();
        KG_UNROLL
        for (uint32_t i = 0; i < reads_of(Part::A0); ++i) read(Part::A0, 0, i);
        meet<3 * Config::kCountA + 3 * Config::kCountB>();
        KG_UNROLL
        for (uint32_t i = 0; i < reads_of(Part::B0); ++i) read(Part::B0, 0, i);
    }

    KG_DEVICE void load_all(Part part, uint32_t stage) {
        KG_UNROLL
        for (uint32_t i = 0; i < loads_of(part); ++i) {
            aim(part, i);
            leave_out(part, i);
            load(part, stage, i);
        }
    }

    /// One k block, in stage kStage: the table above.
    template <uint32_t kStage>
    KG_DEVICE void multiply_block() {
        meet<kYounger>();
        multiply_quadrant<0, 0, Part::A0, Part::B1, kStage>(kStage);
        multiply_quadrant<0, 1, Part::B0, Part::A1, kStage>(kStage);
        meet<kYounger, Config::kFault != ConvFault::NoBarrierBetweenStages>();
        multiply_quadrant<1, 0, Part::B1, Part::A0, kStage>(1 - kStage);
        multiply_quadrant<1, 1, Part::A1, Part::B0, kStage>(1 - kStage);
    }

    /// The products of quadrant (kI, kJ), and between them the loads of half kLoaded to stage kStage and the reads of
    /// half kRead from `stage`: both are spread over the products, the reads over the first half, so that they are done
    /// when the quadrant that needs them begins. In the last quadrant so are the loads, and the second half advances to
    /// the next k block. A product hides three instructions; more than that before one delays it.
    template <uint32_t kI, uint32_t kJ, Part kLoaded, Part kRead, uint32_t kStage>
    KG_DEVICE void multiply_quadrant(uint32_t stage) {
        constexpr bool kLast = kI == 1 && kJ == 1;
        constexpr uint32_t kLoads = loads_of(kLoaded), kReads = reads_of(kRead), kLoadSlots = kLast ? kHalf : kSlots;
        constexpr uint32_t kAimed = kLoadSlots >= 4 * kLoads ? 2 * kLoads : 0;
        KG_UNROLL
        for (uint32_t slot = 0; slot < kLoadSlots; ++slot) {
            KG_UNROLL
            for (uint32_t i = (2 * kReads * slot + kHalf) / (2 * kHalf);
                 i < (2 * kReads * (slot + 1) + kHalf) / (2 * kHalf) && i < kReads; ++i)
                read(kRead, stage, i);
            // Half a load's distance ahead of it, and a product later, if there are that many.
            KG_UNROLL
            for (uint32_t i = (2 * kLoads * slot + kLoadSlots) / (2 * kLoadSlots);
                 i < (2 * kLoads * (slot + 1) + kLoadSlots) / (2 * kLoadSlots); ++i)
                aim(kLoaded, i);
            KG_UNROLL
            for (uint32_t i = (2 * kLoads * slot + kLoadSlots - kAimed) / (2 * kLoadSlots);
                 i < (2 * kLoads * (slot + 1) + kLoadSlots - kAimed) / (2 * kLoadSlots); ++i)
                leave_out(kLoaded, i);
            KG_UNROLL
            for (uint32_t i = kLoads * slot / kLoadSlots; i < kLoads * (slot + 1) / kLoadSlots; ++i)
                load(kLoaded, kStage, i);
            multiply<kI, kJ>(slot);
        }
        if constexpr (kLast) {
            isa::amd::keep_lds_reads();  // not to where the advance branches
            advance_and_multiply<0>();
        }
    }

    /// The second half of the last quadrant, from piece kPiece of the advance on.
    template <uint32_t kPiece>
    KG_DEVICE void advance_and_multiply() {
        loader_.template advance<kPiece>();
        constexpr uint32_t kRest = kSlots - kHalf;
        KG_UNROLL
        for (uint32_t slot = kHalf + kRest * kPiece / Loader::kAdvances;
             slot < kHalf + kRest * (kPiece + 1) / Loader::kAdvances; ++slot)
            multiply<1, 1>(slot);
        if constexpr (kPiece + 1 < Loader::kAdvances) advance_and_multiply<kPiece + 1>();
    }

    /// Product `slot` of quadrant (kI, kJ).
    template <uint32_t kI, uint32_t kJ>
    KG_DEVICE void multiply(uint32_t slot) {
        const uint32_t product = slot / kTiles, m = slot % kTiles / kN, n = slot % kN;
        // B is the first operand: the product is transposed, so a lane holds four channels of a pixel.
        isa::amd::accumulate_product<Config::kType>(sums_[kI][kJ][m][n], b_[kJ][n][product], a_[kI][m][product]);
    }

    static constexpr bool of_a(Part part) { return part == Part::A0 || part == Part::A1; }
    KG_DEVICE void aim(Part part, uint32_t i) {
        if (of_a(part)) loader_.aim(part == Part::A1 ? 1 : 0, i);
    }
    KG_DEVICE void leave_out(Part part, uint32_t i) {
        if (of_a(part)) loader_.leave_out(i);
    }

    static constexpr uint32_t loads_of(Part part) { return of_a(part) ? Config::kLoadsA : Config::kLoadsB; }
    /// Operands of the wave in half a tile.
    static constexpr uint32_t reads_of(Part part) { return (of_a(part) ? kM : kN) * kProducts; }

    KG_DEVICE void load(Part part, uint32_t stage, uint32_t i) {
        const uint32_t half = part == Part::A1 || part == Part::B1 ? 1 : 0;
        if (of_a(part)) {
            loader_.load_a(half, i, place_a(stage, half));
        } else {
            loader_.load_b(half, i, place_b(stage, half));
        }
    }

    /// Operand `i` of half a tile. A lane holds row lane % 16 and, of the row's k, chunk lane / 16 (4 further for each
    /// next product, and for the second half of an fp8 operand).
    KG_DEVICE void read(Part part, uint32_t stage, uint32_t i) {
        const uint32_t half = part == Part::A1 || part == Part::B1 ? 1 : 0, tile = i / kProducts,
                       product = i % kProducts;
        const uint32_t base = stage % kBases;  // the offsets already have that stage's
        if (of_a(part)) {
            a_[half][tile][product] =
                fragment(place_a(stage - base, half) + tile * 16 * Config::kRowBytes, fragment_a_[base], product);
        } else {
            b_[half][tile][product] =
                fragment(place_b(stage - base, half) + tile * 16 * Config::kRowBytes, fragment_b_[base], product);
        }
    }

    KG_DEVICE static Fragment fragment(LdsPlace rows, const Lanes<uint32_t> (&offsets)[Config::kChunks / 4],
                                       uint32_t product) {
        if constexpr (Config::kFp8) {
            return isa::amd::join(isa::amd::read_lds_16(rows, offsets[2 * product]),
                                  isa::amd::read_lds_16(rows, offsets[2 * product + 1]));
        } else {
            return isa::amd::read_lds_16(rows, offsets[product]);
        }
    }

    static constexpr uint32_t kYounger = 2 * Config::kCountA + 2 * Config::kCountB;

    Loader loader_;
    LdsPlace lds_;
    /// Where a lane's operands are in the first tile of a half. An LDS read reaches 64 KiB from there: beyond that the
    /// stages have offsets of their own.
    static constexpr uint32_t kBases = Config::kLdsBytes > 65536 ? 2 : 1;
    Lanes<uint32_t> fragment_a_[kBases][Config::kChunks / 4], fragment_b_[kBases][Config::kChunks / 4];
    Fragment a_[2][kM][kProducts], b_[2][kN][kProducts];
    Accumulator sums_[2][2][kM][kN];
};

}  // namespace kinetograph::gfx950
