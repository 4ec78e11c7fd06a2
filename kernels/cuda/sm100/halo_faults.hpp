#pragma once

#include <cstdint>

/// Faults that tests build into HaloKernel to check that the host model finds them. Kernels are compiled with
/// HaloFault::None: every use is an `if constexpr` or a constant, so the chip's code contains none of it.
namespace kinetograph::sm100 {

enum class HaloFault : uint8_t {
    None,
    NoBarrierInitFence,  ///< barriers are initialised but not published to the async proxy
    NoInputWait,         ///< products begin before the halo has landed
    NoFilterWait,        ///< products begin before the filters have landed
    ExpectsOneCta,       ///< the bytes that the pair's second CTA loads are not announced
    ReleasesHaloEarly,   ///< a halo is released after its first filters instead of its last
    OneReaderOfFilters,  ///< filters that two pairs share are free after the first one's products
    FirstHalfOfFilters,  ///< ... or both pairs load the first half of them
    OneReaderOfHalos,    ///< a halo that two pairs share is free after the first one's products
    RowShiftOffByOne,    ///< a tap's descriptor starts one pixel late
    WrongPitch,          ///< groups of pixels take the packed distance of 8 rows instead of the halo's pitch
    WrongParity,         ///< all four sub-pixel positions read the same halo
    FirstParityFilters,  ///< ... or take the first one's filters
    ExpectsHalfABlock,   ///< bytes of 16 channels per pixel are announced, but zeros up to 32 channels arrive too
    RowsOfHalfABlock,    ///< ... or a tap's descriptor starts as if rows had 16 channels
    FirstTemporalTaps,   ///< taps in time take filters from the first on, also where those are padding
    OneFrameOfInput,     ///< ... or all read the frame of the first one
    Bfloat16Products,    ///< the instruction takes fp16 for bf16
    NoDrainedWait,       ///< products overwrite sums that are still being read
    NoAccumulatedWait,   ///< sums are read before the products have landed
    NoSourceWait,        ///< a residual is read before it has landed
    NoStagingWait,       ///< a staging slot is overwritten while its store still reads it
    NoStagingFence,      ///< no proxy fence between a staged piece and its store
    NormOfFirstPiece,    ///< the norm divides by the length of the first piece alone
    GammaOfFirstPiece,   ///< ... or every piece takes the first one's factors
    NormOfOnePair,       ///< the norm divides by the length of this pair's channels alone
    NoSquaresWait,       ///< the other pair's squares are read before they have arrived
    NoSquaresRelease,    ///< squares are announced to the other pair, but not released to the cluster
    OneSlotOfSquares,    ///< the next tile's squares take the place of this one's
    PixelsOfFirstBlock,  ///< a head's second block is stored where its first one was
    BiasOfFirstChannel,  ///< ... or all its channels take the first one's bias
};

}  // namespace kinetograph::sm100
