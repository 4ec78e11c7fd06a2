// Latents: a clip's latent frames, checked when they are read.
#pragma once

#include <kinetograph/compute/tensor/safetensors.hpp>

#include <span>

namespace kinetograph::vae {

/// A latent clip in memory: [C, T, h, w] float32.
struct Latents {
    std::string name;  ///< the file, for messages
    std::int64_t channels = 0, frames = 0, height = 0, width = 0;
    std::vector<float> values;
    double fps = 24.0;               ///< of the decoded video, 0.01 to 1000; the file's metadata "fps" if present
    std::uint64_t content_hash = 0;  ///< XXH3-64 of the file

    /// Reads tensor `latents` [C,T,h,w] or [1,C,T,h,w] (F32, F16, BF16).
    /// Errors: NotFound without the tensor; InvalidArgument for a wrong rank, batch above 1, zero frames, a latent side
    /// above 1024, or a value that is not finite (with its position: the usual cause of black frames); Cancelled.
    static Result<Latents> open(const std::filesystem::path& path, const tensor::ReadOptions& options = {});

    /// Latent frame `t` as [C, h, w]: what Decoder::step takes.
    std::vector<float> frame(std::int64_t t) const;
};

/// Refuses a value that is not finite, because it would spread over the whole picture and every later frame. `latent`
/// is latent frame `index` of a clip, [C, pixels]. Errors: InvalidArgument, saying where.
Result<void> check_finite(std::span<const float> latent, std::int64_t index, std::int64_t pixels);

}  // namespace kinetograph::vae
