#include <kinetograph/engine/vulkan/pipeline.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/image.hpp>

#include <array>

namespace kinetograph::vulkan {
namespace {

/// A shader module, needed only until its pipeline is created.
class ShaderModule {
  public:
    ShaderModule(const Device& device, std::span<const std::uint32_t> words) : device_(device) {
        VkShaderModuleCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = words.size_bytes();
        info.pCode = words.data();
        result_ = device.table().vkCreateShaderModule(device.handle(), &info, nullptr, &handle_);
    }
    ~ShaderModule() { device_.table().vkDestroyShaderModule(device_.handle(), handle_, nullptr); }
    ShaderModule(const ShaderModule&) = delete;
    ShaderModule& operator=(const ShaderModule&) = delete;
    VkResult result() const { return result_; }
    VkPipelineShaderStageCreateInfo stage(VkShaderStageFlagBits stage) const {
        VkPipelineShaderStageCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage = stage;
        info.module = handle_;
        info.pName = "main";
        return info;
    }

  private:
    const Device& device_;
    VkShaderModule handle_ = VK_NULL_HANDLE;
    VkResult result_;
};

VkPipelineColorBlendAttachmentState blend_state(Blend blend) {
    VkPipelineColorBlendAttachmentState state{};
    state.blendEnable = blend == Blend::SourceOver ? VK_TRUE : VK_FALSE;
    state.srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA;
    state.dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
    state.colorBlendOp = VK_BLEND_OP_ADD;
    state.srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
    state.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
    state.alphaBlendOp = VK_BLEND_OP_ADD;
    state.colorWriteMask =
        VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
    return state;
}

std::vector<VkSpecializationMapEntry> constant_entries(std::size_t count) {
    std::vector<VkSpecializationMapEntry> entries;
    for (std::uint32_t id = 0; id < count; ++id)
        entries.push_back({id, static_cast<std::uint32_t>(id * sizeof(std::uint32_t)), sizeof(std::uint32_t)});
    return entries;
}

VkPipelineVertexInputStateCreateInfo vertex_input(const GraphicsPipelineDesc& desc,
                                                  const VkVertexInputBindingDescription& binding) {
    VkPipelineVertexInputStateCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    info.vertexBindingDescriptionCount = desc.vertex_attributes.empty() ? 0 : 1;
    info.pVertexBindingDescriptions = &binding;
    info.vertexAttributeDescriptionCount = static_cast<std::uint32_t>(desc.vertex_attributes.size());
    info.pVertexAttributeDescriptions = desc.vertex_attributes.data();
    return info;
}

}  // namespace

VkDescriptorType to_vk(BindingKind kind) {
    switch (kind) {
        case BindingKind::StorageBuffer:
            return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        case BindingKind::StorageImage:
            return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
        case BindingKind::SampledImage:
            return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    }
    return VK_DESCRIPTOR_TYPE_MAX_ENUM;
}

Result<void> Pipeline::create_layout(std::string_view name, std::vector<BindingKind> bindings,
                                     std::uint32_t push_constant_bytes) {
    bindings_ = std::move(bindings);
    std::vector<VkDescriptorSetLayoutBinding> entries;
    for (const BindingKind kind : bindings_) {
        VkDescriptorSetLayoutBinding entry{};
        entry.binding = static_cast<std::uint32_t>(entries.size());
        entry.descriptorType = to_vk(kind);
        entry.descriptorCount = 1;
        entry.stageFlags = stages_;
        entries.push_back(entry);
    }
    VkDescriptorSetLayoutCreateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = static_cast<std::uint32_t>(entries.size());
    set_info.pBindings = entries.data();
    if (const VkResult result =
            device_.table().vkCreateDescriptorSetLayout(device_.handle(), &set_info, nullptr, &set_layout_);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("creating the descriptor layout of pipeline \"{}\"", name));
    const VkPushConstantRange constants{stages_, 0, push_constant_bytes};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = &set_layout_;
    info.pushConstantRangeCount = push_constant_bytes > 0 ? 1 : 0;
    info.pPushConstantRanges = &constants;
    if (const VkResult result = device_.table().vkCreatePipelineLayout(device_.handle(), &info, nullptr, &layout_);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("creating the layout of pipeline \"{}\"", name));
    return {};
}

Result<std::unique_ptr<Pipeline>> Pipeline::create(const Device& device, const ComputePipelineDesc& desc) {
    std::unique_ptr<Pipeline> pipeline(
        new Pipeline(device, VK_PIPELINE_BIND_POINT_COMPUTE, VK_SHADER_STAGE_COMPUTE_BIT));
    KG_CHECK(pipeline->create_layout(desc.name, desc.bindings, desc.push_constant_bytes));
    const ShaderModule shader(device, desc.shader);
    if (shader.result() != VK_SUCCESS)
        return device.error(shader.result(), fmt::format("loading the shader of pipeline \"{}\"", desc.name));
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage = shader.stage(VK_SHADER_STAGE_COMPUTE_BIT);
    info.layout = pipeline->layout_;
    if (const VkResult result = device.table().vkCreateComputePipelines(device.handle(), device.pipeline_cache(), 1,
                                                                        &info, nullptr, &pipeline->handle_);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("creating pipeline \"{}\"", desc.name));
    device.set_name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(pipeline->handle_), desc.name);
    return pipeline;
}

