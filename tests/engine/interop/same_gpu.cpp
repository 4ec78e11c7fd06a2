#include "same_gpu.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cpu/timeline.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace kinetograph::interop::testing {
namespace {

/// What lavapipe exports is a file of memory that says at its start how long it is and where its data begin.
struct MemoryFileHeader {
    std::size_t bytes = 0;
    std::size_t data = 0;
};

class MappedMemory final : public accel::Memory {
  public:
    MappedMemory(int fd, std::byte* start, const MemoryFileHeader& header) : fd_(fd), start_(start), header_(header) {}
    ~MappedMemory() override {
        ::munmap(start_, header_.bytes);
        ::close(fd_);
    }
    std::byte* data() const override { return start_ + header_.data; }
    std::byte* host_data() const override { return nullptr; }
    std::uint64_t bytes() const override { return header_.bytes - header_.data; }

  private:
    int fd_;
    std::byte* start_;
    MemoryFileHeader header_;
};

/// A Vulkan timeline semaphore, waited for by the stream's own thread, as a GPU's front end would.
class SemaphoreTimeline final : public accel::cpu::CpuTimeline {
  public:
    explicit SemaphoreTimeline(std::shared_ptr<vulkan::testing::Payload> payload) : payload_(std::move(payload)) {}
    std::uint64_t value() const override { return payload_->value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) override {
        return payload_->wait(value, timeout);
    }
    void signal(std::uint64_t value) override { payload_->signal(value); }

  private:
    std::shared_ptr<vulkan::testing::Payload> payload_;
};

class SameGpu final : public accel::Device {
  public:
    SameGpu(const SameGpuOptions& options, AcceleratorCalls* calls)
        : options_(options), calls_(calls), cpu_(accel::cpu::create_device()), info_(cpu_->info()) {
        info_.kind = options.kind;
        info_.name = "a GPU of the tests";
        info_.uuid = options.uuid;
        info_.can_import_memory = {true, ""};
        info_.can_import_timeline = {options.imports_timelines,
                                     options.imports_timelines ? "" : "external semaphores are not supported"};
    }
    const accel::DeviceInfo& info() const override { return info_; }

    Result<std::unique_ptr<accel::Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        count();
        return cpu_->allocate(name, bytes);
    }
    Result<std::unique_ptr<accel::Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        count();
        return cpu_->allocate_pinned(name, bytes);
    }
    Result<std::unique_ptr<accel::Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        count();
        if (options_.refuses_host_memory) return fail(ErrorCode::Unsupported, "\"{}\": these pages are refused", name);
        return cpu_->import_host(name, memory);
    }
    Result<std::unique_ptr<accel::Memory>> import_memory(std::string_view name,
                                                         const accel::ExternalMemoryDesc& desc) override {
        count();
        if (options_.refuses_imports) return fail(ErrorCode::Unsupported, "\"{}\": this memory is refused", name);
        MemoryFileHeader header;
        if (::pread(desc.fd, &header, sizeof(header), 0) != sizeof(header) || header.bytes - header.data < desc.bytes)
            return fail(ErrorCode::InvalidArgument, "\"{}\" is not what lavapipe exports", name);
        void* start = ::mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, desc.fd, 0);
        if (start == MAP_FAILED) return fail(ErrorCode::Io, "\"{}\" cannot be mapped", name);
        return std::make_unique<MappedMemory>(desc.fd, static_cast<std::byte*>(start), header);
    }
    Result<std::unique_ptr<accel::Stream>> create_stream(std::string_view name) override {
        count();
        return cpu_->create_stream(name);
    }
    Result<std::shared_ptr<accel::Timeline>> create_timeline() override {
        count();
        return cpu_->create_timeline();
    }
    Result<std::shared_ptr<accel::Timeline>> import_timeline(int fd,
                                                             std::shared_ptr<accel::Timeline> /*original*/) override {
        count();
        auto payload = vulkan::testing::import_payload(fd);
        ::close(fd);
        return std::make_shared<SemaphoreTimeline>(std::move(payload));
    }
    Result<std::shared_ptr<accel::Event>> create_event() override {
        count();
        return cpu_->create_event();
    }
    Result<std::shared_ptr<accel::Module>> load(std::string_view name, std::span<const std::byte> image) override {
        return cpu_->load(name, image);
    }
    std::uint64_t bytes_allocated() const override { return cpu_->bytes_allocated(); }
    std::uint64_t peak_bytes() const override { return cpu_->peak_bytes(); }
    std::uint64_t bytes_free() const override { return cpu_->bytes_free(); }
    std::uint64_t budget_bytes() const override { return cpu_->budget_bytes(); }
    void set_budget(accel::MemoryBudget budget) override { cpu_->set_budget(std::move(budget)); }

  private:
    void count() {
        if (calls_ != nullptr) ++calls_->allocations;
    }
    SameGpuOptions options_;
    AcceleratorCalls* calls_;
    std::unique_ptr<accel::Device> cpu_;
    accel::DeviceInfo info_;
};

}  // namespace

std::unique_ptr<accel::Device> create_same_gpu(const SameGpuOptions& options, AcceleratorCalls* calls) {
    return std::make_unique<SameGpu>(options, calls);
}

}  // namespace kinetograph::interop::testing
