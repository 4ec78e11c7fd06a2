#include <kinetograph/compute/live/live_feed.hpp>

#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/base/exceptions.hpp>

#include <pthread.h>

#include <algorithm>

namespace kinetograph::live {
namespace {

constexpr Nanoseconds kPoll = std::chrono::seconds(1);  // of a push, which a refusal ends at once

/// Checks that the checkpoint decodes latents of the stream's family and channels.
Result<void> check(const session::Session& session, const families::Family& family, const Incoming& incoming) {
    const StreamHeader& header = incoming.header;
    const families::Family* from = families::find(header.family);
    if (from == nullptr || from->latents != family.latents)
        return fail(ErrorCode::InvalidArgument, "{}: family: latents of {}, {} is of {}", incoming.title,
                    tensor::quoted_name(header.family), session.model()->name(), family.name);
    vae::Latents clip;
    clip.name = incoming.title;
    clip.channels = header.channels;
    clip.frames = 1;
    return session.model()->check_takes(clip);
}

}  // namespace

Result<std::shared_ptr<LiveFeed>> LiveFeed::create(const session::Session& session, Incoming incoming, Resets resets) {
    const vae::Model& model = *session.model();
    const vae::LatentSize size{incoming.header.height, incoming.header.width};
    std::shared_ptr<LiveFeed> feed(new LiveFeed(session, std::move(incoming), resets));
    KG_CHECK(feed->make(model, size, kQueued));
    feed->frames_of_a_latent_ = static_cast<double>(model.step_frames(size).most);
    return feed;
}

/// The end of the reader comes first, which calls the loop.
void LiveFeed::attach(stream::StepLoop* loop) {
    if (loop != nullptr) {
        LatentQueue::attach(loop);
        grant();
        reader_ = std::thread([this] { read(); });
        pthread_setname_np(reader_.native_handle(), "live input");
        return;
    }
    hang_up(fmt::format("{}: the viewer reads it no more", incoming_.title));
    if (reader_.joinable()) reader_.join();
    LatentQueue::attach(nullptr);
}

/// Unless the stream is read: nothing more of it is, and the generator gets the reason, if there is a sentence.
void LiveFeed::hang_up(const std::string& sentence) {
    const Lock lock(live_mutex_);
    is_over_ = true;
    changed_.notify_all();
    if (is_read_) return;
    if (!sentence.empty()) {
        incoming_.feed->refuse(sentence);
        is_read_ = true;
    }
    incoming_.feed->connection->cancel();
}

void LiveFeed::refuse(const Error& reason) {
    LatentQueue::refuse(reason);
    hang_up(reason.code == ErrorCode::Cancelled ? "" : reason.message);
}

void LiveFeed::read() {
    for (bool more = true; more;) {
        auto taken = without_exceptions(incoming_.title, [this]() -> Result<bool> {
            KG_TRY(auto item, incoming_.feed->reader.next());
            return take_in(std::move(item));
        });
        more = taken && *taken;
        if (!taken) fail_with(std::move(taken.error()));
    }
}

/// False after the stream's end.
Result<bool> LiveFeed::take_in(Item item) {
    if (const auto* latent = std::get_if<LatentValues>(&item)) {
        KG_CHECK(push_all(*latent));
        return true;
    }
    if (std::holds_alternative<Reset>(item)) {
        if (resets_ == Resets::Keep) return wait_for_next_clip();
        begin_anew();
        grant();
        return true;
    }
    {
        const Lock lock(live_mutex_);
        is_read_ = has_ended_ = true;
    }
    finish();
    return false;
}

/// False if nothing more is decoded.
bool LiveFeed::wait_for_next_clip() {
    {
        const Lock lock(live_mutex_);
        at_reset_ = true;
    }
    finish();
    Lock lock(live_mutex_);
    changed_.wait(lock, [&]() KG_REQUIRES(live_mutex_) { return !at_reset_ || is_over_; });
    return !is_over_;
}

void LiveFeed::begin_next_clip() {
    begin_anew();
    grant();
    const Lock lock(live_mutex_);
    at_reset_ = false;
    changed_.notify_all();
}

Result<void> LiveFeed::push_all(const LatentValues& latent) {
    const Nanoseconds now = host_now();
    const std::uint64_t received_before = [&] {
        const Lock lock(live_mutex_);
        ++incoming_.feed->received;
        arrivals_.count(now);
        return received_++;
    }();
    if (received_before == 0)
        if (const auto doubt = vae::doubt_scale(incoming_.title, latent.values, wanted_)) log_.warn("{}", *doubt);
    const std::string before = fmt::format("{}, chunk {}", incoming_.title, latent.chunk);
    for (bool pushed = false; !pushed;) {
        KG_TRY(pushed, push(latent.values, kPoll, now, before));
    }
    return {};
}

/// Ends the stream with `error`. Latent frames that came before it are still decoded and shown.
void LiveFeed::fail_with(Error error) {
    hang_up(error.code == ErrorCode::Cancelled ? "" : error.message);
    fail(std::move(error));
}

Result<stream::Fed> LiveFeed::next(std::int64_t most) {
    const std::size_t before = queued();
    auto fed = LatentQueue::next(most);
    if (queued() < before) grant();
    return fed;
}

/// Grants what the decoder has taken out of the queue and what the queue holds.
void LiveFeed::grant() {
    const Lock lock(live_mutex_);
    incoming_.feed->connection->grant(incoming_.feed->received - std::min(queued(), kQueued) + kQueued);
}

LiveStats LiveFeed::live() const {
    const std::size_t waiting = queued();
    const Lock lock(live_mutex_);
    return {received_, waiting, frames_of_a_latent_ * arrivals_.rate(host_now()), has_ended_, at_reset_};
}

Result<LiveSource> decode(const session::Session& session, const families::Family& family, const Incoming& incoming,
                          const vae::StepOptions& options, Resets resets) {
    KG_CHECK(check(session, family, incoming));
    std::weak_ptr<LiveFeed> feed;  // the source's
    const vae::Model& model = *session.model();
    const vae::LatentSize size{incoming.header.height, incoming.header.width};
    const stream::FeedPlan plan{.make = [&]() -> Result<std::shared_ptr<stream::LatentFeed>> {
                                    KG_TRY(auto made, LiveFeed::create(session, incoming, resets));
                                    feed = made;
                                    return std::shared_ptr<stream::LatentFeed>(std::move(made));
                                },
                                .memory = {.io = stream::LatentQueue::bytes(model, size, LiveFeed::kQueued)}};
    vae::StepOptions own = options;
    if (!(own.fps > 0)) own.fps = incoming.header.fps;
    KG_TRY(auto frames, session.decode(plan, size, own));
    return LiveSource{std::move(frames), feed.lock()};
}

}  // namespace kinetograph::live
