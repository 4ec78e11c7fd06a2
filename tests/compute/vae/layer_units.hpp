// Isolated layers with streaming state, cut into steps of different lengths, against float64 references.
#pragma once

#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/tests/golden/golden.hpp>

namespace kinetograph::vae {

/// A device and what it stores activations in. The limits are those of the golden data's description, section 8; fp16
/// has those of float32 sums and eight times bf16's resolution.
struct UnitLane {
    accel::Device& device;
    tensor::DType dtype = tensor::DType::F32;
};
golden::Limit limit_of(const UnitLane& lane);

/// Each runs one kind of layer from wan21_units.safetensors.
void expect_residual_units(const UnitLane& lane);             ///< with a shortcut, for every cut of the stream
void expect_temporal_upsampling_units(const UnitLane& lane);  ///< the first step skips it, later ones forget its frame
void expect_interleaved_halves(const UnitLane& lane);         ///< the frames that a temporal upsampling makes
void expect_spatial_upsampling_units(const UnitLane& lane);
void expect_attention_units(const UnitLane& lane);

}  // namespace kinetograph::vae
