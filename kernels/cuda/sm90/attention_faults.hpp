#pragma once

#include <cstdint>

/// Mistakes that can be built into the attention on purpose; see conv_faults.hpp.
namespace kinetograph::sm90 {

enum class AttentionFault : uint8_t {
    None,
    NoBarrierInitFence,  ///< barriers are initialised but not published to the async proxy
    ExpectsTooFewBytes,  ///< the last row of a stage is not announced
    NoQueryWait,         ///< products begin before the queries have landed
    NoStageWait,         ///< products begin before the keys or values have landed
    ReleasesEarly,       ///< a stage is released while its products may still read it
    NoEmptyWait,         ///< a stage is loaded again before all warps have released it
    NoFinalWait,         ///< scores are read while products are unfinished
    WrongValueStride,    ///< the stride between spans of channels is set to that between groups of 8 keys
    NoWeightFence,       ///< no proxy fence between the weights and their product
    KeysNotMasked,       ///< keys past the last get weights
    NotRescaled,         ///< sums are not rescaled when the maximum grows
    NoResultFence,       ///< no proxy fence between the results and their store
    NoResultBarrier,     ///< results are stored before all warps have staged them
    NoResidualWait,      ///< results are added before the output's rows have landed
    NoReadWait,          ///< norms are staged before the results beside them have been read
};

}  // namespace kinetograph::sm90
