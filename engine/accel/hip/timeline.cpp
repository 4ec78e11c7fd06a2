#include <kinetograph/engine/accel/hip/timeline.hpp>

#include <kinetograph/engine/accel/host_counter.hpp>

#include <unistd.h>

namespace kinetograph::accel::hip {

namespace {

class SignalTimeline final : public StreamTimeline {
  public:
    SignalTimeline(std::shared_ptr<Context> context, std::uint64_t* address)
        : context_(std::move(context)), address_(address), counter_(address) {}
    ~SignalTimeline() override {
        (void)context_->make_current();
        (void)context_->hip().hipFree(address_);
    }

    std::uint64_t value() const override { return counter_.value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override {
        return counter_.wait(value, timeout);
    }
    void signal(std::uint64_t value) override { counter_.signal(value); }

    Result<void> enqueue_wait(StreamHandle stream, std::uint64_t value) override {
        constexpr std::uint64_t kAllBits = ~std::uint64_t{0};
        return context_->runtime->check(
            context_->hip().hipStreamWaitValue64(stream, address_, value, kStreamWaitValueGte, kAllBits),
            "hipStreamWaitValue64");
    }
    Result<void> enqueue_signal(StreamHandle stream, std::uint64_t value) override {
        return context_->runtime->check(context_->hip().hipStreamWriteValue64(stream, address_, value, 0),
                                        "hipStreamWriteValue64");
    }
    const Context& context() const override { return *context_; }

  private:
    std::shared_ptr<Context> context_;
    std::uint64_t* address_;  ///< of signal memory: host and device see each other's writes
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
        (void)context_->make_current();
        (void)context_->hip().hipDestroyExternalSemaphore(semaphore_);
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
        return context_->runtime->check(context_->hip().hipWaitExternalSemaphoresAsync(&semaphore_, &params, 1, stream),
                                        "hipWaitExternalSemaphoresAsync");
    }
    Result<void> enqueue_signal(StreamHandle stream, std::uint64_t value) override {
        ExternalSemaphoreParams params{};
        params.value = value;
        return context_->runtime->check(
            context_->hip().hipSignalExternalSemaphoresAsync(&semaphore_, &params, 1, stream),
            "hipSignalExternalSemaphoresAsync");
    }
    const Context& context() const override { return *context_; }

  private:
    std::shared_ptr<Context> context_;
    ExternalSemaphoreHandle semaphore_;
    std::shared_ptr<Timeline> original_;
};

}  // namespace

Result<std::shared_ptr<StreamTimeline>> create_timeline(const std::shared_ptr<Context>& context) {
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), "timeline");
    const EntryPoints& hip = context->hip();
    int waits = 0;
    if (auto asked = context->runtime->check(
            hip.hipDeviceGetAttribute(&waits, kAttributeCanUseStreamWaitValue, context->ordinal),
            "hipDeviceGetAttribute");
        !asked)
        return fail(std::move(asked.error()), "timeline");
    if (waits == 0)
        return fail(ErrorCode::Unsupported,
                    "timeline: streams of {} cannot wait for values (hipDeviceAttributeCanUseStreamWaitValue is 0)",
                    context->info.name);
    void* counter = nullptr;
    if (auto made = context->runtime->check(
            hip.hipExtMallocWithFlags(&counter, sizeof(std::uint64_t), kMallocSignalMemory), "hipExtMallocWithFlags");
        !made)
        return fail(std::move(made.error()), "timeline");
    return std::make_shared<SignalTimeline>(context, static_cast<std::uint64_t*>(counter));
}

Result<std::shared_ptr<StreamTimeline>> import_timeline(const std::shared_ptr<Context>& context, int fd,
                                                        std::shared_ptr<Timeline> original) {
    if (!context->info.can_import_timeline)
        return fail(ErrorCode::Unsupported, "importing a timeline into {}: {}", context->info.name,
                    context->info.can_import_timeline.reason);
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), "imported timeline");
    ExternalSemaphoreHandleDesc desc{};
    desc.type = ExternalSemaphoreType::TimelineSemaphoreFd;
    desc.handle.fd = fd;
    ExternalSemaphoreHandle semaphore = nullptr;
    if (auto made = context->runtime->check(context->hip().hipImportExternalSemaphore(&semaphore, &desc),
                                            "hipImportExternalSemaphore");
        !made)
        return fail(std::move(made.error()), "imported timeline");
    ::close(fd);  // as for memory: HIP holds a reference of its own
    return std::make_shared<ImportedTimeline>(context, semaphore, std::move(original));
}

}  // namespace kinetograph::accel::hip
