// Batches: how often an accelerator lane has passes enqueue their work.
#pragma once

#include <cstdint>

namespace kinetograph::accel {

/// What a batch of passes becomes on the stream.
enum class Batches : std::uint8_t {
    Eager,  ///< every pass enqueues its work every time
    /// The stream's work is captured once for every place that the batch's resources take, and replayed: the passes'
    /// execute functions run while capturing only. For passes whose work depends on nothing but the plan and where
    /// their resources lie; others say so (graph::PassBuilder::run_anew) and stay eager. So do batches whose passes
    /// enqueue host functions, and everything on devices that cannot capture. Work that is not the stream's (a counter
    /// in an execute function) does not happen in a replay.
    Replayed,
};

}  // namespace kinetograph::accel
