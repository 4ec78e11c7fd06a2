// Stream of HIP.
#pragma once

#include <kinetograph/engine/accel/hip/graph.hpp>
#include <kinetograph/engine/accel/hip/timeline.hpp>

#include <set>

namespace kinetograph::accel::hip {

/// One thread enqueues at a time; status() may be asked from another. Destroying a stream waits for its work.
class HipStream final : public Stream {
  public:
    static Result<std::unique_ptr<HipStream>> create(std::shared_ptr<Context> context, std::string_view name);
    ~HipStream() override;
    HipStream(const HipStream&) = delete;
    HipStream& operator=(const HipStream&) = delete;

    void enqueue(std::string_view name, std::function<Result<void>()> work) override;
    void launch(const Launch& launch) override;
    void fill(std::byte* address, std::byte value, std::uint64_t bytes) override;
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) override;
    void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) override;
    void record(std::shared_ptr<Event> event) override;
    Result<void> begin_capture() override;
    Result<std::shared_ptr<Graph>> end_capture() override;
    void replay(Graph& graph) override;
    Result<void> upload(std::byte* to, std::span<const std::byte> from) override;
    Result<void> read_back(std::span<std::byte> to, const std::byte* from) override;
    Result<void> status() const override;
    Result<void> synchronize() override;

  private:
    /// Lives as long as the last host function of the stream, which the runtime may run while the stream is destroyed.
    struct Errors {
        std::mutex mutex;
        std::optional<Error> first;
        std::string newest_launch;  ///< its pass: whom an error that comes late may be about
        void note(Error error);
        bool pending();
    };
    struct HostWork;

    HipStream(std::shared_ptr<Context> context, std::string_view name, StreamHandle handle)
        : context_(std::move(context)), name_(name), handle_(handle) {}
    static void run_host_work(void* user_data);
    bool skips() const;
    void stop(Error error);
    void note(Error error, std::string_view what);
    void note_late(Error error) const;
    void refuse_capture(std::string_view what);
    void capture_record(std::shared_ptr<HipEvent> event);
    Result<StreamTimeline*> own_timeline(const std::shared_ptr<Timeline>& timeline);
    Result<void> start_kernel(const Launch& launch);
    Result<void> check_launch(const Launch& launch) const;
    Result<void> transfer(void* to, const void* from, std::uint64_t bytes);

    std::shared_ptr<Context> context_;
    std::string name_;
    StreamHandle handle_;
    std::shared_ptr<Errors> errors_ = std::make_shared<Errors>();
    std::set<std::shared_ptr<Timeline>> timelines_;  ///< that work since the last synchronize() refers to
    mutable std::mutex capture_mutex_;               ///< asking a capturing stream for its status breaks the capture
    std::optional<Capture> capture_;
};

}  // namespace kinetograph::accel::hip
