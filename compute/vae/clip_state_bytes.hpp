// ClipState as the bytes of its file, for another process.
#pragma once

#include <kinetograph/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/compute/vae/clip_state.hpp>

namespace kinetograph::vae {

/// The bytes that ClipState::write() puts into a file. Errors: those of `take`.
Result<void> give_bytes(const ClipState& state, const tensor::TakeBytes& take);
/// As ClipState::read(), of such bytes, which `name` stands for in errors.
Result<ClipState> parse_clip_state(std::span<const std::byte> bytes, std::string_view name);

}  // namespace kinetograph::vae