Result<std::unique_ptr<Pipeline>> Pipeline::create(const Device& device, const GraphicsPipelineDesc& desc) {
    std::unique_ptr<Pipeline> pipeline(new Pipeline(device, VK_PIPELINE_BIND_POINT_GRAPHICS,
                                                    VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT));
    KG_CHECK(pipeline->create_layout(desc.name, desc.bindings, desc.push_constant_bytes));
    const ShaderModule vertex(device, desc.vertex_shader), fragment(device, desc.fragment_shader);
    for (const ShaderModule* shader : {&vertex, &fragment})
        if (shader->result() != VK_SUCCESS)
            return device.error(shader->result(), fmt::format("loading a shader of pipeline \"{}\"", desc.name));
    const std::vector<VkSpecializationMapEntry> entries = constant_entries(desc.constants.size());
    const VkSpecializationInfo constants{static_cast<std::uint32_t>(entries.size()), entries.data(),
                                         desc.constants.size() * sizeof(std::uint32_t), desc.constants.data()};
    std::array stages{vertex.stage(VK_SHADER_STAGE_VERTEX_BIT), fragment.stage(VK_SHADER_STAGE_FRAGMENT_BIT)};
    stages[1].pSpecializationInfo = &constants;
    const VkVertexInputBindingDescription binding{0, desc.vertex_stride, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkPipelineVertexInputStateCreateInfo vertices = vertex_input(desc, binding);
    VkPipelineInputAssemblyStateCreateInfo assembly{};
    assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkPipelineViewportStateCreateInfo viewport{};
    viewport.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
    viewport.viewportCount = viewport.scissorCount = 1;
    VkPipelineRasterizationStateCreateInfo rasterization{};
    rasterization.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    rasterization.cullMode = VK_CULL_MODE_NONE;
    rasterization.lineWidth = 1.0F;
    VkPipelineMultisampleStateCreateInfo samples{};
    samples.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    const VkPipelineColorBlendAttachmentState attachment = blend_state(desc.blend);
    VkPipelineColorBlendStateCreateInfo blending{};
    blending.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
    blending.attachmentCount = 1;
    blending.pAttachments = &attachment;
    constexpr std::array kDynamic{VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamic{};
    dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
    dynamic.dynamicStateCount = kDynamic.size();
    dynamic.pDynamicStates = kDynamic.data();
    const VkFormat color_format = to_vk(desc.color_format);
    VkPipelineRenderingCreateInfo rendering{};
    rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachmentFormats = &color_format;
    VkGraphicsPipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &rendering;
    info.stageCount = stages.size();
    info.pStages = stages.data();
    info.pVertexInputState = &vertices;
    info.pInputAssemblyState = &assembly;
    info.pViewportState = &viewport;
    info.pRasterizationState = &rasterization;
    info.pMultisampleState = &samples;
    info.pColorBlendState = &blending;
    info.pDynamicState = &dynamic;
    info.layout = pipeline->layout_;
    if (const VkResult result = device.table().vkCreateGraphicsPipelines(device.handle(), device.pipeline_cache(), 1,
                                                                         &info, nullptr, &pipeline->handle_);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("creating pipeline \"{}\"", desc.name));
    device.set_name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(pipeline->handle_), desc.name);
    return pipeline;
}

Pipeline::~Pipeline() {
    device_.table().vkDestroyPipeline(device_.handle(), handle_, nullptr);
    device_.table().vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
    device_.table().vkDestroyDescriptorSetLayout(device_.handle(), set_layout_, nullptr);
}

}  // namespace kinetograph::vulkan
