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
    OneReaderOfHalos,    ///< likewise halos
    RowShiftOffByOne,    ///< a tap's descriptor starts one pixel late
    WrongPitch,          ///< groups of pixels take the packed distance of 8 rows instead of the halo's pitch
    WrongParity,         ///< all four sub-pixel positions read the same halo
    NoDrainedWait,       ///< products overwrite sums that are still being read
    NoAccumulatedWait,   ///< sums are read before the products have landed
    NoSourceWait,        ///< a residual is read before it has landed
    NoStagingWait,       ///< a staging slot is overwritten while its store still reads it
    NoStagingFence,      ///< no proxy fence between a staged piece and its store
    NormOfFirstPiece,    ///< the norm divides by the length of the first piece alone
    NormOfOnePair,       ///< the norm divides by the length of this pair's channels alone
    NoSquaresWait,       ///< the other pair's squares are read before they have come
    NoSquaresRelease,    ///< squares are announced to the other pair, but not released to the cluster
    OneSlotOfSquares,    ///< the next tile's squares take the place of this one's
};

}  // namespace kinetograph::sm100
