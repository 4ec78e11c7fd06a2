#include <kinetograph/samples/viewer/streamed_clip.hpp>

#include <cassert>

namespace kinetograph::viewer {
namespace {

constexpr std::uint64_t kKeptDeviceBytes = 128ULL << 20U;  // of the device's memory
constexpr std::size_t kAhead = 12;  // frames of three steps: two on their way and one that is shown

}  // namespace

Result<std::unique_ptr<StreamedClip>> StreamedClip::create(accel::Device& accelerator, const vulkan::Device& display,
                                                           std::unique_ptr<vae::Decoder> decoder,
                                                           const vae::Latents& clip,
                                                           const StreamedClipOptions& options) {
    auto bridge = interop::Bridge::create(accelerator, &display);
    if (!bridge) return fail(std::move(bridge.error()));
    const interop::TopologyChoice& choice = (*bridge)->choice();
    if (choice.topology == interop::Topology::Headless) return fail(ErrorCode::Unsupported, "{}", choice.reason);
    std::unique_ptr<StreamedClip> made(new StreamedClip);
    made->facts_ = facts_of(clip, *decoder, kKeptDeviceBytes, {.sentence = choice.reason});
    made->bridge_ = std::move(*bridge);
    auto stream = stream::FrameStream::create(*made->bridge_, std::move(decoder), clip,
                                              {.slots = static_cast<std::uint32_t>(made->facts_.kept + kAhead),
                                               .loop = options.loop,
                                               .recorder = options.recorder});
    if (!stream) return fail(std::move(stream.error()));
    made->stream_ = std::move(*stream);
    return made;
}

StreamedClip::~StreamedClip() {
    if (!stream_) return;
    static_cast<void>(bridge_->wait(drawn_));  // a device that is lost draws nothing any more
    stream_.reset();
}

Result<std::optional<Frame>> StreamedClip::try_take() {
    auto record = stream_->try_take();
    if (!record) return fail(std::move(record.error()));
    if (!*record) return std::nullopt;
    const interop::FrameRecord& lent = **record;
    return Frame{.index = lent.label.index,
                 .width = lent.width,
                 .height = lent.height,
                 .presentation_time = lent.label.presentation_time,
                 .decoded_at = stream_->decoded_at(lent).value_or(host_now()),
                 .pixels = std::make_shared<LentImage>(
                     lent, [this](const interop::FrameRecord& frame, const interop::TimelinePoint& drawn) {
                         take_back(frame, drawn);
                     })};
}

void StreamedClip::take_back(const interop::FrameRecord& record, const interop::TimelinePoint& drawn) {
    if (drawn.value > drawn_.value) drawn_ = drawn;
    [[maybe_unused]] const auto released = stream_->release(record, drawn);
    assert(released && "a frame goes back once, to the stream that lent it");
}

ClipStats StreamedClip::stats() {
    stream_->collect();
    const stream::FrameStreamStats stats = stream_->stats();
    return {.depth = stats.depth,
            .capacity = stats.capacity - stream_->ring().stats().held,
            .last_step = stats.times.last_step,
            .average_step = stats.times.average_step,
            .finished = stats.finished};
}

}  // namespace kinetograph::viewer
