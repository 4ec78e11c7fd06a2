#include <kinetograph/samples/viewer/decoding_clip.hpp>

#include <algorithm>

namespace kinetograph::viewer {

ClipFacts facts_of(const vae::Latents& clip, std::uint64_t kept_bytes, Route route) {
    constexpr std::uint64_t kFewest = 8, kMost = 64;
    const auto frame_bytes = static_cast<std::uint64_t>(4 * 8 * clip.width * 8 * clip.height);
    return {.fps = clip.fps,
            .frames = clip.frames > 0 ? 1 + 4 * (clip.frames - 1) : 0,
            .kept = std::clamp(kept_bytes / std::max<std::uint64_t>(1, frame_bytes), kFewest, kMost),
            .route = std::move(route)};
}

}  // namespace kinetograph::viewer
