// Executor: runs plans on lanes. Knows no GPU API; lanes and memory are interfaces that the back ends implement.
#pragma once

#include <kinetograph/engine/base/log.hpp>
#include <kinetograph/engine/graph/lane_state.hpp>
#include <kinetograph/engine/graph/plan.hpp>

#include <memory>
#include <span>
#include <vector>

namespace kinetograph::graph {

class LaneBackend;

struct ResolvedWait {
    LaneBackend* lane = nullptr;
    std::uint64_t value = 0;  ///< of that lane's timeline
};

/// One pass, ready to record: its barriers, then run() with a context made by the lane.
struct PassRecord {
    const PlannedPass* planned = nullptr;
    const PassNode* node = nullptr;
    std::span<const PassContext::Entry>
        entries;  ///< physical side of what the pass declared; the lane builds its context from it
};

struct BatchRecord {
    const Plan* plan = nullptr;
    const Batch* batch = nullptr;
    std::uint64_t execution = 0;
    std::uint64_t executor = 0;  ///< Executor::id()
    std::span<const ResolvedWait> waits;
    std::span<const Point> points{};   ///< waited for too: of imports that are not ready yet
    std::span<const Point> reached{};  ///< of imports that are ready already, for profilers: nothing waits for them
    std::span<const PassRecord> passes;
    std::span<const Physical> resources;  ///< [resource], for barriers
    std::uint64_t signal = 0;             ///< timeline value of this lane once the batch is done
};

/// A lane: a queue or stream with a timeline of its own. submit() must return without waiting for the work.
class LaneBackend {
  public:
    virtual ~LaneBackend() = default;
    virtual Lane lane() const = 0;
    /// Everything in `record` lives until submit() returns, and the Plan until the batch is done. A wait may name this
    /// lane itself, with a value of an earlier batch. Batches without passes wait and signal like others. On an Error
    /// nothing of the batch runs and `record.signal` is not reached: the value comes again with a later batch.
    virtual Result<void> submit(const BatchRecord& record) = 0;
    /// Blocks the calling thread until the lane's timeline reaches `value`; false after `timeout`. Errors: why the work
    /// was not done; DeviceLost may come before the value is reached.
    virtual Result<bool> wait(std::uint64_t value, Nanoseconds timeout) = 0;
    /// The same without a time-out.
    Result<void> wait(std::uint64_t value);
    /// The lane's timeline, which outlives it: the values that the lane was given are all reached at the latest when
    /// the lane ends.
    virtual std::shared_ptr<Timeline> timeline() const = 0;
    /// How far the lane has come; does not wait.
    virtual LaneState state() const;
};

/// Physical storage of one plan's transients in one domain. Destroyed only after the lanes have passed its last use.
class PlanMemory {
  public:
    virtual ~PlanMemory() = default;
    /// Storage of transient `resource` (index as in Plan::resources).
    virtual Physical physical(std::uint32_t resource) const = 0;
};

/// Memory of one domain: arenas for transients.
class MemoryBackend {
  public:
    virtual ~MemoryBackend() = default;
    virtual Result<std::unique_ptr<PlanMemory>> realize(const Plan& plan, MemoryDomain domain) = 0;
};

struct ExecutorDesc {
    std::vector<LaneBackend*> lanes;                              ///< outlive the executor
    std::vector<std::pair<MemoryDomain, MemoryBackend*>> memory;  ///< outlive the executor
    CompileOptions compile;      ///< lanes that are not in `lanes` count as not present
    std::size_t plans_kept = 4;  ///< recent plans with their memory, >= 1
    /// A wait of the host describes all lanes to `log`, at most once: when it has lasted this long and a lane waits for
    /// a point, or when for this long no lane has reached a value and no host thread has run a pass.
    Nanoseconds report_after = std::chrono::seconds(5);
    Log log{};
};

/// What execute() started: every lane's timeline value at which the execution is complete on it (0: not used).
struct Execution {
    std::uint64_t number = 0;
    std::array<std::uint64_t, kMaxLanes> done{};
    bool reused_plan = false;
};

/// One thread at a time. Waits on other lanes are left to the lanes; the calling thread blocks only in wait(),
/// the destructor, and when an old plan's memory has to be freed.
class Executor {
  public:
    /// Errors: InvalidArgument (two back ends for one lane or domain).
    static Result<std::unique_ptr<Executor>> create(const ExecutorDesc& desc);
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    /// Waits until all lanes are idle. Work is given up if nothing is reached for kPatience while it waits for points,
    /// or for kWorkPatience (patience.hpp) otherwise; memory that it may still touch is then never released.
    ~Executor();

    /// Compiles `frame`, or reuses the plan of an equal fingerprint (a few recent plans are kept), and submits it.
    /// Returns before the work is done. `frame` may be cleared as soon as this returns.
    /// Errors: those of compile(); InvalidArgument (an import without storage or with too little of it); OutOfMemory
    /// (arenas); what a lane's submit() returned. After an Error the executor is usable: batches submitted before it
    /// run to their end, and contents of imports and exports that this execution should have written are undefined.
    Result<Execution> execute(const FrameGraph& frame);

    /// Blocks until everything of `execution` is done.
    Result<void> wait(const Execution& execution);
    /// The same for up to `timeout`; false when that has passed.
    Result<bool> wait(const Execution& execution, Nanoseconds timeout);
    /// How far every lane has come and what it waits for: for watchdogs. Any thread.
    std::vector<LaneState> lane_states() const;

    /// Storage of an exported or imported resource in the last execution; none before the first.
    Physical physical(Buffer buffer) const;
    Physical physical(Image image) const;

    /// When the last execution is done with a resource: from then on contents that it exports are complete, and images
    /// are in the layout of their last pass. Valid as long as the lane that signals it.
    Point ready(Buffer buffer) const;
    Point ready(Image image) const;

    /// Unique among all executors of the process. Execution numbers alone are not: every executor counts its own from
    /// 0.
    std::uint64_t id() const;
    /// Plan of the last execute(); null before the first.
    const Plan* plan() const;
    /// Bytes of arenas held now, by domain.
    std::array<std::uint64_t, kMaxDomains> bytes_held() const;

  private:
    struct State;
    explicit Executor(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace kinetograph::graph
