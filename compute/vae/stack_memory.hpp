// StackMemory: the device memory that a clip and its model take, known before any of the clip's is allocated.
#pragma once

#include <cstdint>

namespace kinetograph::vae {

constexpr std::uint64_t kPageBytes = 4096;
/// Allocations take whole pages on the CPU and less than that on a GPU.
constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

/// In bytes. Nothing is allocated beyond it, whatever the clip's length.
struct StackMemory {
    // Of each clip:
    std::uint64_t transients = 0;  ///< one arena for the largest step
    std::uint64_t histories = 0;   ///< frames that the causal convolutions keep from step to step
    std::uint64_t points = 0;      ///< copies of them, to which a clip can be rewound
    std::uint64_t io = 0;          ///< staging of input and output; with a GPU it is host memory
    std::uint64_t stream = 0;      ///< latents and frames of a stream or Decoder, where they lie on the accelerator
    // Of the model, shared by all of its clips:
    std::uint64_t parameters = 0;  ///< as the device holds them, or estimated where a back end packs in ordinary memory
    std::uint64_t to_load = 0;     ///< of these what is not on the device yet

    // Of a model that several devices compute; the members above are then the first device's:
    std::uint64_t others = 0;  ///< of the clip and the model, on all other devices together
    std::uint64_t pinned = 0;  ///< host memory through which devices exchange rows that do not reach each other

    // What a clip pays for taking so little, where the whole picture does not fit:
    std::int64_t bands = 1;   ///< of rows, in which steps run (vae::Bands); 1: the whole picture
    double work_ratio = 1.0;  ///< multiply-adds over those of the whole picture

    std::uint64_t clip() const { return transients + state() + io + stream; }
    std::uint64_t state() const { return histories + points; }
    std::uint64_t total() const { return clip() + parameters; }
};

}  // namespace kinetograph::vae
