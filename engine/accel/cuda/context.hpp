// Context: what everything of one CUDA device shares; it lives as long as the last of them.
#pragma once

#include <kinetograph/engine/accel/cuda/driver.hpp>
#include <kinetograph/engine/accel/ledger.hpp>

namespace kinetograph::accel::cuda {

/// A device with its primary context: the one that the CUDA runtime, and so PyTorch, uses for it. Streams, memory and
/// modules of ours and of theirs are so at home in the same one.
class Context {
  public:
    /// Errors: what the driver says.
    static Result<std::shared_ptr<Context>> retain(std::shared_ptr<const Driver> driver, DeviceOrdinal device,
                                                   DeviceInfo info);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const Driver& driver() const { return *driver_; }
    const EntryPoints& cuda() const { return driver_->entry_points(); }
    const DeviceInfo& info() const { return info_; }
    DeviceOrdinal device() const { return device_; }
    ContextHandle handle() const { return handle_; }
    bool has_clusters() const { return has_clusters_; }  ///< of blocks: from sm_90 on
    bool has_tensor_maps() const { return has_tensor_maps_; }
    Ledger& ledger() { return ledger_; }

  private:
    Context(std::shared_ptr<const Driver> driver, DeviceOrdinal device, DeviceInfo info)
        : driver_(std::move(driver)), device_(device), info_(std::move(info)) {}

    std::shared_ptr<const Driver> driver_;
    DeviceOrdinal device_;
    DeviceInfo info_;
    ContextHandle handle_ = nullptr;
    bool has_clusters_ = false, has_tensor_maps_ = false;
    Ledger ledger_;
};

/// Makes a context current on this thread while it lives, and then gives the thread back what it had. Costs one call of
/// the driver where the context is current already, as it is in a program that uses the CUDA runtime.
class Current {
  public:
    explicit Current(const Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

  private:
    const Context& context_;
    bool pushed_ = false;
};

/// As Current, and in relaxed capture mode: for allocations, queries and whatever else would spoil a capture that
/// another thread of the application has begun in global mode.
class CurrentUncaptured {
  public:
    explicit CurrentUncaptured(const Context& context);
    ~CurrentUncaptured();
    CurrentUncaptured(const CurrentUncaptured&) = delete;
    CurrentUncaptured& operator=(const CurrentUncaptured&) = delete;

  private:
    Current current_;
    const Context& context_;
    CaptureMode mode_ = CaptureMode::Relaxed;  ///< before, once exchanged
};

inline std::byte* to_pointer(DeviceAddress address) { return reinterpret_cast<std::byte*>(address); }
inline DeviceAddress device_address(const void* pointer) { return reinterpret_cast<DeviceAddress>(pointer); }

}  // namespace kinetograph::accel::cuda
