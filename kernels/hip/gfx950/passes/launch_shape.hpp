#pragma once

#include <cstddef>
#include <cstdint>
#include <kinetograph/kernels/hip/gfx950/passes/frame_table.hpp>
#include <optional>
#include <span>
#include <string>

/// From a pass as a caller says it to a launch as a device takes it. Each pass has three functions, which look at
/// nothing but their arguments:
///
///   refusal(problem)        why the kernels cannot do it, in a sentence that names the pass; empty where they can
///   launch_shape(problem)   which kernel, how many workgroups
///   make_params(problem, addresses)
namespace kinetograph::gfx950 {

/// How one kernel is launched: everything but its parameters. Kernels have no dynamic LDS.
struct LaunchShape {
    std::string object;                           ///< code object that holds it, as code_objects() names it
    std::string kernel;                           ///< its entry point
    uint32_t grid_x = 1, grid_y = 1, grid_z = 1;  ///< workgroups
    uint32_t threads = 256;                       ///< of a workgroup
};

/// Refusals know a problem's name for themselves: `pass` is "RMS norm", say.
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
