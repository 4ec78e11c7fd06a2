#pragma once

#include <cstdint>

/// Mistakes that can be built into the kernels on purpose, to see the host model find them. Kernels are compiled with
/// ConvFault::None: every use is an `if constexpr` or a constant, and nothing of it reaches the chip.
namespace kinetograph::sm90 {

enum class ConvFault : uint8_t {
    None,
    NoBarrierInitFence,      ///< barriers are initialised but not published to the async proxy
    ProducerStartsAtPhase0,  ///< the load warps wait for a release that never comes
    NoInputWait,             ///< products begin before the halo has landed
    NoFilterWait,            ///< products begin before the filters have landed
    WrongFilterPhase,        ///< the consumers take the previous lap's filters for full
    ReleasesEarly,           ///< a stage is released while its products may still read it
    ExpectsTooFewBytes,      ///< the halo's last row is not announced
    RowShiftOffByOne,        ///< a tap's descriptor starts one pixel late
    WrongPitch,              ///< blocks take the packed distance of 8 rows instead of the halo's pitch
    NoOrder,                 ///< warpgroups do not take turns in the main loop
    NoFinalWait,             ///< accumulators are read while products are unfinished
    NoStagingWait,           ///< results overwrite a staging buffer that has not been handed over
    NoStagingFence,          ///< no proxy fence between a staged block and its store
    NoStagingBarrier,        ///< a block is stored before all its warps have staged it
    NoStoreWait,             ///< staging buffers are handed over while stores still read them
    NoAddend,                ///< sums in memory are not added

    NoOperandWait,       ///< products begin before the transform has ended
    WrongOperandPhase,   ///< the consumers take the previous lap's operands for full
    NoTransformFence,    ///< no proxy fence between a transformed halo and its products
    WrongTransformSign,  ///< first - second in place of second - first
    ReleasesOperand,     ///< the transform releases the operand's stage in place of the spent frame's

    ReleasesOwnStage,  ///< filters are released in the consumer's own CTA only
    EveryCtaLoads,     ///< each CTA of a cluster loads each stage for all

    WrongTapOrder,   ///< sums that a frame has begun move on to the wrong output
    KeepsSums,       ///< the sums of a complete output are not cleared
    BiasOnKeptSums,  ///< sums that are kept for the next call have a bias
};

}  // namespace kinetograph::sm90
