#include <kinetograph/engine/accel/cpu/device.hpp>

#include <kinetograph/engine/accel/cpu/stream.hpp>
#include <kinetograph/engine/accel/cpu/timeline.hpp>
#include <kinetograph/engine/accel/ledger.hpp>
#include <kinetograph/engine/accel/sysfs_sensors.hpp>
#include <kinetograph/engine/base/host_memory.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace kinetograph::accel::cpu {

namespace {

/// The ledger outlives the device for as long as memory of it is held.
class CpuMemory final : public Memory {
  public:
    CpuMemory(std::shared_ptr<Ledger> ledger, HostPages pages) : ledger_(std::move(ledger)), pages_(std::move(pages)) {}
    ~CpuMemory() override { ledger_->remove(bytes()); }
    std::byte* data() const override { return pages_.bytes().data(); }
    std::byte* host_data() const override { return data(); }
    std::uint64_t bytes() const override { return pages_.bytes().size(); }

  private:
    std::shared_ptr<Ledger> ledger_;
    HostPages pages_;
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

std::string processor_name() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "CPU";
}

/// What runs its work, and what keeps that from using all of the processor.
std::string driver_text() {
    const auto cap = processor().cap;
    return cap ? fmt::format("host threads, capped by KINETOGRAPH_CPU={}", to_string(*cap)) : "host threads";
}

std::uint64_t physical_memory() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class CpuDevice final : public Device {
  public:
    explicit CpuDevice(const DeviceHooks& hooks)
        : Device(hooks.log), host_(hooks.host), ledger_(std::make_shared<Ledger>()) {
        ledger_->set_budget(hooks.budget);
        info_.name = processor_name();
        info_.driver = driver_text();
        info_.features = processor().features;
        info_.memory_bytes = physical_memory();
        info_.compute_units = static_cast<std::uint32_t>(worker_count());
        info_.can_load.reason = kNoDeviceCode;
        info_.can_capture.reason = kNoCapture;
        info_.can_time_graphs.reason = kNoCapture;
        info_.can_import_host.available = true;
        info_.can_import_memory.reason = "memory of another API is not mapped into the CPU's streams";
        info_.can_import_timeline.reason = "semaphores of another API are invisible to the CPU's streams";
    }

    const DeviceInfo& info() const override { return info_; }

    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        return allocate_or_relieve(
            *ledger_, name, bytes, [&] { return allocate_once(name, bytes); }, [this] { return bytes_free(); });
    }

    Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        return allocate(name, bytes);
    }
    Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        if (reinterpret_cast<std::uintptr_t>(memory.data()) % kHostPageBytes != 0 ||
            memory.size() % kHostPageBytes != 0)
            return fail(ErrorCode::InvalidArgument, "\"{}\": {} bytes at {} are not whole pages of {} bytes", name,
                        memory.size(), static_cast<const void*>(memory.data()), kHostPageBytes);
        return std::make_unique<BorrowedMemory>(memory);
    }
    Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& /*desc*/) override {
        return fail(ErrorCode::Unsupported, "importing \"{}\" into {}: {}", name, info_.name,
                    info_.can_import_memory.reason);
    }

    Result<std::unique_ptr<Stream>> create_stream(std::string_view name) override {
        return std::make_unique<CpuStream>(name);
    }
    Result<void> reach(Device& other) override {
        return other.info().is_host() ? Result<void>{} : Device::reach(other);
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

    std::uint64_t bytes_allocated() const override { return ledger_->held(); }
    std::uint64_t peak_bytes() const override { return ledger_->peak(); }
    std::uint64_t bytes_free() const override {
        return std::min({available_host_memory(), info_.memory_bytes, ledger_->left()});
    }
    std::uint64_t budget_bytes() const override { return ledger_->budget(); }
    void set_budget(MemoryBudget budget) override { ledger_->set_budget(std::move(budget)); }

  private:
    Result<std::unique_ptr<Memory>> allocate_once(std::string_view name, std::uint64_t bytes) {
        constexpr std::uint64_t kLarge = 1U << 20U;  // for less, asking the system would cost more than allocating
        const std::uint64_t rounded = whole_host_pages(std::max<std::uint64_t>(bytes, 1));
        if (rounded < bytes || !ledger_->add(rounded)) return over_budget(*ledger_, name, bytes, info_.name);
        const std::uint64_t available = rounded < kLarge ? rounded : available_host_memory();
        auto pages = rounded <= available ? HostPages::allocate(rounded, host_) : std::nullopt;
        if (pages) return std::make_unique<CpuMemory>(ledger_, *std::move(pages));
        ledger_->remove(rounded);
        if (rounded > available)
            return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, {} of {} bytes are free on {}", name, bytes,
                        available, info_.memory_bytes, info_.name);
        return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, which the {} refused", name, bytes,
                    host_ ? "application's allocator" : "operating system");
    }

    DeviceInfo info_;
    HostAllocator host_;
    std::shared_ptr<Ledger> ledger_;
};

}  // namespace

Backend backend() {
    constexpr std::int32_t kDlCpu = 1;
    return {.name = DeviceInfo::kHost,
            .inspect = []() -> Result<std::vector<DeviceInfo>> {
                KG_CHECK(check_processor_cap());
                return std::vector{create_device()->info()};
            },
            .open = [](std::uint32_t ordinal, const DeviceHooks& hooks) -> Result<std::unique_ptr<Device>> {
                if (ordinal > 0)
                    return fail(ErrorCode::OutOfRange, "CPU device {}: there is one, counted from 0", ordinal);
                KG_CHECK(check_processor_cap());
                return create_device(hooks);
            },
            .open_sensors = [](const DeviceInfo& /*device*/,
                               const SensorSources& sources) { return open_cpu_sensors(sources.sysfs); },
            .dlpack_type = kDlCpu};
}

std::unique_ptr<Device> create_device(const DeviceHooks& hooks) { return std::make_unique<CpuDevice>(hooks); }

}  // namespace kinetograph::accel::cpu
