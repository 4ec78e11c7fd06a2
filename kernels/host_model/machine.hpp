#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <kinetograph/kernels/host_model/fiber.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <kinetograph/kernels/host_model/shared_order.hpp>
#include <kinetograph/kernels/host_model/tensor_memory.hpp>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

/// The state of a modelled GPU: what the instruction files (mbarrier.cpp, tma.cpp, ...) work on.
namespace kinetograph::host_model {

struct Cluster;
struct Cta;
struct Lane;
struct MBarrier;
class Machine;

/// Thrown through a kernel's frames to end its fiber after a fault.
struct Stopped {};

/// A thread's identity, which outlives the thread.
struct Who {
    Dim3 block;
    uint32_t thread = 0;
};

struct WaitQueue {
    std::vector<Lane*> lanes;
};

enum class Space : uint8_t { Shared, Tensor };

/// What an asynchronous operation reads or writes, from its issue until a thread has waited for it in the documented
/// way. Shared: bytes [begin, end) of the CTA's memory. Tensor: columns [begin, end) of the lane quarters in
/// `quarters`.
struct Access {
    Cta* cta = nullptr;
    Space space = Space::Shared;
    uint32_t begin = 0, end = 0;
    uint8_t quarters = 0xf;
    bool writes = false;
    Who who;
    Instruction at;
    const void* stream = nullptr;  ///< operations of one stream are ordered among themselves
    bool landed = false;
    bool settled = false;
};
using AccessPtr = std::shared_ptr<Access>;

struct AsyncOperation {
    uint64_t id = 0;
    uint64_t after = 0;  ///< id of the operation that must land first; 0: none
    Who who;
    Instruction at;
    std::function<void()> land;
};

/// Threads that execute one instruction together; each deposits a pointer to its operands.
struct Gathering {
    std::vector<void*> slots;
    uint32_t arrived = 0;
    uint64_t generation = 0;
    Who first_who;
    Instruction first_at;
    uint64_t first_operand = 0;
    WaitQueue queue;
};

struct NamedBarrier {
    uint32_t expected = 0, arrived = 0;
    uint64_t generation = 0;
    Instruction first_at;
    WaitQueue queue;
};

struct MBarrier {
    Cta* cta = nullptr;
    uint32_t offset = 0;
    uint32_t count = 0, pending = 0;
    int64_t bytes = 0;  ///< expected minus arrived, of the current phase
    int64_t phase = 0;  ///< number of the current phase
    int64_t observed = -1;
    uint64_t expected_bytes = 0;
    Who init_who;
    Instruction init_at;
    uint64_t init_time = 0;
    bool fenced = false;
    WaitQueue queue;
    std::vector<std::pair<int64_t, AccessPtr>> publishes;  ///< settled when a thread has waited for the phase
};

struct BulkGroup {
    std::vector<AccessPtr> reads;
    uint32_t unread = 0, unwritten = 0;
    WaitQueue queue;
};

/// The cp.async copies of one thread between two commits.
struct CopyGroup {
    std::vector<std::unique_ptr<PendingCopy>> copies;
    bool landed = false;
    WaitQueue queue;
};

/// A tcgen05.ld whose registers are not valid yet.
struct PendingTensorLoad {
    uint32_t* registers;
    std::vector<uint32_t> values;
    Instruction at;
};

/// A word stored to another CTA's shared memory. It becomes visible when the storing thread releases it to the cluster,
/// or another thread of its warp does so after a sync_warp.
struct RemoteStore {
    Cta* cta;
    uint32_t offset, value;
    uint64_t time;
};

struct Lane {
    Cta* cta = nullptr;
    uint32_t thread = 0;
    std::unique_ptr<Fiber> fiber;
    Instruction blocked_at;
    std::function<std::string()> waits_for;
    // Times (Machine::time) of this thread's last synchronisations and fences.
    uint64_t warp_sync = 0, cta_sync = 0, cluster_sync = 0;
    uint32_t cta_epoch = 0, warp_epoch = 0;  ///< barriers of the CTA and of the warp that the thread has passed
    std::map<const MBarrier*, int64_t> observed;
    std::vector<uint32_t> dirty;  ///< 16-byte granules the thread has written since its last proxy fence
    std::vector<std::pair<uint32_t, Instruction>>
        answers_read;              ///< launch-control slots the thread has read since that fence
    std::vector<MBarrier*> inits;  ///< barriers the thread has initialised since its last fence
    std::vector<RemoteStore> remote_stores;
    bool in_cluster_barrier = false;
    uint64_t cluster_generation = 0;
    std::deque<std::shared_ptr<BulkGroup>> groups;
    std::shared_ptr<BulkGroup> open_group;
    Instruction last_store;
    std::deque<std::shared_ptr<CopyGroup>> copy_groups;  ///< committed, not yet waited for
    std::shared_ptr<CopyGroup> open_copies;
    std::vector<PendingTensorLoad> tensor_loads;
    uint64_t after_sync = 0;  ///< the thread's last tcgen05.fence::after_thread_sync
    std::vector<AccessPtr>
        tensor_accesses;  ///< of the thread's products, until a commit that covers them has been waited for
    uint64_t last_tensor_operation = 0;
    bool wgmma_fenced = false;

