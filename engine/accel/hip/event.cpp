#include <kinetograph/engine/accel/hip/event.hpp>

namespace kinetograph::accel::hip {

namespace {

double nanoseconds(float milliseconds) { return static_cast<double>(milliseconds) * 1e6; }

class HipAnchors final : public ClockAnchors {
  public:
    static Result<std::unique_ptr<HipAnchors>> create(const std::shared_ptr<Context>& context) {
        KG_CHECK(context->make_current());
        std::unique_ptr<HipAnchors> anchors(new HipAnchors(context));
        if (auto made =
                context->runtime->check(context->hip().hipStreamCreateWithFlags(&anchors->stream_, kStreamNonBlocking),
                                        "hipStreamCreateWithFlags");
            !made)
            return fail(std::move(made.error()));
        for (auto& event : anchors->events_) {
            KG_TRY(event, EventObject::create(context));
        }
        return anchors;
    }
    ~HipAnchors() override {
        (void)context_->make_current();
        if (stream_ != nullptr) (void)context_->hip().hipStreamDestroy(stream_);
    }
    HipAnchors(const HipAnchors&) = delete;
    HipAnchors& operator=(const HipAnchors&) = delete;

    EventHandle handle(std::size_t anchor) const { return events_.at(anchor)->handle(); }

    void enter_thread() override { (void)context_->make_current(); }
    Result<void> record(std::size_t anchor) override {
        const EntryPoints& hip = context_->hip();
        if (auto recorded = context_->runtime->check(hip.hipEventRecord(handle(anchor), stream_), "hipEventRecord");
            !recorded)
            return recorded;
        return context_->runtime->check(hip.hipEventSynchronize(handle(anchor)), "hipEventSynchronize");
    }
    Result<double> elapsed(std::size_t from, std::size_t to) const override {
        float milliseconds = 0;
        if (auto asked = context_->runtime->check(
                context_->hip().hipEventElapsedTime(&milliseconds, handle(from), handle(to)), "hipEventElapsedTime");
            !asked)
            return fail(std::move(asked.error()));
        return nanoseconds(milliseconds);
    }

  private:
    explicit HipAnchors(std::shared_ptr<Context> context) : context_(std::move(context)) {}
    std::shared_ptr<Context> context_;
    StreamHandle stream_ = nullptr;
    std::array<std::unique_ptr<EventObject>, kCount> events_;
};

}  // namespace

Result<std::unique_ptr<EventObject>> EventObject::create(std::shared_ptr<Context> context) {
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), "event");
    EventHandle handle = nullptr;
    if (auto made = context->runtime->check(context->hip().hipEventCreateWithFlags(&handle, kEventDefault),
                                            "hipEventCreateWithFlags");
        !made)
        return fail(std::move(made.error()), "event");
    return std::unique_ptr<EventObject>(new EventObject(std::move(context), handle));
}

EventObject::~EventObject() {
    (void)context_->make_current();
    (void)context_->hip().hipEventDestroy(handle_);
}

Result<std::shared_ptr<DeviceClock>> start_clock(const std::shared_ptr<Context>& context) {
    auto anchors = HipAnchors::create(context);
    if (!anchors) return fail(std::move(anchors.error()), "device clock");
    return DeviceClock::start(std::move(*anchors), "hip clock");
}

std::optional<double> HipEvent::since(const ClockAnchors& anchors, std::size_t anchor) const {
    const EntryPoints& hip = context().hip();
    (void)context().make_current();
    float milliseconds = 0;
    const EventHandle start = static_cast<const HipAnchors&>(anchors).handle(anchor);
    if (hip.hipEventQuery(handle()) != Status::Success ||
        hip.hipEventElapsedTime(&milliseconds, start, handle()) != Status::Success)
        return std::nullopt;
    return nanoseconds(milliseconds);
}

}  // namespace kinetograph::accel::hip
