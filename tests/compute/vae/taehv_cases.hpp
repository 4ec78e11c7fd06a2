// The TAEHV decoders against their reference's outputs, on any lane.
#pragma once

#include <kinetograph/tests/compute/vae/layer_units.hpp>
#include <kinetograph/tests/golden/golden.hpp>

namespace kinetograph::vae {

/// Decodes the first `steps` latent frames of taew21.safetensors one by one and checks every step against the limit.
/// Then decodes them again in a single step, which must give the same bits.
void expect_taew21_decodes(accel::Device& device, Precision precision, std::int64_t steps, golden::Limit limit);

/// Checks every module of taew21_trace.safetensors in the first `steps` steps. The largest difference is taken relative
/// to the activation's largest value.
void expect_taew21_modules(accel::Device& device, Precision precision, std::int64_t steps, golden::Limit limit);

/// Single layers of taew21_units.safetensors: a memory block for several cuts of the stream, growth in time, the soft
/// limit of the input.
void expect_taehv_units(const UnitLane& lane);

/// Narrow decoders of every member of the family, recognised by their files' names, each with the statistics of its
/// latents, against taehv_small.safetensors.
void expect_taehv_members(accel::Device& device, Precision precision, golden::Limit limit);

/// A narrow decoder's frames are the same bits for every division of a clip into steps of 1 to 5 latent frames, at odd
/// and even sizes.
void expect_taehv_cuts_agree(accel::Device& device, Precision precision);

}  // namespace kinetograph::vae
