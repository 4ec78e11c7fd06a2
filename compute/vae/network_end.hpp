// The end of a network, whose passes run in two parts each.
#pragma once

#include <kinetograph/compute/nn/fusion.hpp>

#include <span>

namespace kinetograph::vae {

/// The frames that a convolution keeps are the last of its input. If the pass before it writes them where they are
/// kept, no copy is needed, but the frames kept so far must be read first. So each pass of the network's end runs
/// twice: over all frames but the last `history` (its head), then over these (its tail):
///
///   head 0, head 1, tail 0, head 2, tail 1, head 3, tail 2, ...
///
///   head n+1   reads the frames kept for n+1
///   tail n     writes what n+1 keeps in their place
///   tail n+1   reads those, and the head's last frames before them
///
/// Values of fewer frames exist at a time, which also takes less memory. On a GPU the bits are those of whole passes: a
/// frame's sums do not depend on how many frames a launch has.
struct NetworkEnd {
    std::size_t first = 0;         ///< the first pass that runs in parts; the number of passes if none does
    std::int64_t tail_frames = 0;  ///< of each pass's tail
};

/// The end of the network, at or after pass `begin`. From `first` on all passes are convolutions over as many frames as
/// the output has. What one of them keeps is made by the pass before it and read by no other; `summed` keeps sums
/// (kept_sums.hpp), not frames: it runs whole, after the last tail.
NetworkEnd find_end(std::span<const nn::Pass> passes, std::span<const nn::Extent> extents, std::size_t begin,
                    const nn::primitive::Conv* summed);

}  // namespace kinetograph::vae
