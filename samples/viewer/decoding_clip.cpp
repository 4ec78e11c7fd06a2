#include <kinetograph/samples/viewer/decoding_clip.hpp>

#include <algorithm>

namespace kinetograph::viewer {

ClipFacts facts_of(const vae::Latents& clip, const vae::Decoder& decoder, std::uint64_t kept_bytes, Route route) {
    constexpr std::uint64_t kFewest = 8, kMost = 64;
    const vae::StepFrames frames = decoder.step_frames();
    const auto frame_bytes = static_cast<std::uint64_t>(4 * frames.width * frames.height);
    return {.fps = clip.fps,
            .frames = decoder.frames_of(clip.frames),
            .kept = std::clamp(kept_bytes / std::max<std::uint64_t>(1, frame_bytes), kFewest, kMost),
            .route = std::move(route)};
}

}  // namespace kinetograph::viewer
