#include "cuda_side.hpp"

#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <cstdlib>

namespace kinetograph::interop::testing {
namespace {

/// A Vulkan timeline semaphore behind a descriptor that faulty_loader() gave out.
class SemaphoreCounter final : public standin::ExternalCounter {
  public:
    explicit SemaphoreCounter(std::shared_ptr<vulkan::testing::Payload> payload) : payload_(std::move(payload)) {}
    std::uint64_t value() const override { return payload_->value(); }
    void signal(std::uint64_t value) override { payload_->signal(value); }

  private:
    std::shared_ptr<vulkan::testing::Payload> payload_;
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
        control_->import_semaphores([](int fd) -> std::shared_ptr<standin::ExternalCounter> {
            auto payload = vulkan::testing::import_payload(fd);
            return payload ? std::make_shared<SemaphoreCounter>(std::move(payload)) : nullptr;
        });
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
