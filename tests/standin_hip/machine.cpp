#include <kinetograph/tests/standin_hip/machine.hpp>

#include <cassert>
#include <cstdlib>

namespace kinetograph::standin {

namespace {

/// KINETOGRAPH_STANDIN_HIP="devices=0" or "architecture=gfx942", for programs that a test starts.
Options options_from_environment() {
    Options options;
    const char* text = std::getenv("KINETOGRAPH_STANDIN_HIP");
    const std::string given = text == nullptr ? "" : text;
    const auto value_of = [&](std::string_view key) -> std::optional<std::string> {
        if (!given.starts_with(std::string(key) + "=")) return std::nullopt;
        return given.substr(key.size() + 1);
    };
    if (const auto devices = value_of("devices")) options.devices = std::atoi(devices->c_str());
    if (const auto architecture = value_of("architecture")) options.architecture = *architecture;
    return options;
}

}  // namespace

Machine& Machine::instance() {
    static Machine machine;
    return machine;
}

Machine::Machine() { reset(options_from_environment()); }

void Machine::reset(const Options& options) {
    assert(live() == Live{} && "everything is released before the stand-in starts over");
    std::lock_guard lock(mutex_);
    options_ = options;
    calls_.clear();
    complaints_.clear();
    addresses_ = std::make_unique<AddressSpace>(options.memory_bytes);
    kernels_ = 0;
    fault_ = Status::Success;
    random_.seed(static_cast<std::minstd_rand::result_type>(options.jitter_seed));
}

std::uint64_t Machine::calls(std::string_view entry_point) const {
    std::lock_guard lock(mutex_);
    const auto found = calls_.find(entry_point);
    return found == calls_.end() ? 0 : found->second;
}

std::uint64_t Machine::calls() const {
    std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const auto& [name, count] : calls_) sum += count;
    return sum;
}

std::uint64_t Machine::kernels_run() const { return kernels_; }

Live Machine::live() const {
    std::lock_guard lock(objects_mutex);
    Live live{.streams = streams.size(),
              .events = events.size(),
              .modules = modules.size(),
              .graphs = graphs.size(),
              .graph_execs = graph_execs.size()};
    if (!addresses_) return live;
    live.device_allocations = addresses_->count(AddressKind::Device) + addresses_->count(AddressKind::Signal);
    live.pinned_allocations = addresses_->count(AddressKind::Pinned);
    live.registrations = addresses_->count(AddressKind::Registered);
    live.imports = addresses_->count(AddressKind::Imported);
    return live;
}

std::vector<std::string> Machine::complaints() const {
    std::lock_guard lock(mutex_);
    return complaints_;
}

Status Machine::enter(const char* entry_point) {
    std::lock_guard lock(mutex_);
    ++calls_[entry_point];
    for (Injection& injection : options_.injections)
        if (injection.entry_point == entry_point && injection.call > 0 && --injection.call == 0)
            return injection.status;
    return Status::Success;
}

void Machine::complain(std::string sentence) {
    std::lock_guard lock(mutex_);
    complaints_.push_back(std::move(sentence));
}

std::int64_t Machine::device_now() const {
    const auto host = std::chrono::steady_clock::now().time_since_epoch();
    const auto nanoseconds = static_cast<double>(std::chrono::nanoseconds(host).count() % 1'000'000'000'000'000);
    return static_cast<std::int64_t>(nanoseconds * (1.0 + options_.clock_drift_ppm * 1e-6)) - 1'000'000'000;
}

Status Machine::run_kernel(const std::string& name, const KernelCall& call) {
    const bool fails = ++kernels_ == options_.faulting_launch;
    std::optional<std::string> fault;
    {
        const AddressSpace::Access access(*addresses_);
        fault = fails ? "an injected fault" : standin::run_kernel(name, call);
    }
    if (!fault) return Status::Success;
    if (!fails) complain(fmt::format("kernel {}: {}", name, *fault));
    fault_ = Status::LaunchFailure;
    return Status::LaunchFailure;
}

void Machine::wait_until_idle() {
    std::vector<const accel::hip::RuntimeStream*> all;
    {
        std::lock_guard lock(objects_mutex);
        all.reserve(streams.size());
        for (const void* stream : streams) all.push_back(static_cast<const accel::hip::RuntimeStream*>(stream));
    }
    for (const accel::hip::RuntimeStream* stream : all) stream->wait_until_idle();
}

void Machine::pause() {
    std::uint32_t dice = 0;
    {
        std::lock_guard lock(mutex_);
        if (options_.jitter_seed == 0) return;
        dice = static_cast<std::uint32_t>(random_());
    }
    if (dice % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice / 8 % 50));
}

}  // namespace kinetograph::standin

namespace kinetograph::accel::hip {

using standin::Machine;

bool RuntimeGraph::one_line() const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::vector<const RuntimeGraphNode*> expected =
            i == 0 ? std::vector<const RuntimeGraphNode*>{} : std::vector<const RuntimeGraphNode*>{nodes[i - 1].get()};
        if (nodes[i]->dependencies != expected) return false;
    }
    return true;
}

RuntimeStream::RuntimeStream() : thread_([this] { work_loop(); }) {}

RuntimeStream::~RuntimeStream() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

Status RuntimeStream::push(standin::Work work) {
    if (capture) {
        if (capture->invalidated) return Status::StreamCaptureInvalidated;
        auto node = std::make_unique<RuntimeGraphNode>();
        node->work = std::move(work);
        node->dependencies.assign(capture->tail.begin(), capture->tail.end());
        capture->tail = {node.get()};
        capture->graph->nodes.push_back(std::move(node));
        return Status::Success;
    }
    if (const Status fault = Machine::instance().fault(); fault != Status::Success) return fault;
    {
        std::lock_guard lock(mutex_);
        work_.push_back(std::move(work));
    }
    changed_.notify_all();
    return Status::Success;
}

bool RuntimeStream::idle() const {
    std::lock_guard lock(mutex_);
    return work_.empty() && !busy_;
}

void RuntimeStream::wait_until_idle() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty() && !busy_; });
}

void RuntimeStream::work_loop() {
    Machine& machine = Machine::instance();
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stop_ || !work_.empty(); });
        if (work_.empty()) return;
        standin::Work work = std::move(work_.front());
        work_.pop_front();
        busy_ = true;
        lock.unlock();
        if (machine.fault() == Status::Success) {
            machine.pause();
            (void)work();  // a fault is the machine's: it stops every stream
        }
        work = {};
        lock.lock();
        busy_ = false;
        if (work_.empty()) changed_.notify_all();
    }
}

}  // namespace kinetograph::accel::hip
