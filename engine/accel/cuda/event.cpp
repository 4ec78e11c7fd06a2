#include <kinetograph/engine/accel/cuda/event.hpp>

namespace kinetograph::accel::cuda {

namespace {

double nanoseconds(float milliseconds) { return static_cast<double>(milliseconds) * 1e6; }

class CudaAnchors final : public ClockAnchors {
  public:
    static Result<std::unique_ptr<CudaAnchors>> create(const std::shared_ptr<Context>& context) {
        std::unique_ptr<CudaAnchors> anchors(new CudaAnchors(context));
        const CurrentUncaptured current(*context);
        const Driver& driver = context->driver();
        KG_CHECK(driver.call(driver->cuStreamCreate, &anchors->stream_, kStreamNonBlocking));
        for (auto& event : anchors->events_) {
            KG_TRY(event, EventObject::create(context));
        }
        return anchors;
    }
    ~CudaAnchors() override {
        const CurrentUncaptured current(*context_);
        if (stream_ != nullptr) (void)context_->cuda().cuStreamDestroy_v2(stream_);
    }
    CudaAnchors(const CudaAnchors&) = delete;
    CudaAnchors& operator=(const CudaAnchors&) = delete;

    EventHandle handle(std::size_t anchor) const { return events_.at(anchor)->handle(); }

    /// The thread is ours: the context stays current on it.
    void enter_thread() override {
        (void)context_->cuda().cuCtxPushCurrent_v2(context_->handle());
        CaptureMode mode = CaptureMode::Relaxed;
        (void)context_->cuda().cuThreadExchangeStreamCaptureMode(&mode);
    }
    Result<void> record(std::size_t anchor) override {
        const Current current(*context_);
        const Driver& driver = context_->driver();
        if (auto recorded = driver.call(driver->cuEventRecordWithFlags, handle(anchor), stream_, kEventRecordDefault);
            !recorded)
            return recorded;
        return driver.call(driver->cuEventSynchronize, handle(anchor));
    }
    Result<double> elapsed(std::size_t from, std::size_t to) const override {
        const Current current(*context_);
        const Driver& driver = context_->driver();
        float milliseconds = 0;
        KG_CHECK(driver.call(driver->cuEventElapsedTime_v1, &milliseconds, handle(from), handle(to)));
        return nanoseconds(milliseconds);
    }

  private:
    explicit CudaAnchors(std::shared_ptr<Context> context) : context_(std::move(context)) {}
    std::shared_ptr<Context> context_;
    StreamHandle stream_ = nullptr;
    std::array<std::unique_ptr<EventObject>, kCount> events_;
};

}  // namespace

Result<std::unique_ptr<EventObject>> EventObject::create(std::shared_ptr<Context> context) {
    const Current current(*context);
    EventHandle handle = nullptr;
    if (auto made = context->driver().call(context->cuda().cuEventCreate, &handle, kEventDefault); !made)
        return fail(std::move(made.error()), "event");
    return std::unique_ptr<EventObject>(new EventObject(std::move(context), handle));
}

EventObject::~EventObject() {
    const CurrentUncaptured current(*context_);
    (void)context_->cuda().cuEventDestroy_v2(handle_);
}

Result<std::shared_ptr<DeviceClock>> start_clock(const std::shared_ptr<Context>& context) {
    auto anchors = CudaAnchors::create(context);
    if (!anchors) return fail(std::move(anchors.error()), "device clock");
    const CurrentUncaptured current(*context);
    return DeviceClock::start(std::move(*anchors), "cuda clock");
}

std::optional<double> CudaEvent::since(const ClockAnchors& anchors, std::size_t anchor) const {
    const CurrentUncaptured current(context());
    const EntryPoints& cuda = context().cuda();
    float milliseconds = 0;
    const EventHandle start = static_cast<const CudaAnchors&>(anchors).handle(anchor);
    if (cuda.cuEventQuery(handle()) != Status::Success ||
        cuda.cuEventElapsedTime_v1(&milliseconds, start, handle()) != Status::Success)
        return std::nullopt;
    return nanoseconds(milliseconds);
}

}  // namespace kinetograph::accel::cuda
