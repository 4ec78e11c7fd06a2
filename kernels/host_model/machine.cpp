#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>
#include <kinetograph/kernels/host_model/wgmma_products.hpp>
#include <thread>

namespace kinetograph::host_model {
namespace {

/// The running thread. As on the chip, instructions do not take it as an argument; they are free functions and find it
/// here. Only Machine::run_lane and stop_all set it.
thread_local Lane* running_lane = nullptr;

constexpr uint32_t kRegisterFile = 65536;
constexpr uint64_t kSharedLimit = 232448;  // 227 KiB: opt-in limit of sm_90 and sm_100

std::optional<std::string> broken_launch(const Launch& launch) {
    const Dim3& grid = launch.grid;
    const Dim3& cluster = launch.cluster;
    if (grid.count() == 0) return std::nullopt;
    if (launch.threads % 32 != 0 || launch.threads == 0 || launch.threads > 1024) {
        return "launch: " + std::to_string(launch.threads) + " threads a CTA; a multiple of 32 up to 1024 is needed";
    }
    if (cluster.count() == 0 || cluster.count() > 16) return "launch: a cluster has 1..16 CTAs";
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
        return "launch: the grid is not a multiple of the cluster on every axis";
    }
    if (launch.shared_bytes > kSharedLimit) {
        return "launch: " + std::to_string(launch.shared_bytes) + " bytes of shared memory; the limit is 232448";
    }
    if (launch.resident_clusters == 0) return "launch: at least one cluster must be resident";
    return std::nullopt;
}

}  // namespace

Who Lane::who() const { return {cta->block, thread}; }

Cta::Cta(Machine& owner, Cluster& its_cluster, Dim3 its_block, uint32_t its_rank)
    : machine(owner), cluster(its_cluster), block(its_block), rank(its_rank) {
    const Launch& launch = machine.launch();
    bytes = static_cast<uint32_t>((launch.shared_bytes + 1023) / 1024 * 1024);
    memory = static_cast<uint8_t*>(::operator new (std::max(bytes, 1024u), std::align_val_t{1024}));
    std::memset(memory, 0xff, bytes);
    layout.assign(bytes / 16, kNeverWritten);
    dirty_by.assign(bytes / 16, 0);
    warps.resize(launch.threads / 32);
    for (auto& warp : warps) warp.slots.resize(32);
    warpgroups.resize(launch.threads / 128);
    for (auto& warpgroup : warpgroups) {
        warpgroup.slots.resize(128);
        products.push_back(std::make_unique<WarpgroupProducts>());
    }
    const uint32_t even = std::min(255u, kRegisterFile / launch.threads) / 8 * 8;
    registers.assign((launch.threads + 127) / 128, launch.registers != 0 ? launch.registers : even);
}

Cta::~Cta() { ::operator delete (memory, std::align_val_t{1024}); }

Machine::Machine(const Launch& launch, const std::function<void()>& kernel, NextCluster& next)
    : launch_(launch), kernel_(kernel), dice_(launch.seed * 0x9e3779b97f4a7c15ull + 1), next_cluster_(next) {
    elected_ = random(32);
}

Machine::~Machine() { running_lane = nullptr; }

Lane& Machine::lane() { return *running_lane; }

uint32_t Machine::random(uint32_t below) { return static_cast<uint32_t>(dice_() % below); }

Outcome Machine::run() {
    if ((outcome_.fault = broken_launch(launch_))) return outcome_;
    cluster_count_ = launch_.grid.count() / launch_.cluster.count();
    while (!outcome_.fault) {
        const bool room = next_cluster_ < cluster_count_ && resident_ < launch_.resident_clusters;
        if (room && (runnable_.empty() || (!orderly() && random(64) == 0))) {
            launch_cluster();
        } else if (runnable_.empty() || wants_to_land()) {
            if (!land_one() && runnable_.empty()) {
                if (resident_ == 0) break;
                outcome_.fault = describe_deadlock(clusters_);
            }
        } else if (++outcome_.steps > launch_.step_limit) {
            outcome_.fault = "the run is endless: " + std::to_string(launch_.step_limit) + " switches were made";
        } else {
            run_lane(pick_lane());
        }
    }
    stop_all();
    return outcome_;
}

void Machine::launch_cluster() {
    const auto first = take_cluster();
    if (!first) return;
    auto cluster = std::make_unique<Cluster>();
    cluster->first_block = *first;
    const Dim3 shape = launch_.cluster;
    for (uint32_t rank = 0; rank < shape.count(); ++rank) {
        const Dim3 block{first->x + rank % shape.x, first->y + rank / shape.x % shape.y,
                         first->z + rank / (shape.x * shape.y)};
        cluster->ctas.push_back(std::make_unique<Cta>(*this, *cluster, block, rank));
        Cta& cta = *cluster->ctas.back();
        for (uint32_t thread = 0; thread < launch_.threads; ++thread) {
            cta.lanes.push_back(std::make_unique<Lane>());
            Lane& lane = *cta.lanes.back();
            lane.cta = &cta;
            lane.thread = thread;
            lane.fiber = std::make_unique<Fiber>(stacks_, [this, &lane] { run_body(lane); });
            runnable_.push_back(&lane);
        }
        cta.running = launch_.threads;
        cluster->running += launch_.threads;
    }
    ++resident_;
    clusters_.push_back(std::move(cluster));
}

