#include <kinetograph/engine/vulkan/pass_context.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <cassert>

namespace kinetograph::vulkan {

const VolkDeviceTable& PassContext::table() const { return recording_.device.table(); }

BufferRange PassContext::range(graph::Buffer buffer) const {
    const graph::Physical& at = physical(buffer);
    return {reinterpret_cast<const Buffer*>(at.object)->handle(), at.offset, at.bytes};
}

Image& PassContext::image(graph::Image image) const { return *reinterpret_cast<Image*>(physical(image).object); }

std::optional<Upload> PassContext::upload(VkDeviceSize bytes, VkDeviceSize alignment) {
    auto upload = recording_.uploads.allocate(bytes, alignment);
    if (upload) return *upload;
    fail(upload.error());
    return std::nullopt;
}

void PassContext::bind(const Pipeline& pipeline, std::initializer_list<Descriptor> descriptors) {
    assert(descriptors.size() == pipeline.bindings().size() && "one descriptor a binding");
    table().vkCmdBindPipeline(commands(), pipeline.bind_point(), pipeline.handle());
    if (descriptors.size() == 0) return;
    const auto set = recording_.descriptors.allocate(pipeline.set_layout());
    if (!set) return fail(set.error());

    std::vector<VkDescriptorBufferInfo> buffers(descriptors.size());
    std::vector<VkDescriptorImageInfo> images(descriptors.size());
    std::vector<VkWriteDescriptorSet> writes(descriptors.size());
    std::uint32_t binding = 0;
    for (const Descriptor& descriptor : descriptors) {
        const BindingKind kind = pipeline.bindings()[binding];
        buffers[binding] = {descriptor.buffer.buffer, descriptor.buffer.offset, descriptor.buffer.bytes};
        images[binding] = {
            descriptor.sampler, descriptor.view,
            kind == BindingKind::SampledImage ? VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL};
        VkWriteDescriptorSet& write = writes[binding];
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = *set;
        write.dstBinding = binding;
        write.descriptorCount = 1;
        write.descriptorType = to_vk(kind);
        write.pBufferInfo = &buffers[binding];
        write.pImageInfo = &images[binding];
        ++binding;
    }
    table().vkUpdateDescriptorSets(device().handle(), binding, writes.data(), 0, nullptr);
    table().vkCmdBindDescriptorSets(commands(), pipeline.bind_point(), pipeline.layout(), 0, 1, &*set, 0, nullptr);
}

void PassContext::push_constants(const Pipeline& pipeline, const void* data, std::uint32_t bytes) {
    table().vkCmdPushConstants(commands(), pipeline.layout(), pipeline.stages(), 0, bytes, data);
}

void PassContext::begin_rendering(const Image& target, Contents contents, VkClearColorValue clear) {
    const VkExtent2D extent{target.desc().width, target.desc().height};
    VkRenderingAttachmentInfo attachment{};
    attachment.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
    attachment.imageView = target.view();
    attachment.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    attachment.loadOp = contents == Contents::Clear ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD;
    attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    attachment.clearValue.color = clear;
    VkRenderingInfo info{};
    info.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
    info.renderArea.extent = extent;
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &attachment;
    table().vkCmdBeginRendering(commands(), &info);
    const VkViewport viewport{0.0F, 0.0F, static_cast<float>(extent.width), static_cast<float>(extent.height),
                              0.0F, 1.0F};
    const VkRect2D scissor{{0, 0}, extent};
    table().vkCmdSetViewport(commands(), 0, 1, &viewport);
    table().vkCmdSetScissor(commands(), 0, 1, &scissor);
}

void PassContext::end_rendering() { table().vkCmdEndRendering(commands()); }

void PassContext::fail(Error error) {
    if (recording_.error) return;
    error.message = fmt::format("pass \"{}\": {}", pass_name(), error.message);
    recording_.error = std::move(error);
}

}  // namespace kinetograph::vulkan
