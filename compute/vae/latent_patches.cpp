#include <kinetograph/compute/vae/latent_patches.hpp>

namespace kinetograph::vae {

namespace {

/// Calls `copy` with the place of each value among those of pixels, and among those with patches.
template <class Copy>
void for_values(const PatchedShape& shape, const Copy& copy) {
    const std::int64_t height = shape.height / shape.patch, width = shape.width / shape.patch;
    std::size_t pixel = 0;
    for (std::int64_t c = 0; c < shape.channels; ++c)
        for (std::int64_t t = 0; t < shape.frames; ++t)
            for (std::int64_t y = 0; y < shape.height; ++y)
                for (std::int64_t x = 0; x < shape.width; ++x, ++pixel) {
                    const std::int64_t frame = shape.channel_of(c, y, x) * shape.frames + t;
                    copy(pixel, static_cast<std::size_t>((frame * height + y / shape.patch) * width + x / shape.patch));
                }
}

}  // namespace

std::vector<float> to_patches(std::span<const float> pixels, const PatchedShape& shape) {
    std::vector<float> patches(pixels.size());
    for_values(shape, [&](std::size_t pixel, std::size_t patch) { patches[patch] = pixels[pixel]; });
    return patches;
}

std::vector<float> from_patches(std::span<const float> patches, const PatchedShape& shape) {
    std::vector<float> pixels(patches.size());
    for_values(shape, [&](std::size_t pixel, std::size_t patch) { pixels[pixel] = patches[patch]; });
    return pixels;
}

}  // namespace kinetograph::vae