std::optional<Dim3> Machine::take_cluster() {
    const uint32_t index = next_cluster_++;
    if (index >= cluster_count_) return std::nullopt;
    const Dim3 shape = launch_.cluster;
    const Dim3 clusters{launch_.grid.x / shape.x, launch_.grid.y / shape.y, launch_.grid.z / shape.z};
    return Dim3{index % clusters.x * shape.x, index / clusters.x % clusters.y * shape.y,
                index / (clusters.x * clusters.y) * shape.z};
}

void Machine::run_body(Lane& lane) {
    if (stopping_) return;
    try {
        kernel_();
        step();
        if (!lane.tensor_loads.empty()) {
            fail(lane.who(), lane.tensor_loads.front().at, "the thread ends without tcgen05.wait::ld for this load");
        }
        check_copies_waited_for(lane);
        if (lane.open_group) {
            fail(lane.who(), lane.last_store, "the thread ends without committing this store to a bulk group");
        }
        Cta& cta = *lane.cta;
        --cta.cluster.running;
        if (--cta.running == 0) retire(cta);
        // Threads that have ended no longer count at the cluster's barrier.
        if (cta.cluster.arrived > 0 && cta.cluster.arrived >= cta.cluster.running) {
            cta.cluster.arrived = 0;
            ++cta.cluster.generation;
            wake(cta.cluster.queue);
        }
    } catch (const Stopped&) {
        return;  // the fault is recorded; this thread only unwinds
    }
}

/// The end of a CTA: every asynchronous access to its memory must have been waited for, its tensor memory freed, and
/// none of its barriers may still expect bytes.
void Machine::retire(Cta& cta) {
    for (const auto& access : cta.accesses) {
        if (access->settled) continue;
        std::string sentence = describe(cta.block);
        sentence +=
            access->landed ? " exits before a wait for this operation, which " : " exits while this operation still ";
        sentence += access->writes ? "writes its " : "reads its ";
        sentence += access->space == Space::Shared ? "shared memory" : "tensor memory";
        fail(access->who, access->at, sentence);
    }
    for (const TensorAllocation& leak : cta.tensor.allocations) {
        fail({cta.block, leak.warp * 32}, leak.at,
             "the CTA exits without tcgen05.dealloc of " + std::to_string(leak.columns) + " columns");
    }
    for (const auto& [offset, barrier] : cta.barriers) {
        if (barrier.bytes != 0) {
            fail(barrier.init_who, barrier.init_at,
                 "the CTA exits while this barrier still expects bytes: " + describe_wait(barrier, barrier.phase));
        }
    }
    cta.exited = true;
    Cluster& cluster = cta.cluster;
    const bool all =
        std::all_of(cluster.ctas.begin(), cluster.ctas.end(), [](const auto& other) { return other->exited; });
    if (all) --resident_;
}

bool Machine::is_slow(const Lane& lane) const {
    const Dim3& block = lane.cta->block;
    const uint64_t name = ((launch_.seed * 1009 + block.z) * 1009 + block.y) * 1009 + block.x;
    const uint64_t mix = (name * 32 + lane.warp()) * 0x9e3779b97f4a7c15ull;
    return (mix >> 40) % 4 == 0;
}

/// Random, but a quarter of the warps is rarely chosen while others can run: this gives schedules in which a role lags.
size_t Machine::pick_lane() {
    if (orderly()) return runnable_.size() - 1;  // of the lanes woken last: their stacks are still in the cache
    size_t index = random(static_cast<uint32_t>(runnable_.size()));
    for (int again = 0; again < 8 && is_slow(*runnable_[index]); ++again) {
        index = random(static_cast<uint32_t>(runnable_.size()));
    }
    return index;
}

void Machine::run_lane(size_t index) {
    Lane& lane = *runnable_[index];
    runnable_[index] = runnable_.back();
    runnable_.pop_back();
    running_lane = &lane;
    lane.fiber->resume();
    running_lane = nullptr;
    if (!lane.fiber->finished()) return;
    lane.fiber.reset();
    // A cluster's memory is released when its last thread has ended and none of its asynchronous operations is in
    // flight.
    if (lane.cta->cluster.running == 0 && flying_.empty()) {
        std::erase_if(clusters_, [](const auto& cluster) {
            return std::all_of(cluster->ctas.begin(), cluster->ctas.end(), [](const auto& cta) {
                return cta->exited && std::none_of(cta->lanes.begin(), cta->lanes.end(),
                                                   [](const auto& other) { return other->fiber != nullptr; });
            });
        });
    }
}

bool Machine::wants_to_land() {
    if (flying_.empty()) return false;
    if (orderly()) return true;
    switch (launch_.seed % 3) {
        case 0:
            return false;
        case 1:
            return random(2) == 0;
        default:
            return random(64) == 0;
    }
}