    uint32_t warp() const { return thread / 32; }
    uint32_t lane() const { return thread % 32; }
    Who who() const;
};

/// Accumulators of a warpgroup that are in flight: the registers hold poison, the values are here.
struct WarpgroupProducts;

struct Cta {
    Cta(Machine& machine, Cluster& cluster, Dim3 block, uint32_t rank);
    ~Cta();
    Cta(const Cta&) = delete;
    Cta& operator=(const Cta&) = delete;

    Machine& machine;
    Cluster& cluster;
    Dim3 block;
    uint32_t rank;
    uint8_t* memory = nullptr;  ///< 1024-byte aligned
    uint32_t bytes = 0;
    std::vector<uint8_t> layout;     ///< per 16 bytes: kNeverWritten, kPlain or 2 + the Swizzle that TMA wrote with
    std::vector<uint32_t> dirty_by;  ///< per 16 bytes: 1 + the thread whose write no proxy fence has published
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<Gathering> warps, warpgroups;
    std::vector<std::unique_ptr<WarpgroupProducts>> products;
    std::array<NamedBarrier, 16> named;
    std::map<uint32_t, MBarrier> barriers;
    std::vector<AccessPtr> accesses;
    SharedOrder order;
    bool partial_barriers = false;  ///< some warps have met at a barrier without the others
    TensorMemory tensor;
    std::vector<uint32_t> registers;  ///< [warpgroup]: registers per thread
    WaitQueue register_queue;
    uint32_t running = 0;
    bool exited = false;
};

inline constexpr uint8_t kNeverWritten = 0, kPlain = 1, kSwizzledBase = 2;
inline constexpr uint32_t kSharedBase = 1024;  ///< the first KiB of a CTA's window belongs to the system
inline constexpr uint32_t kRankShift = 24;

struct Cluster {
    std::vector<std::unique_ptr<Cta>> ctas;
    Dim3 first_block;
    uint32_t arrived = 0;
    uint64_t generation = 0;
    WaitQueue queue;
    uint32_t running = 0;
    bool cancel_failed = false;
    Instruction failed_at;
};

/// The grid's next cluster that has not been launched.
using NextCluster = std::atomic<uint32_t>;

class Machine {
  public:
    /// Runs clusters until none is left; machines that share `next` share the grid.
    Machine(const Launch& launch, const std::function<void()>& kernel, NextCluster& next);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    Outcome run();

    /// The thread whose fiber is running; instructions act on its behalf.
    static Lane& lane();

    [[noreturn]] void fail(const Who& who, const Instruction& at, const std::string& sentence);

    /// Blocks the running thread until `wake` is called on the queue. The caller must check its condition again.
    void wait(WaitQueue& queue, const Instruction& at, std::function<std::string()> waits_for);
    void wake(WaitQueue& queue);
    /// May let other threads run; every instruction begins with it.
    void step(uint32_t one_in = 4);

    /// Executes `act(slots)` when all threads of the gathering have arrived with the same instruction, line and
    /// operand.
    void gather(Gathering& gathering, uint32_t slot, const char* members, const Instruction& at, uint64_t operand,
                void* mine, const std::function<void(const std::vector<void*>&)>& act);

    /// Schedules `land` for a random later moment, after operation `after`; returns the operation's id.
    uint64_t begin(const Who& who, const Instruction& at, std::function<void()>&& land, uint64_t after = 0);

