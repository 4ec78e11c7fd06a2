// Pipelines from SPIR-V words that were embedded at build time.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/graph/handles.hpp>

#include <vulkan/vulkan_core.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::vulkan {

class Device;

/// The kind of resource at binding 0, 1, ... of descriptor set 0.
enum class BindingKind : std::uint8_t { StorageBuffer, StorageImage, SampledImage };

struct ComputePipelineDesc {
    std::string_view name;
    std::span<const std::uint32_t> shader;
    std::vector<BindingKind> bindings{};
    std::uint32_t push_constant_bytes = 0;
};

/// Source over destination, as ImGui expects; or overwrite.
enum class Blend : std::uint8_t { Off, SourceOver };

struct GraphicsPipelineDesc {
    std::string_view name;
    std::span<const std::uint32_t> vertex_shader;
    std::span<const std::uint32_t> fragment_shader;
    std::vector<BindingKind> bindings{};
    std::uint32_t push_constant_bytes = 0;                               ///< seen by both shaders
    std::vector<VkVertexInputAttributeDescription> vertex_attributes{};  ///< of one vertex buffer; empty: none
    std::uint32_t vertex_stride = 0;                                     ///< bytes
    graph::PixelFormat color_format = graph::PixelFormat::Rgba8Unorm;
    Blend blend = Blend::Off;
    std::vector<std::uint32_t> constants{};  ///< constant_id 0, 1, ... of the fragment shader
};

/// A graphics pipeline (triangles, dynamic viewport and scissor, dynamic rendering) or a compute pipeline.
class Pipeline {
  public:
    static Result<std::unique_ptr<Pipeline>> create(const Device& device, const ComputePipelineDesc& desc);
    static Result<std::unique_ptr<Pipeline>> create(const Device& device, const GraphicsPipelineDesc& desc);
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
    ~Pipeline();

    VkPipeline handle() const { return handle_; }
    VkPipelineLayout layout() const { return layout_; }
    VkDescriptorSetLayout set_layout() const { return set_layout_; }
    VkPipelineBindPoint bind_point() const { return bind_point_; }
    VkShaderStageFlags stages() const { return stages_; }
    std::span<const BindingKind> bindings() const { return bindings_; }

  private:
    Pipeline(const Device& device, VkPipelineBindPoint bind_point, VkShaderStageFlags stages)
        : device_(device), bind_point_(bind_point), stages_(stages) {}
    Result<void> create_layout(std::string_view name, std::vector<BindingKind> bindings,
                               std::uint32_t push_constant_bytes);

    const Device& device_;
    VkPipelineBindPoint bind_point_;
    VkShaderStageFlags stages_;
    std::vector<BindingKind> bindings_;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline handle_ = VK_NULL_HANDLE;
};

VkDescriptorType to_vk(BindingKind kind);

}  // namespace kinetograph::vulkan
