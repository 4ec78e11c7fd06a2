#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/isa/amd/buffer.hpp>
#include <kinetograph/kernels/isa/amd/math.hpp>
#include <kinetograph/kernels/isa/amd/mfma.hpp>

namespace kinetograph::gfx950 {

using isa::amd::Accumulator;
using isa::amd::Buffer;
using isa::amd::Lanes;
using isa::amd::LdsPlace;
using isa::amd::Packed16;
using isa::amd::Packed8;

/// How a lane of the loader finds its 16 bytes of the activation's im2col row.
enum class ConvLoader : uint8_t {
    Uniform,   ///< C_in is a multiple of BK: one tap for all lanes of a k block, kept in scalar registers
    Padded,    ///< the same for a pixel of any multiple of 16 bytes: every tap ends in zeros up to a whole k block
    Chunks,    ///< a pixel is a multiple of 16 bytes: each lane has its own tap
    Pieces,    ///< a pixel is a multiple of 8 bytes (fp8: 4): 16 bytes may span several taps; through registers, not
               ///< directly to LDS
    Elements,  ///< any C_in: single elements, through registers
};

/// Faults that tests build into the kernel to check that they are detected.
enum class ConvFault : uint8_t {
    None,
    NoWaitBeforeRead,  ///< a stage is read without s_waitcnt vmcnt
    WaitsForOneLess,   ///< vmcnt one higher than the number of younger loads
    NoBarrierBetweenStages,
    NoWaitBeforeOverwrite,  ///< a stage is overwritten while other waves' LDS reads may be in flight
    NoDrain,                ///< the kernel ends with loads to LDS in flight
    HaloInSoffset,          ///< halo lanes are put out of range by soffset, which is not checked
    HaloInElements,         ///< the halo's offset is the size in elements: still inside the tensor
    SizeInElements,         ///< the descriptor's num_records counts elements
    DropsLastStep,          ///< K rounded down to whole k blocks
    ReadsBehindK,           ///< lanes past the K of a temporal tap continue into the next pixel's channels
    WrongLaneMapping,       ///< operand A takes the k chunks of a neighbouring group of lanes
    SwizzleMismatch,        ///< LDS is written swizzled and read straight
    SkipsIdleLoads,         ///< waves without rows in a half tile issue no load for it
    UnpairedColumns,        ///< the filter's rows are loaded in their order
    ParityNotShifted,       ///< all parities of a doubled frame read the same pixels
    ParityFilterShared,     ///< ... and all multiply the first parity's filter
    PartsBeginTogether,     ///< every part of K begins at the first k block
    PartsShareOutput,       ///< every part of K stores where the first does
    ScalesAfterBias,        ///< the channels' factors are applied to the bias too
    ScalesOfNeighbour,      ///< ... and are those of the next four channels
    ReadsNextPixel,         ///< lanes past a pixel's last channel read the next pixel
    TapEndsWhole,           ///< a tap ends with its last whole k block
    NormOfOneWave,          ///< the norm divides by the length of one wave's channels
    NormReadsEarly,         ///< ... or does not wait until the other wave has written its squares
    NormOfNeighbour,        ///< the norm's factors are those of the next four channels
    ImagesShareTheFirst,    ///< all images of a frame read the first one
};

template <Element kType_, uint32_t kBM_, uint32_t kBN_, uint32_t kBK_, ConvLoader kLoader_,
          ConvFault kFault_ = ConvFault::None, uint32_t kWaves_ = 4>
struct FourWaveConvConfig {
    static constexpr Element kType = kType_;
    static constexpr uint32_t kBM = kBM_, kBN = kBN_, kBK = kBK_;
    static constexpr ConvLoader kLoader = kLoader_;
    static constexpr ConvFault kFault = kFault_;

