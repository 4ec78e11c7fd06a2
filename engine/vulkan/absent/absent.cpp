// engine/vulkan in a build without Vulkan's headers: opening a loader, an instance or a device fails and says so. The
// other functions are here for other folders to link against; they are never called, because all take a device.
#include <kinetograph/engine/vulkan/clock.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <volk.h>

#include <cstdlib>

namespace kinetograph::vulkan {
namespace {

constexpr const char* kAbsent = "Vulkan: this build of Kinetograph is without it, because its headers were not found";

[[noreturn]] void without_device() { std::abort(); }

}  // namespace

Result<Loader> Loader::open(const std::string&) { return kinetograph::fail(ErrorCode::NotFound, kAbsent); }

Result<std::unique_ptr<Instance>> Instance::create(const Loader&, const InstanceOptions&) {
    return kinetograph::fail(ErrorCode::Unsupported, kAbsent);
}
Instance::Instance(const Loader& loader, VkInstance handle, bool owned)
    : loader_(loader), handle_(handle), owned_(owned) {}
Instance::~Instance() = default;
/// Wraps the application's instance; Device::adopt then refuses.
std::unique_ptr<Instance> Instance::adopt(VkInstance instance, PFN_vkGetInstanceProcAddr get_instance_proc_addr) {
    return std::unique_ptr<Instance>(new Instance(Loader::adopt(get_instance_proc_addr), instance, false));
}

struct MemoryBlock {};
MemoryPool::~MemoryPool() = default;
std::uint64_t MemoryPool::bytes_free(MemoryUse) const { without_device(); }
void Allocation::reset() {}

Result<std::unique_ptr<Device>> Device::create(const Instance&, const DeviceOptions&) {
    return kinetograph::fail(ErrorCode::Unsupported, kAbsent);
}
Result<std::unique_ptr<Device>> Device::adopt(const Instance&, const AdoptedDevice&) {
    return kinetograph::fail(ErrorCode::Unsupported, kAbsent);
}
Device::~Device() = default;
int end_of_program(int exit_code) { return exit_code; }
const Queue& Device::queue(graph::Lane) const { without_device(); }
void Device::keep(std::shared_ptr<const void>) const { without_device(); }
void Device::share_gpu_with(graph::Timeline&) const { without_device(); }

Result<std::unique_ptr<Buffer>> Buffer::create(const Device&, std::string_view, VkDeviceSize, const BufferOptions&) {
    without_device();
}
Result<std::unique_ptr<Buffer>> Buffer::import_host(const Device&, std::string_view, std::span<std::byte>) {
    without_device();
}
Buffer::~Buffer() = default;
Result<int> Buffer::export_fd() const { without_device(); }

VkFormat to_vk(graph::PixelFormat) { without_device(); }
Result<std::unique_ptr<Image>> Image::create(const Device&, std::string_view, const graph::ImageDesc&,
                                             const ImageOptions&) {
    without_device();
}
Image::~Image() = default;
graph::Physical physical_of(const Image&) { without_device(); }

Result<int> export_timeline_fd(const Device&, VkSemaphore, std::string_view) { without_device(); }
Result<bool> wait_timeline(const Device&, VkSemaphore, std::uint64_t, Nanoseconds) { without_device(); }
Result<std::shared_ptr<TimelineSemaphore>> TimelineSemaphore::create(const Device&, std::string, Sharing) {
    without_device();
}
std::shared_ptr<TimelineSemaphore> TimelineSemaphore::borrow(const Device&, VkSemaphore) { without_device(); }
TimelineSemaphore::~TimelineSemaphore() = default;
std::uint64_t TimelineSemaphore::counter() const { without_device(); }
std::uint64_t TimelineSemaphore::value() const { without_device(); }
bool TimelineSemaphore::wait(std::uint64_t, std::optional<Nanoseconds>) { without_device(); }
void TimelineSemaphore::signal(std::uint64_t) { without_device(); }
Result<void> TimelineSemaphore::status() const { without_device(); }

struct VulkanLane::Slot {};
Result<std::unique_ptr<VulkanLane>> VulkanLane::create(const Device&, graph::Lane, profile::Recorder*, Sharing) {
    without_device();
}
VulkanLane::~VulkanLane() = default;
Result<void> VulkanLane::submit(const graph::BatchRecord&) { without_device(); }
Result<bool> VulkanLane::wait(std::uint64_t, Nanoseconds) { without_device(); }
graph::LaneState VulkanLane::state() const { without_device(); }
void VulkanLane::collect() { without_device(); }

const VolkDeviceTable& PassContext::table() const { without_device(); }
BufferRange PassContext::range(graph::Buffer) const { without_device(); }
Image& PassContext::image(graph::Image) const { without_device(); }

std::string human_bytes(std::uint64_t) { without_device(); }

}  // namespace kinetograph::vulkan
