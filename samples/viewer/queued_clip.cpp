#include <kinetograph/samples/viewer/queued_clip.hpp>

namespace kinetograph::viewer {
namespace {

constexpr std::uint64_t kKeptHostBytes = 256ULL << 20U;  // of the host's memory

}  // namespace

QueuedClip::QueuedClip(std::unique_ptr<vae::DecodeQueue> queue, Route route)
    : queue_(std::move(queue)), facts_(facts_of(queue_->clip(), queue_->decoder(), kKeptHostBytes, std::move(route))) {}

Result<std::optional<Frame>> QueuedClip::try_take() {
    auto frame = queue_->try_pop();
    if (!frame) return fail(std::move(frame.error()));
    if (!*frame) return std::nullopt;
    return Frame{.index = (*frame)->index,
                 .width = (*frame)->width,
                 .height = (*frame)->height,
                 .presentation_time = (*frame)->presentation_time,
                 .decoded_at = (*frame)->decoded_at,
                 .is_finite = (*frame)->not_finite == 0,
                 .pixels = std::move((*frame)->rgba)};
}

ClipStats QueuedClip::stats() {
    const vae::DecodeQueueStats stats = queue_->stats();
    return {.depth = stats.depth,
            .capacity = stats.capacity,
            .last_step = stats.last_step,
            .average_step = stats.average_step,
            .finished = stats.finished};
}

}  // namespace kinetograph::viewer