bool Machine::land_one() {
    std::vector<size_t> free;
    for (size_t i = 0; i < flying_.size(); ++i) {
        if (flying_[i].after == 0 || !flying_ids_.contains(flying_[i].after)) free.push_back(i);
    }
    if (free.empty()) return false;
    const size_t chosen = free[random(static_cast<uint32_t>(free.size()))];
    const AsyncOperation operation = std::move(flying_[chosen]);
    flying_.erase(flying_.begin() + static_cast<ptrdiff_t>(chosen));
    flying_ids_.erase(operation.id);
    ++outcome_.landed;
    try {
        operation.land();
    } catch (const Stopped&) {
        return true;  // the fault is recorded; the loop ends
    }
    return true;
}

uint64_t Machine::begin(const Who& who, const Instruction& at, std::function<void()>&& land, uint64_t after) {
    const uint64_t id = ++next_operation_;
    flying_.push_back({.id = id, .after = after, .who = who, .at = at, .land = std::move(land)});
    flying_ids_.insert(id);
    return id;
}

void Machine::fail(const Who& who, const Instruction& at, const std::string& sentence) {
    if (!outcome_.fault) outcome_.fault = describe(who) + ", " + describe(at) + ": " + sentence;
    throw Stopped{};
}

void Machine::wait(WaitQueue& queue, const Instruction& at, std::function<std::string()> waits_for) {
    Lane& self = lane();
    self.blocked_at = at;
    self.waits_for = std::move(waits_for);
    queue.lanes.push_back(&self);
    self.fiber->suspend();
    if (stopping_) throw Stopped{};
    self.waits_for = nullptr;
}

void Machine::wake(WaitQueue& queue) {
    runnable_.insert(runnable_.end(), queue.lanes.begin(), queue.lanes.end());
    queue.lanes.clear();
}

void Machine::step(uint32_t one_in) {
    if (stopping_) throw Stopped{};
    if (orderly() || random(one_in) != 0) return;
    Lane& self = lane();
    runnable_.push_back(&self);
    self.fiber->suspend();
    if (stopping_) throw Stopped{};
}

void Machine::gather(Gathering& gathering, uint32_t slot, const char* members, const Instruction& at, uint64_t operand,
                     void* mine, const std::function<void(const std::vector<void*>&)>& act) {
    Lane& self = lane();
    if (gathering.arrived == 0) {
        gathering.first_who = self.who();
        gathering.first_at = at;
        gathering.first_operand = operand;
    } else if (std::strcmp(gathering.first_at.name, at.name) != 0 || gathering.first_at.site.line != at.site.line) {
        fail(self.who(), at,
             "threads of one " + std::string(members) + " part: lane " +
                 std::to_string(gathering.first_who.thread % 32) + " executes " + describe(gathering.first_at));
    } else if (gathering.first_operand != operand) {
        fail(self.who(), at, "threads of one " + std::string(members) + " pass different operands");
    }
    gathering.slots[slot] = mine;
    if (++gathering.arrived == gathering.slots.size()) {
        gathering.arrived = 0;
        ++gathering.generation;
        act(gathering.slots);
        wake(gathering.queue);
        return;
    }
    const uint64_t generation = gathering.generation;
    while (gathering.generation == generation) {
        wait(gathering.queue, at, [&gathering, members] {
            return std::to_string(gathering.slots.size() - gathering.arrived) + " of " +
                   std::to_string(gathering.slots.size()) + " threads of its " + members + " have not come";
        });
    }
}

void Machine::stop_all() {
    stopping_ = true;
    for (auto& cluster : clusters_) {
        for (auto& cta : cluster->ctas) {
            for (auto& lane : cta->lanes) {
                if (!lane->fiber || lane->fiber->finished()) continue;
                running_lane = lane.get();
                lane->fiber->resume();
            }
        }
    }
    running_lane = nullptr;
    flying_.clear();
    clusters_.clear();
}

Outcome run(const Launch& launch, const std::function<void()>& kernel) {
    NextCluster next = 0;
    const uint32_t wanted =
        launch.host_threads != 0 ? launch.host_threads : std::max(1u, std::thread::hardware_concurrency());
    const uint32_t clusters = launch.grid.count() / std::max(1u, launch.cluster.count());
    if (launch.schedule != Schedule::Orderly || std::min(wanted, clusters) <= 1)
        return Machine(launch, kernel, next).run();
    std::vector<Outcome> outcomes(std::min(wanted, clusters));
    std::vector<std::thread> helpers;
    helpers.reserve(outcomes.size() - 1);
    for (size_t i = 1; i < outcomes.size(); ++i)
        helpers.emplace_back([&, i] { outcomes[i] = Machine(launch, kernel, next).run(); });
    outcomes[0] = Machine(launch, kernel, next).run();
    for (std::thread& helper : helpers) helper.join();
    Outcome all;
    for (Outcome& outcome : outcomes) {
        if (!all.fault) all.fault = std::move(outcome.fault);
        all.steps += outcome.steps;
        all.landed += outcome.landed;
        all.bank_conflicts += outcome.bank_conflicts;
    }
    return all;
}

}  // namespace kinetograph::host_model
