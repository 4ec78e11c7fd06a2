#pragma once

#include <cstdint>

/// Faults that tests build into the kernel to check that the host model finds them. Kernels are compiled with
/// Fault::None: every use is an `if constexpr` or a constant, so the chip's code contains none of it.
namespace kinetograph::sm100 {

enum class Fault : uint8_t {
    None,
    NoBarrierInitFence,      ///< barriers are initialised but not published to the async proxy
    NoClusterSync,           ///< a CTA barrier where the whole cluster must synchronise after the setup
    EmptyCountTooHigh,       ///< a stage waits for one release more than it has readers
    EmptyCountTooLow,        ///< a stage shared by multicast is free after its first reader's release
    ExpectsOneTile,          ///< the filter's bytes are not announced
    ExpectsWholeCluster,     ///< bytes of all CTAs of the cluster instead of the pair's
    ProducerStartsAtPhase0,  ///< the load warp waits for a release that never comes
    ConsumerStartsAtPhase1,  ///< the MMA warp takes the first stage for full
    NoFullWait,              ///< the MMA warp does not wait for its operands
    NoDrainedWait,           ///< the MMA warp overwrites accumulators that are still being read
    ReleasesWithoutCommit,   ///< the MMA warp arrives itself instead of letting the finished products arrive
    SwappedStrides,          ///< SBO and LBO exchanged in the operand descriptors
    WrongSwizzleCode,        ///< wgmma's layout code in a tcgen05 descriptor
    NoAccumulatedWait,       ///< the epilogue reads tensor memory before the products have landed
    NoFenceAfterSync,        ///< no tcgen05.fence::after_thread_sync between that wait and the load
    NoWaitLoad,              ///< registers are used before tcgen05.wait::ld
    NoFenceBeforeSync,       ///< tensor memory is released without tcgen05.fence::before_thread_sync
    WrongLaneQuarter,        ///< an epilogue warp reads its neighbour's lanes
    RowOfWarp,               ///< the upper lanes of 64 rows are taken for rows of their own
    RowsInAllLanes,          ///< all lanes of a warp are taken for rows where 16 are
    NoStagingFence,          ///< no proxy fence between the staged tile and its TMA store
    NoStagingWait,           ///< a staging tile is overwritten while its store still reads it
    NoSourceWait,            ///< the epilogue reads C before it has landed
    SourceAheadOfPrologue,   ///< the epilogue-load warp does not wait for the first main loads to be issued
    OneScaleOfAChunk,        ///< the channels of a chunk take its first channel's scale
    ScaleAfterBias,          ///< the scale multiplies the bias too
    SumDropped,              ///< the partial sum in memory is not added to this launch's
    SumScaled,               ///< ... or multiplied by alpha once more
    Bfloat16Products,        ///< the instruction takes fp16 for bf16
    ExchangedFormats,        ///< ... or the formats of activations and filters for each other's
    FirstSlabLoaded,         ///< every slab of a k block has the channels of the first
    StepsOfOneSlab,          ///< steps of k are taken as if the k block's rows were one span
    OneFrameOfInput,         ///< all taps in time read the first one's frame
    LastPanelFull,           ///< the last panel is walked as if it were as wide as the others
    PanelsOverlap,           ///< a panel begins one column of tiles after the one before it
    NoAnswerFence,           ///< a launch-control slot is released without a proxy fence
    AsksAfterTheEnd,         ///< the scheduler asks again after the grid is exhausted
    NoDeallocation,          ///< tensor memory is not freed
    DeallocatesUnasked,      ///< tensor memory is freed while epilogue warps may still read it
    NoDrain,                 ///< the load warp exits while its last stages are being read
    CornersDepthFirst,       ///< the map's corners in D, H, W order (host side)
};

}  // namespace kinetograph::sm100
