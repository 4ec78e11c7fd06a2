// The parts of a stand-in library's streams: work, events, captures, graphs.
#pragma once

#include <kinetograph/tests/standin/status.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kinetograph::standin {

/// One piece of a stream's work; any result other than success is a fault of the device.
using Work = std::function<Status()>;

struct EventState {
    std::mutex mutex;
    enum class Phase : std::uint8_t { NeverRecorded, Pending, Passed } phase = Phase::NeverRecorded;
    std::uint64_t records = 0;  ///< a record overtaken by a later one stamps nothing
    std::int64_t device_ns = 0;
};

struct Event {
    int device = 0;
    enum class Record : std::uint8_t { OfStream, OfGraph, Mark } newest = Record::OfStream;  ///< Mark: stamps nothing
    std::weak_ptr<const void> capture{};  ///< which the newest record is part of
    std::shared_ptr<EventState> state = std::make_shared<EventState>();

    /// A record was enqueued: the event is pending until that work has run.
    void expect() const;
    Work stamp() const;
    /// expect() and stamp at once, like the node of a graph.
    Work record() const;
    EventState::Phase phase() const;
    /// False if either is pending.
    static bool elapsed(const Event& start, const Event& stop, float& milliseconds);
    Status wait() const;
};

struct GraphNode {
    Work work;
    std::vector<const GraphNode*> dependencies;
};

struct Graph {
    std::vector<std::unique_ptr<GraphNode>> nodes;
    GraphNode* add(Work work, std::vector<const GraphNode*> dependencies);
    bool one_line() const;  ///< every node depends on the one before it
};

struct GraphExec {
    explicit GraphExec(const Graph& graph);
    Work replay() const;

  private:
    std::shared_ptr<const std::vector<Work>> work_;
    std::shared_ptr<std::mutex> running_ = std::make_shared<std::mutex>();  ///< one replay at a time
};

/// A queue of the device that several streams share, which does their work in the order of its arrival.
class HardwareQueue {
  public:
    std::uint64_t enqueue();           ///< the number of the next work
    void begin(std::uint64_t number);  ///< waits until all work before it has ended
    void end();

  private:
    std::mutex mutex_;
    std::condition_variable ended_one_;
    std::uint64_t enqueued_ = 0, ended_ = 0;
};

/// A stream: a thread that does its work in order.
class Stream {
  public:
    explicit Stream(int of_device);
    ~Stream();  ///< finishes its work first, as the destroying call does
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// Enqueues the work, or adds it to the capture.
    Status push(Work work);
    bool idle() const;
    void wait_until_idle() const;

    const int device;

    /// The nodes captured so far, and those that the next one depends on.
    struct Capture {
        std::unique_ptr<Graph> graph = std::make_unique<Graph>();
        std::vector<const GraphNode*> tail;
        std::atomic<bool> invalidated = false;
        std::thread::id thread = std::this_thread::get_id();
        std::shared_ptr<const void> running = std::make_shared<int>();  ///< ends with the capture
    };
    std::unique_ptr<Capture> capture;  ///< used only by the thread that enqueues

    /// The result of a call that cannot be captured on a capturing stream; the capture is lost.
    Status refuse_capture() const;
    /// Ends the capture, with a complaint about a fork that was not joined. Null: the capture was invalidated.
    std::unique_ptr<Graph> end_capture();

  private:
    struct Item {
        Work work;
        std::uint64_t number = 0;  ///< in the hardware queue
    };
    void wait_for_room(std::unique_lock<std::mutex>& lock);
    void work_loop();
    void run(const Item& item);

    const std::shared_ptr<HardwareQueue> queue_;  ///< null: it has one of its own

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<Item> work_;
    bool busy_ = false;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace kinetograph::standin
