// PipelineCache: what a driver has compiled for a device's pipelines, kept from one process to the next.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

struct VolkDeviceTable;

namespace kinetograph::vulkan {

/// A driver's cache as a file has it: its hash (XXH3-64), then the bytes of vkGetPipelineCacheData.
std::vector<std::byte> sealed_pipelines(std::span<const std::byte> cache);
/// What sealed_pipelines() made, if it is whole and begins with the header (VkPipelineCacheHeaderVersionOne) of that
/// device and driver: drivers need not survive other bytes. Nothing for anything else.
std::optional<std::vector<std::byte>> unsealed_pipelines(std::span<const std::byte> sealed,
                                                         const VkPhysicalDeviceProperties& properties);

/// The VkPipelineCache of a device. It begins with what is in cache_folder() of that device and driver version, file
/// "pipelines-UUID-VERSION.bin" (pipelineCacheUUID and driverVersion in hexadecimal), and replaces that file when it is
/// destroyed and has grown. A folder or file that cannot be read or written costs the next process its compilations,
/// and nothing else.
class PipelineCache {
  public:
    /// `table` and `device` outlive it. Errors: those of vkCreatePipelineCache.
    static Result<std::unique_ptr<PipelineCache>> create(VkDevice device, const VolkDeviceTable& table,
                                                         const VkPhysicalDeviceProperties& properties);
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    ~PipelineCache();

    VkPipelineCache handle() const { return handle_; }
    /// Empty where there is no folder for it.
    const std::filesystem::path& file() const { return file_; }

  private:
    PipelineCache(VkDevice device, const VolkDeviceTable& table) : device_(device), table_(table) {}
    std::vector<std::byte> contents() const;
    void save() const;

    VkDevice device_;
    const VolkDeviceTable& table_;
    std::filesystem::path file_;
    VkPipelineCache handle_ = VK_NULL_HANDLE;
    std::size_t bytes_at_first_ = 0;
};

}  // namespace kinetograph::vulkan
