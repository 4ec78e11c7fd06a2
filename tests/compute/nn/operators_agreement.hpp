// A device's decoder passes against the CPU's, from the same numbers, and in the same words.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::nn {

/// Each runs its pass on `device` and on the CPU, in every element type of the device, and expects results that differ
/// by that type's rounding at most; fp16 is compared with the CPU's float32.
void expect_norms(accel::Device& device);
void expect_group_norms(accel::Device& device);
void expect_upsampling(accel::Device& device);
void expect_depth_to_space(accel::Device& device);
void expect_both_ends(accel::Device& device);  ///< latents unpacked, frames stored
void expect_pictures(accel::Device& device);
void expect_kept_frames(accel::Device& device);
void expect_attention(accel::Device& device);

/// Expects of mistakes the same sentences on every device, which name the pass.
void expect_mistakes(accel::Device& device);

}  // namespace kinetograph::nn
