#include <kinetograph/engine/accel/cpu/device.hpp>

#include <kinetograph/engine/accel/cpu/stream.hpp>
#include <kinetograph/engine/accel/cpu/timeline.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <thread>

namespace kinetograph::accel::cpu {

namespace {

/// What all allocations of a device share; outlives the device for as long as memory of it is held.
struct Ledger {
    std::mutex mutex;
    std::uint64_t limit = 0;
    std::uint64_t held = 0;
    std::uint64_t peak = 0;
};

class CpuMemory final : public Memory {
  public:
    CpuMemory(std::shared_ptr<Ledger> ledger, std::byte* data, std::uint64_t bytes)
        : ledger_(std::move(ledger)), data_(data), bytes_(bytes) {}
    ~CpuMemory() override {
        ::munmap(data_, bytes_);
        std::lock_guard lock(ledger_->mutex);
        ledger_->held -= bytes_;
    }
    std::byte* data() const override { return data_; }
    std::byte* host_data() const override { return data_; }
    std::uint64_t bytes() const override { return bytes_; }

  private:
    std::shared_ptr<Ledger> ledger_;
    std::byte* data_;
    std::uint64_t bytes_;
};

/// The caller's memory: on the CPU every address is a device address.
class BorrowedMemory final : public Memory {
  public:
    explicit BorrowedMemory(std::span<std::byte> memory) : memory_(memory) {}
    std::byte* data() const override { return memory_.data(); }
    std::byte* host_data() const override { return memory_.data(); }
    std::uint64_t bytes() const override { return memory_.size(); }

  private:
    std::span<std::byte> memory_;
};

constexpr std::uint64_t kPageBytes = 4096;

std::string processor_name() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "CPU";
}

std::string processor_features() {
    std::string features;
    const auto add = [&](bool present, std::string_view name) {
        if (present) features.append(features.empty() ? "" : " ").append(name);
    };
#if defined(__x86_64__)
    __builtin_cpu_init();
    add(__builtin_cpu_supports("avx2"), "avx2");
    add(__builtin_cpu_supports("avx512f"), "avx512f");
    add(__builtin_cpu_supports("avx512vnni"), "avx512_vnni");
    add(__builtin_cpu_supports("avx512bf16"), "avx512_bf16");
#endif
    return features;
}

std::uint64_t physical_memory() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class CpuDevice final : public Device {
  public:
    explicit CpuDevice(const DeviceOptions& options) : ledger_(std::make_shared<Ledger>()) {
        info_.kind = Kind::Cpu;
        info_.name = processor_name();
        info_.driver = "host threads (OpenMP)";
        info_.features = processor_features();
        info_.memory_bytes = physical_memory();
        info_.compute_units = std::max(1U, std::thread::hardware_concurrency());
        info_.can_load.reason = kNoDeviceCode;
        info_.can_capture.reason = kNoCapture;
        info_.can_time_graphs.reason = kNoCapture;
        info_.can_import_host.available = true;
        info_.can_import_memory.reason = "memory of another API is not mapped into the CPU's streams";
        info_.can_import_timeline.reason = "semaphores of another API are invisible to the CPU's streams";
        ledger_->limit = options.memory_limit != 0 ? options.memory_limit : info_.memory_bytes;
    }

    const DeviceInfo& info() const override { return info_; }

    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + kPageBytes - 1) / kPageBytes * kPageBytes;
        std::lock_guard lock(ledger_->mutex);
        const std::uint64_t free = ledger_->limit - ledger_->held;
        if (rounded < bytes || rounded > free)
            return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, {} of {} bytes are free on {}", name, bytes,
                        free, ledger_->limit, info_.name);
        void* data = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data == MAP_FAILED)
            return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, which the operating system refused", name,
                        bytes);
        constexpr std::uint64_t kHugePage = 2U << 20U;
        if (rounded >= kHugePage) ::madvise(data, rounded, MADV_HUGEPAGE);  // only a hint: fewer TLB misses
        ledger_->held += rounded;
        ledger_->peak = std::max(ledger_->peak, ledger_->held);
        return std::make_unique<CpuMemory>(ledger_, static_cast<std::byte*>(data), rounded);
    }

    Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        return allocate(name, bytes);
    }
    Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        if (reinterpret_cast<std::uintptr_t>(memory.data()) % kPageBytes != 0 || memory.size() % kPageBytes != 0)
            return fail(ErrorCode::InvalidArgument, "\"{}\": {} bytes at {} are not whole pages of {} bytes", name,
                        memory.size(), static_cast<const void*>(memory.data()), kPageBytes);
        return std::make_unique<BorrowedMemory>(memory);
    }
    Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& /*desc*/) override {
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, info_.name,
                    info_.can_import_memory.reason);
    }

    Result<std::unique_ptr<Stream>> create_stream(std::string_view name) override {
        return std::make_unique<CpuStream>(name);
    }
    Result<std::shared_ptr<Timeline>> create_timeline() override { return std::make_shared<CpuTimeline>(); }
    Result<std::shared_ptr<Timeline>> import_timeline(int /*fd*/, std::shared_ptr<Timeline> /*original*/) override {
        return fail(ErrorCode::Unsupported, "importing a timeline into {}: {}", info_.name,
                    info_.can_import_timeline.reason);
    }
    Result<std::shared_ptr<Module>> load(std::string_view name, std::span<const std::byte> /*image*/) override {
        return fail(ErrorCode::Unsupported, "loading \"{}\" on {}: {}", name, info_.name, info_.can_load.reason);
    }
    Result<std::shared_ptr<Event>> create_event() override { return std::make_shared<CpuEvent>(); }

    std::uint64_t bytes_allocated() const override {
        std::lock_guard lock(ledger_->mutex);
        return ledger_->held;
    }
    std::uint64_t peak_bytes() const override {
        std::lock_guard lock(ledger_->mutex);
        return ledger_->peak;
    }

  private:
    DeviceInfo info_;
    std::shared_ptr<Ledger> ledger_;
};

}  // namespace

std::unique_ptr<Device> create_device(const DeviceOptions& options) { return std::make_unique<CpuDevice>(options); }

}  // namespace kinetograph::accel::cpu
