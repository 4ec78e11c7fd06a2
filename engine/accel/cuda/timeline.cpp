#include <kinetograph/engine/accel/cuda/timeline.hpp>

#include <kinetograph/engine/accel/cuda/memory.hpp>
#include <kinetograph/engine/accel/host_counter.hpp>

namespace kinetograph::accel::cuda {

namespace {

class PinnedTimeline final : public StreamTimeline {
  public:
    PinnedTimeline(std::shared_ptr<Context> context, std::unique_ptr<Memory> memory)
        : context_(std::move(context)),
          memory_(std::move(memory)),
          counter_(reinterpret_cast<std::uint64_t*>(memory_->host_data())) {}

    std::uint64_t value() const override { return counter_.value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override {
        return counter_.wait(value, timeout);
    }
    void signal(std::uint64_t value) override { counter_.signal(value); }

    Result<void> enqueue_wait(StreamHandle stream, std::uint64_t value) override {
        const Driver& driver = context_->driver();
        return driver.call(driver->cuStreamWaitValue64_v2, stream, device_address(memory_->data()), value,
                           kStreamWaitValueGeq);
    }
    Result<void> enqueue_signal(StreamHandle stream, std::uint64_t value) override {
        const Driver& driver = context_->driver();
        return driver.call(driver->cuStreamWriteValue64_v2, stream, device_address(memory_->data()), value,
                           kStreamWriteValueDefault);
    }
    const Context& context() const override { return *context_; }

  private:
    std::shared_ptr<Context> context_;
    std::unique_ptr<Memory> memory_;
    HostCounter counter_;
};

class ImportedTimeline final : public StreamTimeline {
  public:
    ImportedTimeline(std::shared_ptr<Context> context, ExternalSemaphoreHandle semaphore,
                     std::shared_ptr<Timeline> original)
        : context_(std::move(context)), semaphore_(semaphore), original_(std::move(original)) {
        set_name(original_->name());
    }
    ~ImportedTimeline() override {
        const CurrentUncaptured current(*context_);
        (void)context_->cuda().cuDestroyExternalSemaphore(semaphore_);
    }

    std::uint64_t value() const override { return original_->value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override {
        return original_->wait(value, timeout);
    }
    void signal(std::uint64_t value) override { original_->signal(value); }
    Result<void> status() const override {
        KG_CHECK(Timeline::status());
        return original_->status();
    }

    Result<void> enqueue_wait(StreamHandle stream, std::uint64_t value) override {
        ExternalSemaphoreParams params{};
        params.value = value;
        const Driver& driver = context_->driver();
        return driver.call(driver->cuWaitExternalSemaphoresAsync, &semaphore_, &params, 1U, stream);
    }
    Result<void> enqueue_signal(StreamHandle stream, std::uint64_t value) override {
        ExternalSemaphoreParams params{};
        params.value = value;
        const Driver& driver = context_->driver();
        return driver.call(driver->cuSignalExternalSemaphoresAsync, &semaphore_, &params, 1U, stream);
    }
    const Context& context() const override { return *context_; }

  private:
    std::shared_ptr<Context> context_;
    ExternalSemaphoreHandle semaphore_;
    std::shared_ptr<Timeline> original_;
};

}  // namespace

Result<std::shared_ptr<StreamTimeline>> create_timeline(const std::shared_ptr<Context>& context) {
    const Driver& driver = context->driver();
    int waits = 0;
    if (auto asked = driver.call(driver->cuDeviceGetAttribute, &waits, DeviceAttribute::CanUse64BitStreamMemOps,
                                 context->device());
        !asked)
        return fail(std::move(asked.error()), "timeline");
    if (waits == 0)
        return fail(ErrorCode::Unsupported,
                    "timeline: streams of {} cannot wait for values "
                    "(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS is 0)",
                    context->info().name);
    KG_TRY(auto memory, allocate_pinned(context, "timeline", sizeof(std::uint64_t)));
    return std::make_shared<PinnedTimeline>(context, std::move(memory));
}

Result<std::shared_ptr<StreamTimeline>> import_timeline(const std::shared_ptr<Context>& context, int fd,
                                                        std::shared_ptr<Timeline> original) {
    if (!context->info().can_import_timeline)
        return fail(ErrorCode::Unsupported, "importing a timeline into {}: {}", context->info().name,
                    context->info().can_import_timeline.reason);
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    ExternalSemaphoreHandleDesc desc{};
    desc.type = ExternalSemaphoreType::TimelineSemaphoreFd;
    desc.handle.fd = fd;  // the driver's own once imported
    ExternalSemaphoreHandle semaphore = nullptr;
    if (auto made = driver.call(driver->cuImportExternalSemaphore, &semaphore, &desc); !made)
        return fail(std::move(made.error()), "imported timeline");
    return std::make_shared<ImportedTimeline>(context, semaphore, std::move(original));
}

}  // namespace kinetograph::accel::cuda
