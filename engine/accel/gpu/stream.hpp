// GpuStream: a driver's stream with the error behaviour that accel::Stream promises: which calls are skipped after an
// error, what it says, and the host signalling values that the device will not.
#pragma once

#include <kinetograph/engine/accel/gpu/graph.hpp>

#include <kinetograph/engine/accel/gpu/module.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>
#include <vector>

namespace kinetograph::accel::gpu {

/// One thread enqueues at a time; status() may be asked from another.
/// Destroying a stream waits for its work.
class GpuStream final : public Stream {
  public:
    static Result<std::unique_ptr<GpuStream>> create(std::shared_ptr<Context> context, std::string_view name);
    /// Wraps the caller's stream of this device. The caller keeps it and may destroy it before the result. The result's
    /// destructor waits for the signals that were enqueued; if none is reached for kPatience, it leaks their timelines,
    /// and the status() of those not reached becomes Cancelled: memory that the work before them uses must then stay
    /// allocated.
    static std::unique_ptr<GpuStream> adopt(std::shared_ptr<Context> context, std::string_view name,
                                            StreamHandle handle);
    ~GpuStream() override;
    GpuStream(const GpuStream&) = delete;
    GpuStream& operator=(const GpuStream&) = delete;

    void enqueue(std::string_view name, std::function<Result<void>()> work) override;
    void launch(const Launch& launch) override;
    void fill(std::byte* address, std::byte value, std::uint64_t bytes) override;
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) override;
    void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) override;
    bool sees(const Timeline& timeline) const override;
    void record(std::shared_ptr<Event> event) override;
    Result<void> begin_capture() override;
    Result<std::shared_ptr<Graph>> end_capture() override;
    void replay(Graph& graph) override;
    Result<void> upload(std::byte* to, std::span<const std::byte> from) override;
    Result<void> read_back(std::span<std::byte> to, const std::byte* from) override;
    Result<void> status() const override;
    Result<void> noted() const override;
    Result<void> synchronize() override;
    void give_up() override;

  private:
    enum class Ownership : std::uint8_t { Ours, Callers };
    /// Lives as long as the last host function of the stream, which the driver may run while the stream is destroyed.
    struct Errors {
        Mutex mutex;
        std::optional<Error> first KG_GUARDED_BY(mutex);
        std::string newest_launch KG_GUARDED_BY(mutex);  ///< its pass: an error that comes late may be about it
        void note(Error error);
        bool pending();
    };
    /// The capture that a stream is in.
    struct Capture {
        std::optional<Error> error;  ///< first call that cannot be captured
        std::vector<std::shared_ptr<GpuEvent>> events;
    };
    /// A timeline that enqueued work refers to. Uses are counted over the stream's waits and signals.
    struct Reference {
        std::uint64_t newest_use = 0, newest_signal = 0;
        std::uint64_t promised = 0;  ///< the newest value that the stream was asked to signal; 0: none
        bool refused = false;        ///< the driver has refused to signal it
    };
    struct HostWork;

    GpuStream(std::shared_ptr<Context> context, std::string_view name, StreamHandle handle, Ownership ownership)
        : context_(std::move(context)), name_(name), handle_(handle), ownership_(ownership) {}
    /// Null where `object` was not made by this stream's device.
    template <class Own, class Object>
    Own* own(Object* object) const;
    static void run_host_work(void* user_data);
    bool skips() const;
    void stop(Error error);
    void note(Error error, std::string_view what);
    void note_late(Error error) const;
    void refuse_capture(std::string_view what);
    Result<void> check_launch(const Launch& launch, const GpuKernel* kernel) const;
    bool refer_to(const std::shared_ptr<Timeline>& timeline, std::uint64_t promised);
    void forget_passed() KG_REQUIRES(references_mutex_);
    void mark_refused(const std::shared_ptr<Timeline>& timeline);
    bool wait_for_promises() const;
    void give_up_promises();
    void keep_all_promises(const Error& lost) const;
    void keep_owed_promises(std::uint64_t passed) const;
    std::uint64_t uses() const;

    std::shared_ptr<Context> context_;
    std::string name_;
    StreamHandle handle_;
    Ownership ownership_;
    std::shared_ptr<Errors> errors_ = std::make_shared<Errors>();
    mutable Mutex references_mutex_;
    /// Since the last synchronize().
    mutable std::map<std::shared_ptr<Timeline>, Reference> references_ KG_GUARDED_BY(references_mutex_);
    std::uint64_t uses_ KG_GUARDED_BY(references_mutex_) = 0;
    mutable Mutex capture_mutex_;  ///< asking a capturing stream for its status breaks the capture
    std::optional<Capture> capture_;
};

}  // namespace kinetograph::accel::gpu
