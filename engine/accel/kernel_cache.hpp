// KernelCache: kernels of a device by name, each image loaded once.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kinetograph::accel {

class Device;
class Kernel;
class Module;

/// Thread-safe. A device owns one; modules and kernels stay loaded until it ends.
class KernelCache {
  public:
    explicit KernelCache(Device& device) : device_(device) {}

    /// The kernel of that name, which no other image has. `bytes()` gives the image; it is called when one of its
    /// kernels is first asked for. Looks names up: call it at creation, not for every enqueue. Errors: those of
    /// bytes(), of Device::load and of Module::kernel.
    Result<std::shared_ptr<Kernel>> get(std::string_view image, std::string_view kernel,
                                        const std::function<Result<std::span<const std::byte>>()>& bytes);

  private:
    Device& device_;
    Mutex mutex_;
    std::map<std::string, std::shared_ptr<Module>, std::less<>> modules_ KG_GUARDED_BY(mutex_);
    std::map<std::string, std::shared_ptr<Kernel>, std::less<>> kernels_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::accel
