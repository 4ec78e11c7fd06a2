// Stream of the CPU: one worker thread that runs tasks in order; each task may use every core through OpenMP.
#pragma once

#include <kinetograph/engine/accel/cpu/timeline.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <deque>
#include <thread>

namespace kinetograph::accel::cpu {

inline constexpr std::string_view kNoDeviceCode = "the CPU runs host functions (Stream::enqueue), not device code";
inline constexpr std::string_view kNoCapture = "the CPU runs host functions, which are not captured";

class CpuStream final : public Stream {
  public:
    explicit CpuStream(std::string_view name);
    ~CpuStream() override;  ///< drops what has not started, waits for the task that runs
    CpuStream(const CpuStream&) = delete;
    CpuStream& operator=(const CpuStream&) = delete;

    void enqueue(std::string_view name, std::function<Result<void>()> work) override;
    void launch(const Launch& launch) override;
    void fill(std::byte* address, std::byte value, std::uint64_t bytes) override;
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) override;
    void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) override;
    bool sees(const Timeline& timeline) const override { return timeline.owner() == &kCpuOwner; }
    void record(std::shared_ptr<Event> event) override;
    Result<void> begin_capture() override;
    Result<std::shared_ptr<Graph>> end_capture() override;
    void replay(Graph& graph) override;
    Result<void> upload(std::byte* to, std::span<const std::byte> from) override;
    Result<void> read_back(std::span<std::byte> to, const std::byte* from) override;
    Result<void> status() const override;
    Result<void> noted() const override { return status(); }
    bool executes_on_host() const override;
    Result<void> synchronize() override;

  private:
    struct Task {
        std::function<void()> run;
        bool is_work = false;  ///< skipped while an error is pending
    };
    void push(Task task);
    void work_loop();
    bool stopping() const;
    void fail_with(Error error);

    mutable Mutex mutex_;
    Condition changed_;
    std::deque<Task> tasks_ KG_GUARDED_BY(mutex_);
    bool busy_ KG_GUARDED_BY(mutex_) = false;
    bool executes_ KG_GUARDED_BY(mutex_) = false;  ///< busy with work, not with a wait
    bool stop_ KG_GUARDED_BY(mutex_) = false;
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);
    std::thread worker_;
};

}  // namespace kinetograph::accel::cpu
