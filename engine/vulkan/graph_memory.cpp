#include <kinetograph/engine/vulkan/graph_memory.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>

namespace kinetograph::vulkan {

/// One allocation for all transients of a plan: a buffer over the whole of it, and images at their offsets.
class GraphArena final : public graph::PlanMemory {
  public:
    explicit GraphArena(const Device& device) : device_(device) {}

    Result<void> build(const graph::Plan& plan, graph::MemoryDomain domain);
    graph::Physical physical(std::uint32_t resource) const override { return physical_[resource]; }

  private:
    struct Requirements {
        VkDeviceSize bytes = 1;
        VkDeviceSize alignment = 1;
        std::uint32_t types = ~0U;
        void include(const VkMemoryRequirements& other, VkDeviceSize offset) {
            bytes = std::max(bytes, offset + other.size);
            alignment = std::max(alignment, other.alignment);
            types &= other.memoryTypeBits;
        }
    };
    Result<void> create_buffer(std::string_view name, std::uint64_t bytes, bool exportable, Requirements& needs);
    Result<void> create_image(const graph::PlannedResource& planned, bool exportable, Requirements& needs);
    Result<void> bind(const graph::Plan& plan);

    const Device& device_;
    Allocation allocation_;  // freed last
    std::unique_ptr<Buffer> buffer_;
    std::vector<std::unique_ptr<Image>> images_;
    std::vector<graph::Physical> physical_;  // [resource]
};

namespace {

bool lives_in(const graph::PlannedResource& planned, graph::MemoryDomain domain) {
    return planned.kind == graph::ResourceKind::Transient && planned.domain == domain && !planned.culled;
}

VkExternalMemoryImageCreateInfo external_image_info() {
    VkExternalMemoryImageCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO;
    info.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    return info;
}

}  // namespace

Result<void> GraphArena::create_buffer(std::string_view name, std::uint64_t bytes, bool exportable,
                                       Requirements& needs) {
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = exportable ? &external : nullptr;
    info.size = bytes;
    info.usage = kGraphBufferUsage;
    const auto families = device_.families();
    info.sharingMode = families.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = families.size() > 1 ? static_cast<std::uint32_t>(families.size()) : 0;
    info.pQueueFamilyIndices = families.data();
    buffer_.reset(new Buffer(device_, name, bytes));
    if (const VkResult result = device_.table().vkCreateBuffer(device_.handle(), &info, nullptr, &buffer_->handle_);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("creating the {} of {}", name, human_bytes(bytes)));
    device_.set_name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(buffer_->handle_), name);
    VkMemoryRequirements requirements{};
    device_.table().vkGetBufferMemoryRequirements(device_.handle(), buffer_->handle_, &requirements);
    needs.include(requirements, 0);
    return {};
}

Result<void> GraphArena::create_image(const graph::PlannedResource& planned, bool exportable, Requirements& needs) {
    std::unique_ptr<Image> image(new Image(device_, planned.name, planned.image));
    const VkExternalMemoryImageCreateInfo external = external_image_info();
    VkImageCreateInfo info = graph_image_info(planned.image, device_.families());
    info.pNext = exportable ? &external : nullptr;
    if (const VkResult result = device_.table().vkCreateImage(device_.handle(), &info, nullptr, &image->handle_);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("creating image \"{}\"", planned.name));
    VkMemoryRequirements requirements{};
    device_.table().vkGetImageMemoryRequirements(device_.handle(), image->handle_, &requirements);
    if (requirements.size > planned.bytes || planned.offset % requirements.alignment != 0)
        return kinetograph::fail(ErrorCode::InvalidArgument,
                                 "image \"{}\" was declared with {} at offset {}, but {} wants {} aligned to {}: give "
                                 "Device::footprint to FrameGraphOptions::image_footprint",
                                 planned.name, human_bytes(planned.bytes), planned.offset, device_.report().name,
                                 human_bytes(requirements.size), requirements.alignment);
    needs.include(requirements, planned.offset);
    physical_[planned.resource] = {reinterpret_cast<std::uintptr_t>(image.get()), 0, planned.bytes};
    images_.push_back(std::move(image));
    return {};
}

Result<void> GraphArena::build(const graph::Plan& plan, graph::MemoryDomain domain) {
    const bool exportable = domain == graph::MemoryDomain::Shared;
    const std::string name = fmt::format("{} arena", graph::to_string(domain));
    physical_.resize(plan.resources.size());
    Requirements needs;
    needs.bytes = std::max<VkDeviceSize>(1, plan.arena_bytes[domain.index()]);
    for (const graph::PlannedResource& planned : plan.resources) {
        if (!lives_in(planned, domain)) continue;
        if (planned.type == graph::ResourceType::Image) {
            KG_CHECK(create_image(planned, exportable, needs));
            continue;
        }
        if (!buffer_) KG_CHECK(create_buffer(name, needs.bytes, exportable, needs));
        physical_[planned.resource] = {reinterpret_cast<std::uintptr_t>(buffer_.get()), planned.offset, planned.bytes};
    }
    if (!buffer_ && images_.empty()) return {};
    if (needs.types == 0)
        return kinetograph::fail(ErrorCode::Unsupported,
                                 "{}: no memory type serves both the buffers and the images of the {}",
                                 device_.report().name, name);
    // Offsets inside the arena are the plan's, so its start must suit the strictest resource.
    KG_TRY(allocation_,
           device_.memory().allocate(
               {.name = name,
                .requirements = {needs.bytes, std::max(needs.alignment, device_.limits().bufferImageGranularity),
                                 needs.types},
                .optimal_image = true,
                .exportable = exportable}));
    return bind(plan);
}

Result<void> GraphArena::bind(const graph::Plan& plan) {
    const VolkDeviceTable& table = device_.table();
    if (buffer_)
        if (const VkResult result = table.vkBindBufferMemory(device_.handle(), buffer_->handle_, allocation_.memory(),
                                                             allocation_.offset());
            result != VK_SUCCESS)
            return device_.error(result, "binding the memory of an arena");
    for (const graph::PlannedResource& planned : plan.resources) {
        if (planned.type != graph::ResourceType::Image || physical_[planned.resource].object == 0) continue;
        auto& image = *reinterpret_cast<Image*>(physical_[planned.resource].object);
        if (const VkResult result = table.vkBindImageMemory(device_.handle(), image.handle_, allocation_.memory(),
                                                            allocation_.offset() + planned.offset);
            result != VK_SUCCESS)
            return device_.error(result, fmt::format("binding the memory of image \"{}\"", planned.name));
        KG_CHECK(image.create_view());
    }
    return {};
}

Result<std::unique_ptr<graph::PlanMemory>> VulkanMemory::realize(const graph::Plan& plan, graph::MemoryDomain domain) {
    auto arena = std::make_unique<GraphArena>(device_);
    KG_CHECK(arena->build(plan, domain));
    return arena;
}

graph::Physical physical_of(const Buffer& buffer) {
    return {reinterpret_cast<std::uintptr_t>(&buffer), 0, buffer.bytes()};
}

graph::Physical physical_of(const Image& image) {
    return {reinterpret_cast<std::uintptr_t>(&image), 0,
            std::uint64_t{image.desc().width} * image.desc().height * graph::bytes_per_pixel(image.desc().format)};
}

}  // namespace kinetograph::vulkan
