// A caller's latents, checked, and single latent frames out of them.
#pragma once

#include "handles.hpp"

#include <vector>

namespace kinetograph::c {

/// A caller's latents: [channels, frames, height, width] with any strides.
struct LatentView {
    const std::byte* data = nullptr;
    tensor::DType dtype = tensor::DType::F32;
    std::int64_t channels = 0, frames = 0, height = 0, width = 0;
    std::array<std::int64_t, 4> strides{};  ///< elements
    std::uint64_t reach_bytes = 0;          ///< from `data` to the end of the last value
    bool on_device = false;
    kg_moment ready{};
    Nanoseconds input{};  ///< stream::LatentFrame::input

    std::int64_t pixels() const { return height * width; }
    std::uint64_t element_bytes() const { return tensor::bytes_per_element(dtype); }
    std::uint64_t frame_bytes() const { return static_cast<std::uint64_t>(channels) * channel_bytes(); }
    std::uint64_t channel_bytes() const { return static_cast<std::uint64_t>(pixels()) * element_bytes(); }
    bool has_whole_channels() const { return (width == 1 || strides[3] == 1) && (height == 1 || strides[2] == width); }
    bool has_whole_frames() const { return has_whole_channels() && (channels == 1 || strides[0] == pixels()); }
    /// Where channel `c` of latent frame `t` begins.
    const std::byte* channel(std::int64_t t, std::int64_t c) const {
        return data + (strides[0] * c + strides[1] * t) * static_cast<std::int64_t>(element_bytes());
    }
};

/// Errors: InvalidArgument (shape, dtype, latents of another VAE, strides below 1 or that leave the memory, on the
/// device anything but whole channels), in a sentence with both what is given and what the clip takes.
Result<LatentView> view_of(const kg_latents& latents, const vae::Model& model, vae::LatentSize size);

/// Latent frame `t`, in the host's memory, as [channels, height, width] float32.
void gather(const LatentView& latents, std::int64_t t, std::vector<float>& frame);

}  // namespace kinetograph::c
