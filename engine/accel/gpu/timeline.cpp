#include <kinetograph/engine/accel/gpu/timeline.hpp>

#include <kinetograph/engine/accel/gpu/host_counter.hpp>

namespace kinetograph::accel::gpu {

namespace {

class CounterTimeline final : public GpuTimeline {
  public:
    CounterTimeline(std::shared_ptr<CounterContext> context, const CounterContext::Counter& counter)
        : GpuTimeline(std::move(context)), counter_(counter), host_(reinterpret_cast<std::uint64_t*>(counter.host)) {}
    ~CounterTimeline() override {
        if (context_->given_up().has_ended()) context_->release(counter_);
    }
    CounterTimeline(const CounterTimeline&) = delete;
    CounterTimeline& operator=(const CounterTimeline&) = delete;

    const void* owner() const override { return context_->counters(); }
    std::uint64_t value() const override { return host_.value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override { return host_.wait(value, timeout); }
    void signal(std::uint64_t value) override { host_.signal(value); }
    Result<void> enqueue_wait(CounterContext& device, StreamHandle stream, std::uint64_t value) override {
        return device.wait(stream, counter_, value);
    }
    Result<void> enqueue_signal(CounterContext& device, StreamHandle stream, std::uint64_t value) override {
        return device.signal(stream, counter_, value);
    }

  private:
    CounterContext::Counter counter_;
    HostCounter host_;
};

class ImportedTimeline final : public GpuTimeline {
  public:
    ImportedTimeline(std::shared_ptr<CounterContext> context, ExternalSemaphoreHandle semaphore,
                     std::shared_ptr<Timeline> original)
        : GpuTimeline(std::move(context)), semaphore_(semaphore), original_(std::move(original)) {
        set_name(original_->name());
    }
    ~ImportedTimeline() override { context_->release(semaphore_); }
    ImportedTimeline(const ImportedTimeline&) = delete;
    ImportedTimeline& operator=(const ImportedTimeline&) = delete;

    const void* owner() const override { return context_.get(); }
    std::uint64_t value() const override { return original_->value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override {
        return original_->wait(value, timeout);
    }
    void signal(std::uint64_t value) override { original_->signal(value); }
    Result<void> status() const override {
        KG_CHECK(Timeline::status());
        return original_->status();
    }
    Result<void> enqueue_wait(CounterContext& device, StreamHandle stream, std::uint64_t value) override {
        return device.wait(stream, semaphore_, value);
    }
    Result<void> enqueue_signal(CounterContext& device, StreamHandle stream, std::uint64_t value) override {
        return device.signal(stream, semaphore_, value);
    }

  private:
    ExternalSemaphoreHandle semaphore_;
    std::shared_ptr<Timeline> original_;
};

}  // namespace

Result<std::shared_ptr<Timeline>> create_timeline(const std::shared_ptr<CounterContext>& context) {
    KG_TRY_IN("timeline", const auto counter, context->create_counter());
    return std::make_shared<CounterTimeline>(context, counter);
}

Result<std::shared_ptr<Timeline>> import_timeline(const std::shared_ptr<CounterContext>& context, int fd,
                                                  std::shared_ptr<Timeline> original) {
    KG_TRY_IN("imported timeline", const auto semaphore, context->import_semaphore(fd));
    return std::make_shared<ImportedTimeline>(context, semaphore, std::move(original));
}

}  // namespace kinetograph::accel::gpu
