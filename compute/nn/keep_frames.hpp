// The newest frames of a value, kept for the next step of a clip.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace kinetograph::nn {

/// Moves a queue of frames on: `kept` loses its oldest frames and gets `fresh` at its end, so that afterwards it holds
/// the last kept.size() of all. Kept frames, the oldest first, adjoin neither each other nor `fresh` of necessity.
struct KeepFrames {
    std::span<std::byte* const> kept;         ///< [frame_bytes] each
    std::span<const std::byte* const> fresh;  ///< the oldest first; at most as many as kept
    std::uint64_t frame_bytes = 0;

    /// The frame that becomes kept[i].
    const std::byte* source(std::size_t i) const {
        const std::size_t stay = kept.size() - fresh.size();
        return i < stay ? kept[i + fresh.size()] : fresh[i - stay];
    }
};

/// By copies of the stream, on any device. Errors: InvalidArgument (more fresh frames than are kept), naming the pass.
Result<void> enqueue_keep_frames(accel::Stream& stream, std::string_view pass_name, const KeepFrames& work);
/// The error of enqueue_keep_frames().
Result<void> check(std::string_view pass_name, const KeepFrames& work);

}  // namespace kinetograph::nn
