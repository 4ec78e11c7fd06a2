#include <kinetograph/tests/standin/machine.hpp>

#include <algorithm>

namespace kinetograph::standin {

void Event::expect() const {
    std::lock_guard lock(state->mutex);
    state->phase = EventState::Phase::Pending;
    ++state->records;
}

Work Event::stamp() const {
    return [state = state]() -> Status {
        std::lock_guard lock(state->mutex);
        if (state->records > 1) {  // a later record has been enqueued: its time counts
            --state->records;
            return {};
        }
        state->records = 0;
        state->phase = EventState::Phase::Passed;
        state->device_ns = Machine::instance().device_now();
        return {};
    };
}

Work Event::record() const {
    return [event = *this, run = stamp()] {
        event.expect();
        return run();
    };
}

EventState::Phase Event::phase() const {
    std::lock_guard lock(state->mutex);
    return state->phase;
}

bool Event::elapsed(const Event& start, const Event& stop, float& milliseconds) {
    const auto time_of = [](const Event& event) {
        std::lock_guard lock(event.state->mutex);
        return std::pair(event.state->phase == EventState::Phase::Passed, event.state->device_ns);
    };
    const auto [started, first] = time_of(start);
    const auto [stopped, second] = time_of(stop);
    milliseconds = static_cast<float>(second - first) / 1e6F;
    return started && stopped;
}

Status Event::wait() const {
    while (phase() == EventState::Phase::Pending) {
        if (const Status fault = Machine::instance().fault(); !fault.ok()) return fault;
        std::this_thread::sleep_for(std::chrono::microseconds(5));
    }
    return {};
}

GraphNode* Graph::add(Work work, std::vector<const GraphNode*> dependencies) {
    nodes.push_back(std::make_unique<GraphNode>(GraphNode{std::move(work), std::move(dependencies)}));
    return nodes.back().get();
}

bool Graph::one_line() const {
    const GraphNode* before = nullptr;
    for (const auto& node : nodes) {
        std::vector<const GraphNode*> expected;
        if (before != nullptr) expected.push_back(before);
        if (node->dependencies != expected) return false;
        before = node.get();
    }
    return true;
}

GraphExec::GraphExec(const Graph& graph) {
    std::vector<Work> work;
    work.reserve(graph.nodes.size());
    for (const auto& node : graph.nodes) work.push_back(node->work);
    work_ = std::make_shared<const std::vector<Work>>(std::move(work));
}

Work GraphExec::replay() const {
    return [work = work_, running = running_]() -> Status {
        std::lock_guard lock(*running);
        for (const Work& item : *work) {
            Machine::instance().pause();
            if (const Status status = item(); !status.ok()) return status;
        }
        return {};
    };
}

std::uint64_t HardwareQueue::enqueue() {
    std::lock_guard lock(mutex_);
    return enqueued_++;
}

void HardwareQueue::begin(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    ended_one_.wait(lock, [&] { return ended_ == number; });
}

void HardwareQueue::end() {
    {
        std::lock_guard lock(mutex_);
        ++ended_;
    }
    ended_one_.notify_all();
}

Stream::Stream(int of_device)
    : device(of_device), queue_(Machine::instance().hardware_queue()), thread_([this] { work_loop(); }) {}

Stream::~Stream() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

Status Stream::push(Work work) {
    if (capture) {
        if (capture->invalidated) return Code::StreamCaptureInvalidated;
        capture->tail = {capture->graph->add(std::move(work), std::move(capture->tail))};
        return {};
    }
    if (const Status fault = Machine::instance().fault(); !fault.ok()) return fault;
    {
        std::unique_lock lock(mutex_);
        wait_for_room(lock);
        work_.push_back({std::move(work), queue_ ? queue_->enqueue() : 0});
    }
    changed_.notify_all();
    return {};
}

/// Like drivers with a full queue, holds a lock that other calls need.
void Stream::wait_for_room(std::unique_lock<std::mutex>& lock) {
    const std::size_t depth = Machine::instance().options().queue_depth;
    if (depth == 0 || work_.size() < depth) return;
    lock.unlock();
    const std::lock_guard calls(Machine::instance().call_mutex());
    lock.lock();
    changed_.wait(lock, [&] { return work_.size() < depth; });
}

Status Stream::refuse_capture() const {
    if (!capture) return {};
    capture->invalidated = true;
    return Code::StreamCaptureUnsupported;
}

std::unique_ptr<Graph> Stream::end_capture() {
    const auto ended = std::move(capture);
    if (ended->invalidated) return nullptr;
    if (!ended->graph->one_line()) {
        Machine::instance().complain("a capture with a fork that was not joined");
        return nullptr;
    }
    return std::move(ended->graph);
}

bool Stream::idle() const {
    std::lock_guard lock(mutex_);
    return work_.empty() && !busy_;
}

void Stream::wait_until_idle() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty() && !busy_; });
}

void Stream::run(const Item& item) {
    Machine& machine = Machine::instance();
    if (queue_) queue_->begin(item.number);
    if (machine.fault().ok()) {
        machine.pause();
        (void)item.work();  // a fault is recorded in the machine and stops every stream
    }
    if (queue_) queue_->end();
}

void Stream::work_loop() {
    const Machine& machine = Machine::instance();
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stop_ || !work_.empty(); });
        if (work_.empty()) return;
        {
            const Item item = std::move(work_.front());
            work_.pop_front();
            busy_ = true;
            lock.unlock();
            if (machine.options().queue_depth != 0) changed_.notify_all();
            run(item);
        }
        lock.lock();
        busy_ = false;
        if (work_.empty()) changed_.notify_all();
    }
}

}  // namespace kinetograph::standin
