// CommandStream: the work of one stream, recorded as it comes, and submitted to the device's queue in slices.
#pragma once

#include <kinetograph/engine/accel/vulkan/recording.hpp>

#include <deque>
#include <functional>
#include <thread>

namespace kinetograph::accel::vulkan {

class Context;

/// What a capture has recorded. It is replayed part by part.
struct Captured {
    std::vector<std::unique_ptr<Recording>> parts;
    std::size_t nodes = 0;
    graph::Point last_replay{};  ///< reached once it has been executed
};

/// A wait for a value that nothing on the device is known to signal holds back the later work on the host, where a
/// thread waits for it, because streams share a queue: on the queue it would block them all. So do host functions. If a
/// graph's lanes use the queue too, everything is submitted at once and waits there: a lane's batch may wait for this
/// stream's work, which could then no longer be submitted behind it.
/// One thread records at a time; is_idle() may be asked by another.
class CommandStream {
  public:
    static Result<std::unique_ptr<CommandStream>> create(Context& context);
    /// Its work has ended, or the device is lost.
    ~CommandStream();
    CommandStream(const CommandStream&) = delete;
    CommandStream& operator=(const CommandStream&) = delete;

    Result<void> launch(const Pipeline& pipeline, const Extent3& grid, std::span<const std::byte> arguments);
    Result<void> fill(BufferRange to, std::byte value, std::uint64_t bytes);
    Result<void> copy(BufferRange to, BufferRange from, std::uint64_t bytes);
    Result<void> record(const std::shared_ptr<Stamp>& stamp);
    Result<void> wait(std::shared_ptr<graph::Timeline> timeline, std::uint64_t value);
    Result<void> signal(std::shared_ptr<graph::Timeline> timeline, std::uint64_t value);
    Result<void> run_on_host(gpu::HostFunction function, void* user_data);
    Result<void> replay(Captured& graph);

    bool is_capturing() const { return capture_.has_value(); }
    Result<void> begin_capture();
    Result<Captured> end_capture();

    /// Submits what it can. Errors: of an earlier submission; the device's loss.
    Result<bool> is_idle();
    Result<void> synchronize();
    /// Drops what has not been submitted.
    void give_up();

  private:
    /// What is submitted at a time; or a function of the host, which runs when all before it has been executed.
    struct Slice {
        std::unique_ptr<Recording> recording{};
        std::vector<graph::Point> waits{}, signals{};
        gpu::HostFunction function = nullptr;
        void* user_data = nullptr;
        std::uint64_t number = 0;  ///< of progress_, once it has been executed
        bool is_empty() const {
            return recording == nullptr && waits.empty() && signals.empty() && function == nullptr;
        }
    };
    struct Executing {
        std::unique_ptr<Recording> recording;
        std::uint64_t number = 0;
    };
    static constexpr std::size_t kMostExecuting = 32;  ///< recordings; the host then waits for the oldest

    CommandStream(Context& context, std::shared_ptr<vk::TimelineSemaphore> progress)
        : context_(context), progress_(std::move(progress)) {}
    Result<Recording*> target() KG_REQUIRES(mutex_);
    Result<std::unique_ptr<Recording>> take_recording() KG_REQUIRES(mutex_);
    Result<void> check() const KG_REQUIRES(mutex_);
    void close() KG_REQUIRES(mutex_);
    void advance() KG_REQUIRES(mutex_);
    void wake_pump() KG_REQUIRES(mutex_);
    void submit(Slice slice) KG_REQUIRES(mutex_);
    void fail_with(Error error) KG_REQUIRES(mutex_);
    std::optional<graph::Point> unmet(const Slice& slice) const;
    void pump();
    std::function<void()> pass_front() KG_REQUIRES(mutex_);

    Context& context_;
    std::shared_ptr<vk::TimelineSemaphore> progress_;  ///< counts slices that have been executed
    Mutex mutex_;
    Condition changed_;
    Slice open_ KG_GUARDED_BY(mutex_);
    std::uint64_t closed_ KG_GUARDED_BY(mutex_) = 0;           ///< number of the newest closed slice
    std::uint64_t passed_on_ KG_GUARDED_BY(mutex_) = 0;        ///< number of the newest that was submitted or run
    std::deque<Slice> held_back_ KG_GUARDED_BY(mutex_);        ///< closed, oldest first
    std::deque<Slice> functions_ KG_GUARDED_BY(mutex_);        ///< whose later slices wait for them on the queue
    std::uint64_t newest_function_ KG_GUARDED_BY(mutex_) = 0;  ///< number of the newest of those
    std::deque<Executing> executing_ KG_GUARDED_BY(mutex_);    ///< oldest first
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);         ///< of a submission: nothing runs any more
    bool pumping_ KG_GUARDED_BY(mutex_) = false;               ///< the thread submits what is held back
    bool stop_ KG_GUARDED_BY(mutex_) = false;
    std::optional<Captured> capture_;
    std::thread pump_;
};

}  // namespace kinetograph::accel::vulkan
