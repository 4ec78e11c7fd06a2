#include "cuda_side.hpp"

#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <cstdlib>

namespace kinetograph::interop::testing {
namespace {

/// A Vulkan timeline semaphore behind a descriptor that faulty_loader() gave out.
class SemaphoreCounter final : public standin::ExternalCounter {
  public:
    explicit SemaphoreCounter(int fd)
        : semaphore_(vulkan::testing::semaphore_behind(fd)),
          count_(function<PFN_vkGetSemaphoreCounterValue>("vkGetSemaphoreCounterValue")),
          signal_(function<PFN_vkSignalSemaphore>("vkSignalSemaphore")) {}
    std::uint64_t value() const override {
        std::uint64_t value = 0;
        count_(semaphore_.device, semaphore_.semaphore, &value);
        return value;
    }
    void signal(std::uint64_t value) override {
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = semaphore_.semaphore;
        info.value = value;
        signal_(semaphore_.device, &info);
    }

  private:
    template <class Function>
    Function function(const char* name) const {
        return reinterpret_cast<Function>(vulkan::testing::device_function(semaphore_.device, name));
    }
    vulkan::testing::ExportedSemaphore semaphore_;
    PFN_vkGetSemaphoreCounterValue count_;
    PFN_vkSignalSemaphore signal_;
};

std::string library_under_test(const std::string& standin) {
    const char* chosen = std::getenv("KINETOGRAPH_CUDA_LIBRARY");
    return chosen != nullptr && *chosen != '\0' ? chosen : standin;
}

}  // namespace

CudaSide::CudaSide(const std::string& standin)
    : library_(library_under_test(standin)), control_(accel::control_of(library_)) {}

Result<std::unique_ptr<accel::Device>> CudaSide::create_device(const vulkan::Device& display,
                                                               standin::Options options) {
    if (control_ != nullptr) {
        options.uuid = display.report().uuid;
        options.files = standin::MemoryFiles::Lavapipe;
        control_->reset(options);
        control_->import_semaphores([](int fd) { return std::make_shared<SemaphoreCounter>(fd); });
    }
    return accel::cuda::create_device({.library = library_});
}

std::string CudaSide::complaints() const {
    std::string text;
    if (control_ == nullptr) return text;
    for (const std::string& complaint : control_->complaints()) text += complaint + "\n";
    if (control_->live() != standin::Live{}) text += "something is alive still\n";
    return text;
}

}  // namespace kinetograph::interop::testing