    static constexpr uint32_t kWaves = kWaves_;
    static constexpr uint32_t kThreads = 64 * kWaves;
    /// How the waves share a quadrant: 2 x 2 (eight: 4 x 2), or each all channels of a quarter of the pixels where
    /// those are few.
    static constexpr uint32_t kWavesN = kBN % 64 == 0 && kBM < 4 * kBN ? 2 : 1, kWavesM = kWaves / kWavesN;
    static constexpr bool kFp8 = kType == Element::F8E4M3;
    static constexpr uint32_t kElementBytes = kFp8 ? 1 : 2;
    static constexpr uint32_t kRowBytes = kBK * kElementBytes;  ///< of a tile in LDS
    static constexpr uint32_t kChunks = kRowBytes / 16;         ///< of a row
    static constexpr uint32_t kChunkElements = 16 / kElementBytes;
    static constexpr uint32_t kProducts = kBK / (kFp8 ? 128 : 32);  ///< MFMAs along a k block
    static constexpr uint32_t kFragmentChunks = kFp8 ? 2 : 1;       ///< LDS reads of one operand
    /// 16 x 16 tiles of a wave in a quadrant, and their rows and columns.
    static constexpr uint32_t kTilesM = kBM / (32 * kWavesM), kTilesN = kBN / (32 * kWavesN);
    static constexpr uint32_t kWaveRows = 16 * kTilesM, kWaveColumns = 16 * kTilesN;
    static constexpr uint32_t kRowsPerLoad = 64 / kChunks;  ///< rows of one load to LDS of a wave
    static constexpr uint32_t loads_of(uint32_t rows) {
        return (rows + kWaves * kRowsPerLoad - 1) / (kWaves * kRowsPerLoad);
    }
    static constexpr uint32_t kLoadsA = loads_of(kBM / 2), kLoadsB = loads_of(kBN / 2);  ///< of a wave, for half a tile
    /// Bytes of half a tile: whole loads of all waves, so that every wave has the same number of loads in flight.
    static constexpr uint32_t kHalfA = kLoadsA * kWaves * 1024, kHalfB = kLoadsB * kWaves * 1024;
    static constexpr uint32_t kStageBytes = 2 * (kHalfA + kHalfB);
    static constexpr uint32_t kLdsBytes = 2 * kStageBytes;
    /// All lanes of a k block read one tap.
    static constexpr bool kOneTap = kLoader == ConvLoader::Uniform || kLoader == ConvLoader::Padded;
    static constexpr bool kDirectA = kOneTap || kLoader == ConvLoader::Chunks;
    /// Half a tile's contribution to the count of s_waitcnt vmcnt.
    static constexpr uint32_t kCountA = kDirectA ? kLoadsA : 0, kCountB = kLoadsB;
    static constexpr uint32_t kPieceBytes = kLoader == ConvLoader::Elements ? kElementBytes : kFp8 ? 4 : 8;
    /// Of eight waves two; of four also two, of two workgroups, if registers (gathering elements needs many) and LDS
    /// allow it.
    static constexpr uint32_t kWavesPerSimd =
        kWaves == 8 || (kBM * kBN <= 128 * 192 && kLdsBytes <= 80 * 1024 && kLoader != ConvLoader::Elements) ? 2 : 1;

    /// Whether the epilogue takes numbers of channels that are no multiple of 8: value by value, much code in a large
    /// tile.
    static constexpr bool kRagged = kBM * kBN <= 128 * 128;
    /// Whether the epilogue can norm: the widest tile has no registers for the rounded values.
    static constexpr bool kNorms = kBN <= kMostNormedChannels;

    static_assert(kWaves == 4 || kWaves == 8, "one or two waves on each of the four SIMDs");
    static_assert(kBM % (32 * kWavesM) == 0 && kBN % (32 * kWavesN) == 0,
                  "a wave's part of a quadrant is a multiple of 16 x 16");
    static_assert(kFp8 ? kBK == 128 : kBK == 32 || kBK == 64 || kBK == 128, "whole MFMAs, at most 16 chunks a row");
    static_assert(kLdsBytes <= 160 * 1024, "two stages do not fit the LDS of a compute unit");
    static_assert(4 * (kCountA + kCountB) <= 63, "vmcnt has 6 bits");
};

KG_DEVICE Lanes<uint32_t> quotient(const Lanes<uint32_t>& dividend, const FastDivisor& by) {
    return isa::amd::mul_hi(dividend << 1u, Lanes<uint32_t>(by.magic)) >> by.shift;
}

/// Position of chunk `chunk` of row `row` in its row: no two of the 16 lanes of a phase of ds_read_b128 use the same
/// bank (phases: lanes 0-3, 12-15, 20-27; 4-11, 16-19, 28-31; the same + 32). An involution, so that the loader can ask
/// which chunk belongs at a position.
template <uint32_t kChunks, class Index>
KG_HOST_DEVICE Index swizzled_chunk(const Index& row, const Index& chunk) {
    static_assert(kChunks == 4 || kChunks == 8 || kChunks == 16);
    if constexpr (kChunks == 4) return chunk ^ ((0u - row / 4u) & 3u);  // 4 rows of 64 bytes span the banks
    if constexpr (kChunks == 8) return chunk ^ ((row / 2u) & 7u);       // 2 rows of 128 bytes
    return chunk ^ (row & 15u);                                         // 1 row of 256 bytes
}

/// The channel in the tile that row `row` of half `half` of B holds. A wave's 16-column tiles, counted through both
/// halves, pair up: of 32 channels, the first of a pair holds 0-3, 8-11, 16-19, 24-27, the second the others, so that a
/// lane's two times four sums are eight neighbouring channels of a pixel.
template <class Config, class Index>
KG_HOST_DEVICE Index tile_channel(uint32_t half, const Index& row) {
    const Index wave = row / Config::kWaveColumns, column = row % Config::kWaveColumns;
    const Index tile = column / 16u + half * Config::kTilesN, in_tile = column % 16u;
    return wave * (2 * Config::kWaveColumns) + tile / 2u * 32u + in_tile / 4u * 8u + tile % 2u * 4u + in_tile % 4u;
}

}  // namespace kinetograph::gfx950
