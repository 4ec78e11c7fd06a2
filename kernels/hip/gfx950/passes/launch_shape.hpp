#pragma once

#include <cstddef>
#include <cstdint>
#include <kinetograph/kernels/hip/gfx950/passes/frame_table.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// From a pass as the caller describes it to a launch for a device. Each pass has three pure functions:
///
///   refusal(problem)        why the kernels cannot run it, in a sentence that names the pass; empty if they can
///   launch_shape(problem)   which kernel, how many workgroups
///   make_params(problem, addresses)
namespace kinetograph::gfx950 {

/// The launch of one kernel, except its parameters. Kernels have no dynamic LDS.
struct LaunchShape {
    std::string_view object;                      ///< code object that holds it, as code_objects() names it
    std::string kernel;                           ///< its entry point
    uint32_t grid_x = 1, grid_y = 1, grid_z = 1;  ///< workgroups
    uint32_t threads = 256;                       ///< of a workgroup
};

/// A sentence that begins with the pass's name, such as "RMS norm"; none if the pass can run.
using Refusal = std::optional<std::string>;

/// 1 to kMostFrames input and output frames; either span may be the shorter.
FrameTable frame_table(std::span<const std::byte* const> input, std::span<std::byte* const> output);

/// Refuses 0 frames and more than a table holds.
Refusal refuse_frames(const std::string& pass, int64_t frames);
/// Refuses a frame (or row) of no bytes, and one that a buffer descriptor does not span.
Refusal refuse_bytes(const std::string& pass, const std::string& what, int64_t bytes);

constexpr uint32_t workgroups(uint64_t lanes, uint32_t threads = 256) {
    return static_cast<uint32_t>((lanes + threads - 1) / threads);
}

}  // namespace kinetograph::gfx950
