#include <kinetograph/engine/accel/cpu/stream.hpp>

#include <kinetograph/engine/base/exceptions.hpp>

#include <pthread.h>

#include <cstring>
#include <string>

namespace kinetograph::accel::cpu {

namespace {
constexpr Nanoseconds kStopPoll = std::chrono::milliseconds(20);  // how soon a blocked wait notices the stream's end
}

CpuStream::CpuStream(std::string_view name) : worker_([this] { work_loop(); }) {
    pthread_setname_np(worker_.native_handle(), std::string(name).substr(0, 15).c_str());  // 15: the kernel's limit
}

CpuStream::~CpuStream() {
    {
        const Lock lock(mutex_);
        stop_ = true;
        tasks_.clear();
    }
    changed_.notify_all();
    worker_.join();
}

void CpuStream::push(Task task) {
    {
        const Lock lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
}

void CpuStream::enqueue(std::string_view name, std::function<Result<void>()> work) {
    push({[this, name = std::string(name), work = std::move(work)] {
              auto done = without_exceptions(name, [&]() -> Result<void> {
                  KG_CHECK_IN(name, work());
                  return {};
              });
              if (!done) fail_with(std::move(done.error()));
          },
          true});
}

void CpuStream::launch(const Launch& launch) {
    enqueue(launch.name, [kernel = launch.kernel.info().name]() -> Result<void> {
        return fail(ErrorCode::Unsupported, "launching \"{}\": {}", kernel, kNoDeviceCode);
    });
}

void CpuStream::fill(std::byte* address, std::byte value, std::uint64_t bytes) {
    if (bytes == 0) return;
    push({[=] { std::memset(address, std::to_integer<int>(value), bytes); }, true});
}

void CpuStream::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (bytes == 0) return;
    push({[=] { std::memcpy(to, from, bytes); }, true});
}

void CpuStream::wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    push({[this, timeline = std::move(timeline), value] {
        while (!timeline->wait(value, kStopPoll) && timeline->status() && !stopping()) {
        }
    }});
}

void CpuStream::signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    push({[timeline = std::move(timeline), value] { timeline->signal(value); }});
}

void CpuStream::record(std::shared_ptr<Event> event) {
    if (event->owner() != &kCpuOwner)
        return fail_with({ErrorCode::InvalidArgument, "the event belongs to another device than the CPU"});
    auto cpu_event = std::static_pointer_cast<CpuEvent>(std::move(event));
    cpu_event->stamp(std::nullopt);
    push({[cpu_event = std::move(cpu_event)] { cpu_event->stamp(host_now()); }});
}

Result<void> CpuStream::begin_capture() { return fail(ErrorCode::Unsupported, "{}", kNoCapture); }

Result<std::shared_ptr<Graph>> CpuStream::end_capture() { return fail(ErrorCode::Unsupported, "{}", kNoCapture); }

void CpuStream::replay(Graph& /*graph*/) {
    enqueue("replay", []() -> Result<void> { return fail(ErrorCode::Unsupported, "{}", kNoCapture); });
}

Result<void> CpuStream::upload(std::byte* to, std::span<const std::byte> from) {
    copy(to, from.data(), from.size());
    return synchronize();
}

Result<void> CpuStream::read_back(std::span<std::byte> to, const std::byte* from) {
    copy(to.data(), from, to.size());
    return synchronize();
}

Result<void> CpuStream::status() const {
    const Lock lock(mutex_);
    if (error_) return fail(*error_);
    return {};
}

bool CpuStream::executes_on_host() const {
    const Lock lock(mutex_);
    return executes_;
}

Result<void> CpuStream::synchronize() {
    Lock lock(mutex_);
    changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return tasks_.empty() && !busy_; });
    if (!error_) return {};
    Error error = std::move(*error_);
    error_.reset();
    return fail(std::move(error));
}

void CpuStream::work_loop() {
    Lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || !tasks_.empty(); });
        if (stop_) return;
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        const bool skip = task.is_work && error_;
        busy_ = true;
        executes_ = task.is_work && !skip;
        lock.unlock();
        if (!skip) task.run();
        task = {};  // releases what the task holds before the stream reports itself idle
        lock.lock();
        busy_ = executes_ = false;
        if (tasks_.empty()) changed_.notify_all();
    }
}

bool CpuStream::stopping() const {
    const Lock lock(mutex_);
    return stop_;
}

void CpuStream::fail_with(Error error) {
    const Lock lock(mutex_);
    if (!error_) error_ = std::move(error);
}

}  // namespace kinetograph::accel::cpu
