// Image: a two-dimensional VkImage with one view of all of it, and its current layout.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>

#include <span>
#include <string>

namespace kinetograph::vulkan {

VkFormat to_vk(graph::PixelFormat format);

/// True for sRGB formats: they encode what a shader writes and decode what it samples.
bool encodes_srgb(graph::PixelFormat format);

/// Every usage that a frame graph may need of an image of this format. Transient images always get all of them, so that
/// Device::footprint() and the image agree on the size.
VkImageUsageFlags graph_image_usage(graph::PixelFormat format);

/// How an image of a frame graph is created. `families` must outlive the structure.
VkImageCreateInfo graph_image_info(const graph::ImageDesc& desc, std::span<const std::uint32_t> families);

struct ImageOptions {
    bool exportable = false;  ///< another API may import its memory: export_fd()
};

/// Destroy it only after the device has finished using it.
class Image {
  public:
    /// Errors: those of MemoryPool::allocate, InvalidArgument (a side of 0 or beyond the device's limit).
    static Result<std::unique_ptr<Image>> create(const Device& device, std::string_view name,
                                                 const graph::ImageDesc& desc, const ImageOptions& options = {});
    /// An image that something else owns (a swapchain, a host application), with a view of this object's own. `layout`
    /// is its layout when a frame graph's first pass uses it.
    static Result<std::unique_ptr<Image>> wrap(const Device& device, std::string_view name, VkImage image,
                                               const graph::ImageDesc& desc, VkImageLayout layout);
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
    ~Image();

    VkImage handle() const { return handle_; }
    VkImageView view() const { return view_; }
    const graph::ImageDesc& desc() const { return desc_; }
    const std::string& name() const { return name_; }
    const Allocation& allocation() const { return allocation_; }
    Result<int> export_fd() const;

    /// Layout after everything recorded so far; lanes update it while recording, in submission order.
    VkImageLayout layout() const { return layout_; }
    void set_layout(VkImageLayout layout) { layout_ = layout; }

  private:
    friend class GraphArena;
    Image(const Device& device, std::string_view name, const graph::ImageDesc& desc)
        : device_(device), name_(name), desc_(desc) {}
    Result<void> create_view();

    const Device& device_;
    std::string name_;
    graph::ImageDesc desc_;
    VkImage handle_ = VK_NULL_HANDLE;
    bool owned_ = true;
    VkImageView view_ = VK_NULL_HANDLE;
    VkImageLayout layout_ = VK_IMAGE_LAYOUT_UNDEFINED;
    Allocation allocation_;
};

/// Fills `image` with tightly packed `pixels` and makes it ready for sampling; waits until that is done. For textures
/// that never change: font atlases, lookup tables.
Result<void> upload_pixels(const Device& device, Image& image, std::span<const std::byte> pixels);

}  // namespace kinetograph::vulkan
