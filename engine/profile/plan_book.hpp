// PlanBook: what lanes report to a recorder about the graphs that they run: passes, work, waits, memory.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/profile/name_table.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::graph {
struct BatchRecord;
struct Fingerprint;
}  // namespace kinetograph::graph

namespace kinetograph::profile {

/// Numbers the plans that a recorder has met, from 1 on: those of two executors differ also where their graphs are
/// equal, because each counts its executions from 0.
using PlanId = std::uint32_t;
inline constexpr PlanId kNoPlan = 0;

/// One execution of a plan.
struct StepKey {
    PlanId plan = kNoPlan;
    std::uint64_t execution = 0;
    explicit operator bool() const { return plan != kNoPlan; }
    friend bool operator==(const StepKey&, const StepKey&) = default;
};
inline constexpr std::uint32_t kNone = 0xffffffffU;

/// A pass of a plan, with what it says about its work (graph::PassWork).
struct PassFacts {
    NameId name = 0, track = 0;
    std::uint32_t batch = kNone;     ///< PlanFacts::batches
    double operations = 0.0;         ///< floating-point, a multiply-add is two; 0: not said
    std::uint64_t bytes = 0;         ///< moved at least: as the pass says, or what it reads and writes, once each
    std::uint32_t barriers = 0;      ///< in front of it
    std::string kernel{}, reason{};  ///< what runs it, and why that was chosen
    friend bool operator==(const PassFacts&, const PassFacts&) = default;
};

/// Pass `to` reads what pass `from` has written, or continues writing it.
struct Dependency {
    std::uint32_t from = kNone, to = kNone;  ///< PlanFacts::passes
    std::uint32_t resource = kNone;          ///< PlanFacts::resources
    std::uint32_t version = 0;               ///< of the resource, as `from` has left it
    friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct BatchFacts {
    NameId track = 0;  ///< of its lane; the lane's name until the lane has reported
    struct Wait {
        std::uint32_t batch = kNone;       ///< PlanFacts::batches
        std::uint32_t executions_ago = 0;  ///< 1: of the previous execution
        Nanoseconds hand_over{};           ///< its expected cost
        friend bool operator==(const Wait&, const Wait&) = default;
    };
    std::vector<Wait> waits{};
    std::uint32_t first_pass = kNone, last_pass = kNone;  ///< PlanFacts::passes; kNone: a relay
    friend bool operator==(const BatchFacts&, const BatchFacts&) = default;
};

struct ResourceFacts {
    std::string name;
    bool imported = false;  ///< outlives the execution; else a transient
    std::string domain;     ///< "accelerator", "graphics", ...
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;                             ///< in its domain's arena; transients only
    std::uint32_t first_pass = kNone, last_pass = kNone;  ///< lifetime, PlanFacts::passes
    bool culled = false;
    friend bool operator==(const ResourceFacts&, const ResourceFacts&) = default;
};

struct ArenaFacts {
    std::string domain;
    std::uint64_t bytes = 0;
    friend bool operator==(const ArenaFacts&, const ArenaFacts&) = default;
};

/// A pass that reaches no output.
struct CulledFacts {
    std::string name, reason;
    friend bool operator==(const CulledFacts&, const CulledFacts&) = default;
};

/// One compiled graph. Its passes are in the order of execution; those of a lane that records no spans have neither
/// work nor dependencies.
struct PlanFacts {
    PlanId id = kNoPlan;
    std::vector<PassFacts> passes;
    std::vector<BatchFacts> batches;
    std::vector<Dependency> dependencies;
    std::vector<ResourceFacts> resources;
    std::vector<ArenaFacts> arenas;
    std::uint64_t transient_bytes = 0;  ///< without aliasing
    Nanoseconds hand_over_cost{};
    std::vector<CulledFacts> culled;
    std::uint32_t batches_told = 0;  ///< reported by their lanes
    bool is_complete() const { return batches_told == batches.size(); }
    /// The index of a pass, or kNone.
    std::uint32_t find(NameId name, NameId track) const;
    friend bool operator==(const PlanFacts&, const PlanFacts&) = default;
};

/// Thread-safe. Bounded: of kMost plans the least recently used one is dropped for a new one.
class PlanBook {
  public:
    static constexpr std::size_t kMost = 64;

    explicit PlanBook(NameTable& names);
    ~PlanBook();
    PlanBook(const PlanBook&) = delete;
    PlanBook& operator=(const PlanBook&) = delete;

    /// Called by a lane with the batch that it submits and the track of its spans. Takes no lock for a known batch
    /// among the first kMostQuick of its plan; otherwise it takes a lock and allocates.
    PlanId note(const graph::BatchRecord& batch, NameId track);
    static constexpr std::size_t kMostQuick = 1024;
    /// The batch's index in PlanFacts::batches, or kNone.
    static std::uint32_t index_of(const graph::BatchRecord& batch);
    /// The number of an executor's plan (graph::Executor::id()); kNoPlan for one that was not noted. Takes no lock.
    PlanId id_of(const graph::Fingerprint& fingerprint, std::uint64_t executor) const;
    /// A plan from elsewhere, a file for example; its names are numbers of this table. Returns its number here.
    PlanId add(PlanFacts facts);
    /// Null for an unknown plan or one that was dropped.
    std::shared_ptr<const PlanFacts> find(PlanId id) const;
    std::vector<std::shared_ptr<const PlanFacts>> all() const;

  private:
    struct Page;
    /// What note() looks up without the lock; it is written under the lock. `id` is 0 while the rest changes, and no id
    /// is used twice: a reader that finds the same id before and after has read values that belong together.
    struct Quick {
        std::atomic<PlanId> id{kNoPlan};
        std::atomic<std::uint64_t> low{0}, high{0};  ///< the plan's fingerprint
        std::atomic<std::uint64_t> executor{0};
        std::atomic<std::uint64_t> last_use{0};
        std::array<std::atomic<std::uint64_t>, kMostQuick / 64> noted{};  ///< one bit per batch
    };
    Quick* find_quick(const graph::Fingerprint& fingerprint, std::uint64_t executor, PlanId& id) const;
    Page& page_of(const graph::BatchRecord& batch) KG_REQUIRES(mutex_);
    Page& add_page(PlanFacts facts, const graph::Fingerprint& fingerprint, std::uint64_t executor) KG_REQUIRES(mutex_);
    PlanId note_slowly(const graph::BatchRecord& batch, NameId track, std::uint32_t index);

    NameTable& names_;
    std::unique_ptr<std::array<Quick, kMost>> quick_;  ///< [place of the page]
    std::atomic<std::uint64_t> notes_{0};
    mutable Mutex mutex_;
    std::vector<std::unique_ptr<Page>> pages_ KG_GUARDED_BY(mutex_);
    PlanId next_ KG_GUARDED_BY(mutex_) = 1;
};

}  // namespace kinetograph::profile
