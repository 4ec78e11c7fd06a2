#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/wave_machine.hpp>

namespace kinetograph::host_model {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kWaveStackBytes = 16 << 20;  // in unoptimised builds every temporary has its own slot and redzones
#else
constexpr size_t kWaveStackBytes = 2 << 20;
#endif

thread_local WaveMachine* current_machine = nullptr;

std::string place(const Dim3& workgroup) {
    return "workgroup (" + std::to_string(workgroup.x) + "," + std::to_string(workgroup.y) + "," +
           std::to_string(workgroup.z) + ")";
}

}  // namespace

WaveMachine::WaveMachine(const ModelKernel& kernel, const WaveLaunch& launch, const void* parameters)
    : kernel_(kernel),
      launch_(launch),
      parameters_(parameters),
      landing_(static_cast<Landing>(launch.seed % 3)),
      stacks_(kWaveStackBytes) {}

WaveMachine& WaveMachine::current() { return *current_machine; }

/// xorshift64*: called at every instruction, so it must be cheap.
uint32_t WaveMachine::random(uint32_t below) {
    random_state_ ^= random_state_ >> 12;
    random_state_ ^= random_state_ << 25;
    random_state_ ^= random_state_ >> 27;
    return static_cast<uint32_t>(((random_state_ * 0x2545f4914f6cdd1dull) >> 32) * below >> 32);
}

std::optional<std::string> WaveMachine::run(Dim3 workgroup, uint64_t index) {
    WaveMachine* const outer = std::exchange(current_machine, this);
    workgroup_ = workgroup;
    random_state_ = (launch_.seed * 0x9e3779b97f4a7c15ull ^ (index + 1) * 0xbf58476d1ce4e5b9ull) | 1;
    steps_ = 0;
    stopped_ = false;
    fault_.reset();
    lds_bytes_ = 0;
    start_waves();
    run_waves();
    waves_.clear();
    current_machine = outer;
    return fault_;
}

void WaveMachine::start_waves() {
    waves_.resize(kernel_.threads / kWaveLanes);
    for (uint32_t i = 0; i < waves_.size(); ++i) {
        waves_[i].index = i;
        waves_[i].accesses.resize(1);
        waves_[i].fiber = std::make_unique<Fiber>(stacks_, [this] {
            try {
                kernel_.run(parameters_);
                finish_wave();
            } catch (const Stopped&) {
            }
        });
    }
}

void WaveMachine::run_wave(Wave& wave) {
    running_ = &wave;
    wave.fiber->resume();
}

void WaveMachine::run_waves() {
    std::vector<Wave*> ready;
    ready.reserve(waves_.size());
    while (!stopped_) {
        ready.clear();
        for (Wave& wave : waves_) {
            if (!wave.fiber->finished() && !wave.at_barrier) ready.push_back(&wave);
        }
        if (!ready.empty()) {
            run_wave(*ready[random(static_cast<uint32_t>(ready.size()))]);
        } else if (std::all_of(waves_.begin(), waves_.end(), [](const Wave& w) { return w.fiber->finished(); })) {
            return;
        } else {
            release_barrier();
        }
    }
    for (Wave& wave : waves_) {
        while (!wave.fiber->finished()) run_wave(wave);  // unwinds by Stopped
    }
}

void WaveMachine::release_barrier() {
    for (Wave& wave : waves_) {
        if (wave.at_barrier) continue;
        const auto waiting = std::find_if(waves_.begin(), waves_.end(), [](const Wave& w) { return w.at_barrier; });
        fault_ = place(workgroup_) + " wave " + std::to_string(waiting->index) + ", " + describe(waiting->barrier_at) +
                 ": deadlock: wave " + std::to_string(wave.index) + " has ended without coming to the barrier";
        stopped_ = true;
        return;
    }
    for (Wave& wave : waves_) {
        wave.at_barrier = false;
        ++wave.barriers;
    }
}

void WaveMachine::finish_wave() {
    Wave& wave = *running_;
    for (const VectorOperation& operation : wave.vector_memory) {
        if (operation.access == 0) continue;
        fail(wave.accesses[operation.access].at,
             "the wave ends without having waited for this load, which may land in the next workgroup's LDS");
    }
}

void WaveMachine::fail(const Instruction& at, const std::string& sentence) {
    if (!fault_) {
        fault_ = place(workgroup_) + " wave " + std::to_string(running_->index) + ", " + describe(at) + ": " + sentence;
    }
    stopped_ = true;
    throw Stopped{};
}

void WaveMachine::suspend() {
    running_->fiber->suspend();
    if (stopped_) throw Stopped{};
}

void WaveMachine::step() {
    if (++steps_ > launch_.step_limit) {
        fail({"endless", {}},
             "the workgroup has not ended after " + std::to_string(launch_.step_limit) + " instructions");
    }
    if (landing_ != Landing::Mixed) return;
    Wave& wave = *running_;
    if (!wave.vector_memory.empty() && random(8) == 0) {
        land(wave.vector_memory[random(static_cast<uint32_t>(wave.vector_memory.size()))]);
    }
    if (random(16) == 0) suspend();
}

void WaveMachine::barrier(const Instruction& at) {
    Wave& wave = *running_;
    wave.at_barrier = true;
    wave.barrier_at = at;
    suspend();
}

void WaveMachine::land(VectorOperation& operation) {
    if (operation.landed) return;
    operation.landed = true;
    std::memcpy(lds_.data() + operation.place / 4, operation.data.data(), sizeof(operation.data));
}

void WaveMachine::wait_vector_memory(uint32_t pending) {
    step();
    Wave& wave = *running_;
    while (wave.vector_memory.size() > pending) {
        VectorOperation& oldest = wave.vector_memory.front();
        land(oldest);
        if (oldest.access != 0) wave.accesses[oldest.access].settled = wave.barriers;
        wave.vector_memory.pop_front();
    }
}

void WaveMachine::wait_lds() {
    step();
    Wave& wave = *running_;
    for (const uint32_t access : wave.unsettled) wave.accesses[access].settled = wave.barriers;
    wave.unsettled.clear();
}

VectorOperation& WaveMachine::queue_load(uint32_t place, const Instruction& at) {
    check_place(place, 1024, at);
    if (place % 16 != 0) fail(at, "LDS+" + std::to_string(place) + " is not aligned to 16 bytes");
    Wave& wave = *running_;
    check_write(place / 4, 256, true, at);
    const auto access = static_cast<uint32_t>(wave.accesses.size());
    wave.accesses.push_back({.at = at, .by_load = true});
    std::fill_n(writers_.begin() + place / 4, 256, Writer::of(wave.index, access));
    std::fill_n(lds_.begin() + place / 4, 256, ~0u);  // poison until it lands
    ++counts_.loads_to_lds;
    VectorOperation& operation = wave.vector_memory.emplace_back();
    operation.access = access;
    operation.place = place;
    operation.landed = false;
    return operation;
}

void WaveMachine::issued(VectorOperation& operation) {
    if (landing_ == Landing::AtOnce) land(operation);
}

void WaveMachine::queue_store() { running_->vector_memory.emplace_back(); }

// The instructions of wave.hpp.

Dim3 wave_workgroup() { return WaveMachine::current().workgroup(); }
uint32_t wave_in_workgroup() { return WaveMachine::wave().index; }
void wait_vector_memory(uint32_t pending, const Instruction&) { WaveMachine::current().wait_vector_memory(pending); }
void wait_lds(const Instruction&) { WaveMachine::current().wait_lds(); }
void wave_barrier(const Instruction& at) { WaveMachine::current().barrier(at); }

}  // namespace kinetograph::host_model