    /// Takes the next cluster that has not been launched, for launch control; none when the grid is exhausted.
    std::optional<Dim3> take_cluster();

    bool orderly() const { return launch_.schedule == Schedule::Orderly; }
    void count_bank_conflicts(uint32_t count) { outcome_.bank_conflicts += count; }
    uint64_t time() { return ++time_; }
    uint32_t random(uint32_t below);
    const Launch& launch() const { return launch_; }
    uint32_t elected() const { return elected_; }

  private:
    void launch_cluster();
    void retire(Cta& cta);
    void run_lane(size_t index);
    size_t pick_lane();
    bool land_one();
    bool wants_to_land();
    bool is_slow(const Lane& lane) const;
    void stop_all();
    void run_body(Lane& lane);

    Launch launch_;
    const std::function<void()>& kernel_;
    std::mt19937_64 dice_;
    StackPool stacks_;
    std::vector<std::unique_ptr<Cluster>> clusters_;
    std::vector<Lane*> runnable_;
    std::vector<AsyncOperation> flying_;
    std::unordered_set<uint64_t> flying_ids_;
    NextCluster& next_cluster_;
    uint32_t cluster_count_ = 0, resident_ = 0;
    uint64_t next_operation_ = 0, time_ = 0;
    uint32_t elected_ = 0;
    bool stopping_ = false;
    Outcome outcome_;
};

// --- accesses.cpp: conflicts with asynchronous work in flight ---

/// Stops the run if [begin, end) of the CTA's shared memory (or tensor columns) is still being written by asynchronous
/// work outside `stream` that has not been waited for; for a write, also if such work still reads it.
void check_access(const Access& access);
/// check_access, then keeps the access until it is settled.
AccessPtr track(const Access& access);
void settle(const AccessPtr& access);

// --- shared_memory.cpp ---

/// Offset of `pointer` in the running thread's CTA; stops the run if it is outside or misaligned.
uint32_t shared_offset(const void* pointer, uint64_t bytes, uint32_t alignment, const Instruction& at);
/// CTA and offset of a shared::cluster address.
struct ClusterPlace {
    Cta* cta;
    uint32_t offset;
};
ClusterPlace cluster_place(Lane& lane, uint32_t address, uint32_t bytes, const Instruction& at);
/// Stops the run if an asynchronous reader would read bytes that were never written, or written without a proxy fence.
void check_async_read(Cta& cta, uint32_t begin, uint32_t end, const Who& who, const Instruction& at);
/// Fills the destination of an asynchronous write with NaN patterns.
void poison(Cta& cta, uint32_t begin, uint32_t end);
void mark_layout(Cta& cta, uint32_t begin, uint32_t end, uint8_t layout);
/// Makes remote stores visible: the lane's own, and those that its warp made before the lane's last sync_warp.
void publish_remote_stores(Lane& lane);

// --- cp_async.cpp ---

/// Stops the run if the thread, which has ended, never waited for some of its copies.
void check_copies_waited_for(const Lane& lane);

// --- mbarrier.cpp ---

MBarrier& find_barrier(Cta& cta, uint32_t offset, const Who& who, const Instruction& at);
/// The barrier that asynchronous work will signal; stops the run unless its init has been published.
MBarrier& signal_target(Lane& lane, Cta& cta, uint32_t offset, const Instruction& at);
void arrive_at(MBarrier& barrier, const Who& who, const Instruction& at);
void complete_bytes(MBarrier& barrier, uint32_t bytes, const Who& who, const Instruction& at);
/// Waiting for the barrier's current phase will settle `access`.
void publish(MBarrier& barrier, const AccessPtr& access);

// --- tensor_memory.cpp ---

/// All tcgen05 instructions of a kernel use one cta_group.
void check_group(Lane& lane, int group, const Instruction& at);
/// Stops the run unless a single allocation of the CTA holds columns [begin, end).
void check_allocated(Cta& cta, uint32_t begin, uint32_t end, const Who& who, const Instruction& at);

// --- report.cpp ---

std::string describe(const Dim3& block);
std::string describe(const Who& who);
std::string describe(const Instruction& at);
std::string describe_place(const Cta& cta, uint32_t offset);
std::string describe_wait(const MBarrier& barrier, int64_t phase);
std::string describe_deadlock(const std::vector<std::unique_ptr<Cluster>>& clusters);

}  // namespace kinetograph::host_model
