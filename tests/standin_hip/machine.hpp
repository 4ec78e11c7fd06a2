// The machine behind the stand-in's entry points: options, counters, address space, streams.
#pragma once

#include <kinetograph/tests/standin_hip/address_space.hpp>
#include <kinetograph/tests/standin_hip/kernels.hpp>
#include <kinetograph/tests/standin_hip/standin.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>

namespace kinetograph::standin {

using accel::hip::Status;

/// One piece of a stream's work; an answer other than Success is a fault of the device.
using Work = std::function<Status()>;

struct EventState {
    std::mutex mutex;
    enum class Phase : std::uint8_t { NeverRecorded, Pending, Passed } phase = Phase::NeverRecorded;
    std::uint64_t records = 0;  ///< a record that a later one has overtaken stamps nothing
    std::int64_t device_ns = 0;
};

class Machine final : public Control {
  public:
    static Machine& instance();

    void reset(const Options& options) override;
    std::uint64_t calls(std::string_view entry_point) const override;
    std::uint64_t calls() const override;
    std::uint64_t kernels_run() const override;
    Live live() const override;
    std::vector<std::string> complaints() const override;

    /// Counts a call; what an Injection answers in its place, otherwise Success.
    Status enter(const char* entry_point);
    void complain(std::string sentence);
    const Options& options() const { return options_; }
    AddressSpace& addresses() { return *addresses_; }
    std::int64_t device_now() const;  ///< nanoseconds of the device's clock, which drifts against the host's

    /// The device has failed: nothing runs any more, and calls on streams answer this.
    Status fault() const { return fault_.load(); }
    Status run_kernel(const std::string& name, const KernelCall& call);
    std::mutex& callback_mutex() { return callback_mutex_; }  ///< one thread of the runtime runs all callbacks
    void wait_until_idle();                                   ///< all streams, as hipFree does
    void pause();                                             ///< now and then, for a moment

    // The objects that exist, by handle: a call with another handle is a mistake that a driver would not survive.
    std::set<const void*> streams, events, modules, graphs, graph_execs;
    mutable std::mutex objects_mutex;
    template <class Object>
    bool knows(const std::set<const void*>& objects, const Object* object) const {
        std::lock_guard lock(objects_mutex);
        return objects.contains(object);
    }
    void add(std::set<const void*>& objects, const void* object) {
        std::lock_guard lock(objects_mutex);
        objects.insert(object);
    }
    bool remove(std::set<const void*>& objects, const void* object) {
        std::lock_guard lock(objects_mutex);
        return objects.erase(object) != 0;
    }

  private:
    Machine();

    mutable std::mutex mutex_;
    Options options_;
    std::map<std::string, std::uint64_t, std::less<>> calls_;
    std::vector<std::string> complaints_;
    std::unique_ptr<AddressSpace> addresses_;
    std::atomic<std::uint64_t> kernels_ = 0;
    std::atomic<Status> fault_ = Status::Success;
    std::mutex callback_mutex_;
    std::minstd_rand random_;
};

}  // namespace kinetograph::standin

namespace kinetograph::accel::hip {

struct RuntimeEvent {
    std::shared_ptr<standin::EventState> state = std::make_shared<standin::EventState>();
};

struct RuntimeModule {
    std::optional<std::set<std::string, std::less<>>> kernels;  ///< of a code object; empty: the placeholder holds all
    std::vector<std::unique_ptr<RuntimeFunction>> functions;
};

struct RuntimeFunction {
    RuntimeModule* module = nullptr;
    standin::Kernel kernel;
};

struct RuntimeGraphNode {
    standin::Work work;
    std::vector<const RuntimeGraphNode*> dependencies;
};

struct RuntimeGraph {
    std::vector<std::unique_ptr<RuntimeGraphNode>> nodes;
    bool one_line() const;  ///< every node depends on the one before it
};

struct RuntimeGraphExec {
    std::shared_ptr<const std::vector<standin::Work>> work;
    std::shared_ptr<std::mutex> running = std::make_shared<std::mutex>();  ///< one replay at a time
};

/// A stream: a thread that does its work in order.
struct RuntimeStream {
    RuntimeStream();
    ~RuntimeStream();  ///< finishes its work first, as hipStreamDestroy does
    RuntimeStream(const RuntimeStream&) = delete;
    RuntimeStream& operator=(const RuntimeStream&) = delete;

    /// Enqueues, or writes down during a capture.
    Status push(standin::Work work);
    bool idle() const;
    void wait_until_idle() const;

    /// What a capture has written down so far, and the node that the next one depends on.
    struct Capture {
        std::unique_ptr<RuntimeGraph> graph = std::make_unique<RuntimeGraph>();
        std::vector<GraphNodeHandle> tail;
        bool invalidated = false;
        std::thread::id thread = std::this_thread::get_id();
    };
    std::unique_ptr<Capture> capture;  ///< of the thread that enqueues

  private:
    void work_loop();

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<standin::Work> work_;
    bool busy_ = false;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace kinetograph::accel::hip
