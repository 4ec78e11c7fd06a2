// Handles, lanes, access kinds and descriptions: the vocabulary in which a pass declares what it does.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kinetograph::graph {

class FrameGraph;
class PassBuilder;

/// Where a pass runs. A lane executes its passes in order; lanes run beside each other.
enum class Lane : std::uint8_t { Graphics, AsyncCompute, Transfer, Accelerator, Host };
inline constexpr std::size_t kLaneCount = 5;
inline constexpr std::array<Lane, kLaneCount> kLanes{Lane::Graphics, Lane::AsyncCompute, Lane::Transfer,
                                                     Lane::Accelerator, Lane::Host};
std::string_view to_string(Lane lane);

/// Who owns the bytes of a resource and so which lanes can reach them (see LaneTopology::reaches).
enum class MemoryDomain : std::uint8_t {
    Graphics,     ///< device memory of the Vulkan device
    Accelerator,  ///< memory of the accelerator; plain host memory where the accelerator is the CPU
    Shared,       ///< exported by Vulkan and mapped by the accelerator
    Host,         ///< ordinary host memory
};
inline constexpr std::size_t kDomainCount = 4;
inline constexpr std::array<MemoryDomain, kDomainCount> kDomains{MemoryDomain::Graphics, MemoryDomain::Accelerator,
                                                                 MemoryDomain::Shared, MemoryDomain::Host};
std::string_view to_string(MemoryDomain domain);

/// How a pass touches one resource. Vulkan lanes derive stage, access mask and image layout from it.
enum class Access : std::uint8_t {
    KernelRead,   ///< accelerator kernel, read only
    KernelWrite,  ///< accelerator kernel, writes every byte it declares
    ComputeRead,  ///< Vulkan compute shader, storage buffer or image
    ComputeWrite,
    SampledRead,      ///< Vulkan fragment or compute shader through a sampler
    ColorAttachment,  ///< Vulkan rendering; a write
    TransferRead,     ///< copy or blit source
    TransferWrite,    ///< copy or blit destination
    HostRead,         ///< host code
    HostWrite,
    Present,  ///< handed to the presentation engine; a read
};
inline constexpr std::size_t kAccessCount = 11;
constexpr bool is_write(Access access) {
    return access == Access::KernelWrite || access == Access::ComputeWrite || access == Access::ColorAttachment ||
           access == Access::TransferWrite || access == Access::HostWrite;
}
std::string_view to_string(Access access);

/// How an image's pixels must lie while it is accessed; going from one layout to another is a write to the image.
enum class ImageLayout : std::uint8_t {
    General,          ///< compute shaders' storage images, kernels, the host
    ShaderRead,       ///< samplers
    ColorAttachment,  ///< rendering
    TransferSource,
    TransferDestination,
    Present,
};
constexpr ImageLayout layout_of(Access access) {
    switch (access) {
        case Access::SampledRead:
            return ImageLayout::ShaderRead;
        case Access::ColorAttachment:
            return ImageLayout::ColorAttachment;
        case Access::TransferRead:
            return ImageLayout::TransferSource;
        case Access::TransferWrite:
            return ImageLayout::TransferDestination;
        case Access::Present:
            return ImageLayout::Present;
        default:
            return ImageLayout::General;
    }
}
std::string_view to_string(ImageLayout layout);

inline constexpr std::uint32_t kNoIndex = 0xffffffffU;

namespace detail {
/// A resource and one version of its contents. Made by the graph only; a default-constructed handle names nothing.
template <class Tag>
class Handle {
  public:
    Handle() = default;
    explicit operator bool() const { return resource_ != kNoIndex; }
    std::uint32_t resource() const { return resource_; }  ///< index into FrameGraph::resources()
    std::uint32_t version() const { return version_; }    ///< 0 before the first write of this execution
    friend auto operator<=>(const Handle&, const Handle&) = default;

  private:
    friend class ::kinetograph::graph::FrameGraph;
    friend class ::kinetograph::graph::PassBuilder;
    Handle(std::uint32_t resource, std::uint32_t version) : resource_(resource), version_(version) {}
    std::uint32_t resource_ = kNoIndex;
    std::uint32_t version_ = 0;
};
}  // namespace detail

using Buffer = detail::Handle<struct BufferTag>;
using Image = detail::Handle<struct ImageTag>;
/// A ring of equal-sized values that outlives an execution. Version 0 is what earlier executions left; version 1 also
/// contains the values that this execution pushed.
using History = detail::Handle<struct HistoryTag>;

struct BufferDesc {
    std::uint64_t bytes = 0;
    std::uint32_t alignment = 256;  ///< bytes, a power of two
    MemoryDomain domain = MemoryDomain::Accelerator;
};

enum class PixelFormat : std::uint8_t { Rgba8Unorm, Rgba8Srgb, Bgra8Unorm, Bgra8Srgb, Rgba16Float, R32Float };
std::uint32_t bytes_per_pixel(PixelFormat format);
std::string_view to_string(PixelFormat format);

struct ImageDesc {
    std::uint32_t width = 0;   ///< pixels
    std::uint32_t height = 0;  ///< pixels
    PixelFormat format = PixelFormat::Rgba8Unorm;
    MemoryDomain domain = MemoryDomain::Graphics;
};

struct HistoryDesc {
    std::uint32_t keep = 0;  ///< values of earlier executions that this execution may read
    std::uint32_t push = 0;  ///< values that this execution appends
};

/// Storage as a back end knows it. `object` belongs to the back end of the resource's domain: the base address for host
/// and accelerator memory, a vulkan::Buffer* or vulkan::Image* for Vulkan memory.
struct Physical {
    std::uintptr_t object = 0;
    std::uint64_t offset = 0;  ///< bytes from the start of `object`
    std::uint64_t bytes = 0;
    /// Where the accelerator sees the start of `object`, if that is Vulkan's; 0 where `object` is an address itself.
    std::uintptr_t mapped = 0;

    /// Address of the first byte, for kernels and for the host.
    std::byte* address() const { return reinterpret_cast<std::byte*>((mapped != 0 ? mapped : object) + offset); }
};

}  // namespace kinetograph::graph
