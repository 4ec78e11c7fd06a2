// The accelerator interface: what compute passes need from a device, answered by cpu/, and later cuda/ and hip/.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::accel {

enum class Kind : std::uint8_t { Cpu, Cuda, Hip };
std::string_view to_string(Kind kind);

struct DeviceInfo {
    Kind kind = Kind::Cpu;
    std::string name;      ///< "AMD EPYC ...", "NVIDIA H200"
    std::string driver;    ///< library and version that serves it
    std::string features;  ///< instruction sets or architecture: "avx512_bf16", "sm_90"
    std::array<std::uint8_t, 16>
        uuid{};  ///< equal to VkPhysicalDeviceIDProperties::deviceUUID for the same GPU; zero for the CPU
    std::uint64_t memory_bytes = 0;
    std::uint32_t compute_units = 0;  ///< threads of the CPU, SMs or CUs of a GPU
};

/// A counter that only grows, signalled and waited for by streams and by the host.
class Timeline {
  public:
    virtual ~Timeline() = default;
    virtual std::uint64_t value() const = 0;
    /// Blocks the host until the counter reaches `value`, or `timeout` has passed; false on time-out.
    virtual bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) = 0;
    virtual void signal(std::uint64_t value) = 0;  ///< from the host
};

/// A point in a stream's work, with its time on the host axis (clock.hpp).
class Event {
  public:
    virtual ~Event() = default;
    /// Empty until the stream has passed the event.
    virtual std::optional<Nanoseconds> time() const = 0;
};

/// Memory of a device, freed on destruction. Zero-initialised by Device::allocate on the CPU; contents undefined
/// elsewhere.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual std::byte* data()
        const = 0;  ///< device address; dereferenceable on the host only where the device is the CPU
    virtual std::uint64_t bytes() const = 0;
};

/// Work in order. Every call returns before the work is done.
class Stream {
  public:
    virtual ~Stream() = default;
    /// Runs `work` when everything before it on this stream is done. On the CPU this is how a kernel is launched; an
    /// Error that it returns stops the stream: later work is skipped, and synchronize() and the timelines report it.
    virtual void enqueue(std::string_view name, std::function<Result<void>()> work) = 0;
    virtual void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) = 0;
    virtual void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) = 0;
    virtual void record(std::shared_ptr<Event> event) = 0;
    /// The first Error of work that has run since the last synchronize(), without waiting.
    virtual Result<void> status() const = 0;
    /// Blocks the host until the stream is empty; the first Error since the last call, if any, which is then forgotten.
    virtual Result<void> synchronize() = 0;
};

class Device {
  public:
    virtual ~Device() = default;
    virtual const DeviceInfo& info() const = 0;
    /// Errors: OutOfMemory, with the size asked for and the size that is free. Address aligned to 4096 bytes.
    virtual Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) = 0;
    virtual Result<std::unique_ptr<Stream>> create_stream(std::string_view name) = 0;
    virtual Result<std::shared_ptr<Timeline>> create_timeline() = 0;
    virtual Result<std::shared_ptr<Event>> create_event() = 0;
    virtual std::uint64_t bytes_allocated() const = 0;  ///< now
    virtual std::uint64_t peak_bytes() const = 0;       ///< largest bytes_allocated() so far
};

}  // namespace kinetograph::accel
