#include <kinetograph/compute/stream/latent_feed.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace kinetograph::stream {
namespace {

std::uint64_t bytes_of_a_frame(const vae::Latents& clip) {
    return static_cast<std::uint64_t>(clip.channels * clip.height * clip.width) * sizeof(float);
}

}  // namespace

std::uint64_t ClipFeed::bytes(const vae::Latents& clip) {
    return vae::whole_pages(static_cast<std::uint64_t>(clip.frames) * bytes_of_a_frame(clip));
}

Result<std::shared_ptr<ClipFeed>> ClipFeed::create(accel::Device& device, const vae::Latents& clip,
                                                   const CallLimits& limits) {
    std::shared_ptr<ClipFeed> feed(new ClipFeed);
    feed->frames_ = clip.frames;
    feed->frame_bytes_ = bytes_of_a_frame(clip);
    KG_TRY(feed->latents_,
           device.allocate("latents of a clip", feed->frame_bytes_ * static_cast<std::uint64_t>(clip.frames)));
    KG_TRY(auto stream, device.create_stream("latents of a clip"));
    for (std::int64_t t = 0; t < clip.frames; ++t) {
        KG_CHECK(limits.check(clip.name));
        const std::vector<float> values = clip.frame(t);
        if (auto finite = vae::check_finite(values, t, clip.height * clip.width); !finite && !feed->bad_) {
            feed->first_bad_ = t;
            feed->bad_ = std::move(finite.error());
        }
        std::byte* to = feed->latents_->data() + static_cast<std::uint64_t>(t) * feed->frame_bytes_;
        KG_CHECK(stream->upload(to, std::as_bytes(std::span(values))));
    }
    return feed;
}

Result<Fed> ClipFeed::next(std::int64_t most) {
    if (next_ == frames_) return Fed{.state = Fed::State::Ended};
    if (next_ == first_bad_) return fail(*bad_);
    const std::int64_t end = first_bad_ < next_ ? frames_ : first_bad_;
    in_hand_ = next_ == 0 ? 1 : std::min(most, end - next_);
    return Fed{.state = Fed::State::Ready,
               .latent = {.address = latents_->data() + static_cast<std::uint64_t>(next_) * frame_bytes_,
                          .bytes = static_cast<std::uint64_t>(in_hand_) * frame_bytes_,
                          .count = in_hand_},
               .place = fmt::format("latent frame {}", next_)};
}

}  // namespace kinetograph::stream
