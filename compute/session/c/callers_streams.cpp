#include "callers_streams.hpp"

#include <utility>

namespace kinetograph::c {

Result<CallersStreams::Adopted*> CallersStreams::find(void* stream) {
    KG_TRY(const bool capturing, is_capturing(stream));
    if (capturing)
        return fail(ErrorCode::InvalidArgument,
                    "the stream is in a capture of a graph, which copies and waits would become part of: latents are "
                    "pushed and frames are read before the capture, after it, or on another stream");
    if (const auto found = streams_.find(stream); found != streams_.end()) return &found->second;
    Adopted made;
    KG_TRY(made.stream, device_.adopt_stream("the application's", stream));
    KG_TRY(made.timeline, device_.create_timeline());
    return &streams_.emplace(stream, std::move(made)).first->second;
}

/// The error that the adopted stream has met, if any. It enqueues nothing afterwards, so it is set aside.
Result<void> CallersStreams::tell(void* stream) {
    const auto found = streams_.find(stream);
    auto noted = found->second.stream->noted();
    if (noted) return noted;
    std::erase_if(failed_, [](const Adopted& failed) { return failed.timeline->value() >= failed.value; });
    failed_.push_back(std::move(found->second));
    streams_.erase(found);
    return noted;
}

/// Called with what find() returned, which is gone after an Error.
Result<interop::TimelinePoint> CallersStreams::signal(void* stream, Adopted& adopted) {
    adopted.stream->signal(adopted.timeline, adopted.value + 1);
    KG_CHECK(tell(stream));
    return interop::TimelinePoint{nullptr, adopted.timeline, ++adopted.value};
}

Result<interop::TimelinePoint> CallersStreams::copy(void* stream, std::byte* to, const std::byte* from,
                                                    std::uint64_t bytes, std::int64_t count, std::int64_t stride) {
    const Lock lock(mutex_);
    KG_TRY(Adopted* const adopted, find(stream));
    for (std::int64_t i = 0; i < count; ++i)
        adopted->stream->copy(to + i * static_cast<std::int64_t>(bytes), from + i * stride, bytes);
    KG_CHECK(tell(stream));
    return signal(stream, *adopted);
}

Result<interop::TimelinePoint> CallersStreams::point(void* stream) {
    const Lock lock(mutex_);
    KG_TRY(Adopted* const adopted, find(stream));
    return signal(stream, *adopted);
}

Result<void> CallersStreams::wait(void* stream, const interop::TimelinePoint& point) {
    const Lock lock(mutex_);
    KG_TRY(Adopted* const adopted, find(stream));
    adopted->stream->wait(point.timeline, point.value);
    KG_CHECK(signal(stream, *adopted));  // tells when the stream has passed the wait
    return {};
}

Result<void> CallersStreams::end() {
    const Lock lock(mutex_);
    for (auto& [handle, adopted] : streams_) failed_.push_back(std::move(adopted));
    streams_.clear();
    Result<void> ended;
    for (Adopted& adopted : std::exchange(failed_, {})) {
        adopted.stream.reset();
        auto status = adopted.timeline->status();
        if (!status && status.error().code == ErrorCode::Cancelled) ended = std::move(status);
    }
    return ended;
}

}  // namespace kinetograph::c
