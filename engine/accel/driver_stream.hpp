// DriverStream: what the streams of GPU drivers have in common: which calls are skipped after an error, what the error
// says, captures, host functions. A lane's stream adds the driver's calls.
#pragma once

#include <kinetograph/engine/accel/device_clock.hpp>

#include <map>
#include <vector>

namespace kinetograph::accel {

/// A graph that a driver runs, and the events that it records.
class DriverGraph : public Graph {
  public:
    DriverGraph(std::size_t nodes, std::vector<std::shared_ptr<DriverEvent>> events)
        : nodes_(nodes), events_(std::move(events)) {}
    std::size_t nodes() const final { return nodes_; }
    void expect_events() const {
        for (const auto& event : events_) event->expect();
    }

  private:
    std::size_t nodes_;
    std::vector<std::shared_ptr<DriverEvent>> events_;
};

/// What a capture gives: a graph of the driver's that does not run yet. Destroyed with this unless instantiated.
class CapturedWork {
  public:
    virtual ~CapturedWork() = default;
    /// Errors: what the driver says.
    virtual Result<std::shared_ptr<Graph>> instantiate(std::vector<std::shared_ptr<DriverEvent>> events) = 0;
};

/// One thread enqueues at a time; status() may be asked from another.
class DriverStream : public Stream {
  public:
    void enqueue(std::string_view name, std::function<Result<void>()> work) final;
    void launch(const Launch& launch) final;
    void fill(std::byte* address, std::byte value, std::uint64_t bytes) final;
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) final;
    void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) final;
    void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) final;
    bool sees(const Timeline& timeline) const final { return owns(timeline); }
    void record(std::shared_ptr<Event> event) final;
    Result<void> begin_capture() final;
    Result<std::shared_ptr<Graph>> end_capture() final;
    void replay(Graph& graph) final;
    Result<void> upload(std::byte* to, std::span<const std::byte> from) final;
    Result<void> read_back(std::span<std::byte> to, const std::byte* from) final;
    Result<void> status() const final;
    Result<void> noted() const final;
    Result<void> synchronize() final;

  protected:
    explicit DriverStream(std::string_view name) : name_(name) {}
    const std::string& name() const { return name_; }
    /// For the destructor of a lane's stream: ends a capture that nobody has ended.
    void abandon_capture();
    using HostFunction = void (*)(void* user_data);

  private:
    /// Lives as long as the last host function of the stream, which the driver may run while the stream is destroyed.
    struct Errors {
        std::mutex mutex;
        std::optional<Error> first;
        std::string newest_launch;  ///< its pass: whom an error that comes late may be about
        void note(Error error);
        bool pending();
    };
    /// The capture that a stream is in.
    struct Capture {
        std::optional<Error> error;  ///< first call that cannot be captured
        std::vector<std::shared_ptr<DriverEvent>> events;
    };
    /// A timeline that enqueued work refers to. Uses are counted over the stream's waits and signals.
    struct Reference {
        std::uint64_t newest_use = 0, newest_signal = 0;
        std::uint64_t promised = 0;  ///< the newest value that the stream was asked to signal; 0: none
        bool owed = false;           ///< the driver has refused to signal it
    };
    struct HostWork;

    // The driver's calls, whose errors name the call; who made it is added by the functions above.
    virtual const DeviceInfo& info() const = 0;
    virtual bool owns(const Kernel& kernel) const = 0;  ///< whether it was made by this stream's device
    virtual bool owns(const Timeline& timeline) const = 0;
    virtual bool owns(const Graph& graph) const = 0;
    virtual bool owns(const DriverEvent& event) const = 0;
    virtual Result<void> enqueue_host_function(HostFunction function, void* user_data) = 0;
    virtual Result<void> enqueue_kernel(const Launch& launch) = 0;  ///< checks what only this lane knows
    virtual Result<void> enqueue_fill(std::byte* address, std::byte value, std::uint64_t bytes) = 0;
    virtual Result<void> enqueue_copy(void* to, const void* from, std::uint64_t bytes) = 0;
    virtual Result<void> enqueue_wait(Timeline& timeline, std::uint64_t value) = 0;
    virtual Result<void> enqueue_signal(Timeline& timeline, std::uint64_t value) = 0;
    virtual Result<void> enqueue_record(DriverEvent& event) = 0;
    virtual Result<void> capture_record(DriverEvent& event) = 0;
    virtual Result<void> enqueue_graph(DriverGraph& graph) = 0;
    virtual Result<void> start_capture() = 0;
    virtual Result<std::unique_ptr<CapturedWork>> finish_capture() = 0;
    virtual Result<bool> query() const = 0;  ///< whether there is no work left to do
    virtual Result<void> block() = 0;

    static void run_host_work(void* user_data);
    bool skips() const;
    void stop(Error error);
    void note(Error error, std::string_view what);
    void note_late(Error error) const;
    void refuse_capture(std::string_view what);
    Result<void> check_launch(const Launch& launch) const;
    bool refer_to(const std::shared_ptr<Timeline>& timeline, std::uint64_t promised);
    void forget_passed();
    void owe(const std::shared_ptr<Timeline>& timeline);
    void keep_all_promises(const Error& lost) const;
    void keep_owed_promises(std::uint64_t passed) const;
    std::uint64_t uses() const;

    std::string name_;
    std::shared_ptr<Errors> errors_ = std::make_shared<Errors>();
    mutable std::mutex references_mutex_;
    mutable std::map<std::shared_ptr<Timeline>, Reference> references_;  ///< since the last synchronize()
    std::uint64_t uses_ = 0;
    mutable std::mutex capture_mutex_;  ///< asking a capturing stream for its status breaks the capture
    std::optional<Capture> capture_;
};

}  // namespace kinetograph::accel
