#include <kinetograph/tests/standin/machine.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cstdlib>

namespace kinetograph::standin {

namespace {

/// KINETOGRAPH_STANDIN="devices=0" or "architecture=gfx942", for programs started by a test.
Options options_from_environment() {
    Options options;
    const char* text = std::getenv("KINETOGRAPH_STANDIN");
    const std::string given = text == nullptr ? "" : text;
    const auto value_of = [&](std::string_view key) -> std::optional<std::string> {
        if (!given.starts_with(std::string(key) + "=")) return std::nullopt;
        return given.substr(key.size() + 1);
    };
    if (const auto devices = value_of("devices")) options.devices = std::atoi(devices->c_str());
    if (const auto architecture = value_of("architecture")) options.architecture = *architecture;
    return options;
}

/// A value in a memory file, which two processes could share.
class MemoryCounter final : public ExternalCounter {
  public:
    explicit MemoryCounter(std::uint64_t* value) : value_(value) {}
    ~MemoryCounter() override { ::munmap(value_, sizeof(*value_)); }
    MemoryCounter(const MemoryCounter&) = delete;
    MemoryCounter& operator=(const MemoryCounter&) = delete;
    std::uint64_t value() const override { return std::atomic_ref(*value_).load(std::memory_order_acquire); }
    void signal(std::uint64_t value) override { std::atomic_ref(*value_).store(value, std::memory_order_release); }

  private:
    std::uint64_t* value_;
};

std::shared_ptr<ExternalCounter> import_memory_counter(int fd) {
    void* mapped = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) return nullptr;
    return std::make_shared<MemoryCounter>(static_cast<std::uint64_t*>(mapped));
}

}  // namespace

std::unique_ptr<ExternalMemory> ExternalMemory::open(int fd, std::uint64_t bytes) {
    std::unique_ptr<ExternalMemory> memory(new ExternalMemory(::dup(fd), bytes));
    if (Machine::instance().options().files == MemoryFiles::Lavapipe) {
        std::array<std::uint64_t, 2> header{};  // size of the whole file, offset of its data
        if (::pread(fd, header.data(), sizeof(header), 0) != sizeof(header)) return nullptr;
        memory->data = header[1];
    }
    struct stat file {};
    if (::fstat(fd, &file) != 0 || static_cast<std::uint64_t>(file.st_size) < memory->data + bytes) return nullptr;
    return memory;
}

ExternalMemory::~ExternalMemory() { ::close(fd); }

Function* Module::find(std::string_view name) {
    if (kernels && !kernels->contains(name)) return nullptr;
    const auto kernel = find_kernel(name);
    if (!kernel) return nullptr;
    functions.push_back(std::make_unique<Function>(Function{.module = this, .kernel = *kernel}));
    return functions.back().get();
}

Machine& Machine::instance() {
    static Machine machine;
    return machine;
}

Machine::Machine() { reset(options_from_environment()); }

void Machine::reset(const Options& options) {
    assert(live() == Live{} && "everything is released before the stand-in starts over");
    std::lock_guard lock(mutex_);
    options_ = options;
    const PosedDevice posed = posed_device();
    if (options_.name.empty()) options_.name = posed.name;
    if (options_.architecture.empty()) options_.architecture = posed.architecture;
    if (!options_.imports_timelines) options_.imports_timelines = posed.imports_timelines;
    import_ = &import_memory_counter;
    calls_.clear();
    complaints_.clear();
    addresses_ = std::make_unique<AddressSpace>(options.memory_bytes);
    holds_copies_to_host_ = false;
    kernels_ = 0;
    fault_ = Status();
    queues_.clear();
    for (std::size_t i = 0; i < options.hardware_queues; ++i) queues_.push_back(std::make_shared<HardwareQueue>());
    queues_given_ = 0;
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
    Live live{.streams = streams.all().size() - contexts,  // each has a default stream
              .events = events.all().size(),
              .modules = modules.all().size(),
              .graphs = graphs.all().size(),
              .graph_execs = graph_execs.all().size(),
              .imports = external_memories.all().size(),
              .semaphores = external_semaphores.all().size(),
              .contexts = contexts};
    if (!addresses_) return live;
    live.device_allocations = addresses_->count(AddressKind::Device) + addresses_->count(AddressKind::Signal);
    live.pinned_allocations = addresses_->count(AddressKind::Pinned);
    live.registrations = addresses_->count(AddressKind::Registered);
    live.imports += addresses_->count(AddressKind::Imported);
    return live;
}

std::vector<std::string> Machine::complaints() const {
    std::lock_guard lock(mutex_);
    return complaints_;
}

void Machine::import_semaphores(std::function<std::shared_ptr<ExternalCounter>(int fd)> import) {
    std::lock_guard lock(mutex_);
    import_ = std::move(import);
}

std::shared_ptr<ExternalCounter> Machine::import_semaphore(int fd) const {
    std::lock_guard lock(mutex_);
    return import_(fd);
}

Status Machine::enter(const char* entry_point) {
    { std::lock_guard calls(call_mutex_); }
    std::lock_guard lock(mutex_);
    ++calls_[entry_point];
    for (Injection& injection : options_.injections)
        if (injection.entry_point == entry_point && injection.call > 0 && --injection.call == 0)
            return injection.status;
    return {};
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

std::shared_ptr<HardwareQueue> Machine::hardware_queue() {
    std::lock_guard lock(mutex_);
    return queues_.empty() ? nullptr : queues_[queues_given_++ % queues_.size()];
}

Status Machine::run_kernel(const std::string& name, const KernelCall& call) {
    const bool fails = ++kernels_ == options_.faulting_launch;
    while (name == options_.hanging_kernel) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (name == options_.idle_kernel) return {};
    std::optional<std::string> fault;
    {
        const AddressSpace::Access access(*addresses_);
        fault = fails ? "an injected fault" : standin::run_kernel(name, call);
    }
    if (!fault) return {};
    if (!fails) complain(fmt::format("kernel {}: {}", name, *fault));
    fault_ = Status(Code::LaunchFailure);
    return fault_.load();
}

void Machine::fail() { fault_ = Status(Code::LaunchFailure); }

void Machine::inject(const Injection& injection) {
    std::lock_guard lock(mutex_);
    options_.injections.push_back(injection);
}

void Machine::wait_until_idle() {
    for (const Stream* stream : streams.all()) stream->wait_until_idle();
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
