#pragma once

#include <cstdint>

/// Faults that tests build into AttentionKernel to check that the host model finds them. Kernels are compiled with
/// AttentionFault::None: every use is an `if constexpr` or a constant, so the chip's code contains none of it.
namespace kinetograph::sm100 {

enum class AttentionFault : uint8_t {
    None,
    NoBarrierInitFence,  ///< barriers are initialised but not published to the async proxy
    NoQueryWait,         ///< scores are computed before the queries have landed
    NoStageWait,         ///< products begin before their stage has landed
    NoScoresWait,        ///< scores are read before the products have landed
    NoFreeWait,          ///< scores are overwritten while they are being read
    NoWeightWait,        ///< values are multiplied before their weights are stored
    NoWeightFence,       ///< no proxy fence between stored weights and their product
    WeightsTooEarly,     ///< weights are overwritten while a product may still read them
    WrongValueStride,    ///< the stride between spans of channels is set to that between groups of 8 keys
    KeysNotMasked,       ///< keys past the last get weights
    NoResultFence,       ///< no proxy fence between staged results and their store
};

}  // namespace kinetograph::sm100
