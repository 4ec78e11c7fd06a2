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

/// What a lane is: a queue of the Vulkan device, a stream of an accelerator, a thread of the host, or a second stream
/// of an accelerator, which copies to the host while the first computes.
enum class LaneKind : std::uint8_t { Graphics, AsyncCompute, Transfer, Accelerator, Host, Copies };

/// Accelerators that one graph may use: the GPUs of one machine.
inline constexpr std::uint32_t kMaxAccelerators = 8;

/// Where a pass runs: an entry {kind, device} of the table of lanes, which begins
///
///     0 graphics   1 async_compute   2 transfer   3 accelerator   4 host   5 copies   6 accelerator1 ...
///
/// A lane executes its passes in order; lanes run concurrently. LaneTopology says which of them exist.
class Lane {
  public:
    static const Lane Graphics, AsyncCompute, Transfer, Accelerator, Host, Copies;
    /// The lane of the `device`-th accelerator, below kMaxAccelerators; the first one's is Lane::Accelerator.
    static constexpr Lane accelerator(std::uint32_t device);
    constexpr LaneKind kind() const {
        return index_ < kOfFirstDevices ? static_cast<LaneKind>(index_) : LaneKind::Accelerator;
    }
    /// Which of the accelerators; 0 for the other kinds.
    constexpr std::uint32_t device() const { return index_ < kOfFirstDevices ? 0 : index_ - kOfFirstDevices + 1; }
    constexpr bool is_of_accelerator() const { return kind() == LaneKind::Accelerator || kind() == LaneKind::Copies; }
    constexpr std::size_t index() const { return index_; }  ///< its place in tables of lanes
    constexpr bool is_vulkan() const { return index_ <= static_cast<std::uint32_t>(LaneKind::Transfer); }
    friend constexpr auto operator<=>(Lane, Lane) = default;

  private:
    static constexpr std::uint32_t kOfFirstDevices = 6;
    explicit constexpr Lane(LaneKind kind) : index_(static_cast<std::uint8_t>(kind)) {}
    std::uint8_t index_;
};
inline constexpr Lane Lane::Graphics{LaneKind::Graphics};
inline constexpr Lane Lane::AsyncCompute{LaneKind::AsyncCompute};
inline constexpr Lane Lane::Transfer{LaneKind::Transfer};
inline constexpr Lane Lane::Accelerator{LaneKind::Accelerator};
inline constexpr Lane Lane::Host{LaneKind::Host};
inline constexpr Lane Lane::Copies{LaneKind::Copies};
constexpr Lane Lane::accelerator(std::uint32_t device) {
    Lane lane = Lane::Accelerator;
    if (device > 0) lane.index_ = static_cast<std::uint8_t>(kOfFirstDevices + device - 1);
    return lane;
}
inline constexpr std::size_t kMaxLanes = 5 + kMaxAccelerators;
inline constexpr std::array<Lane, kMaxLanes> kLanes{
    Lane::Graphics,       Lane::AsyncCompute,   Lane::Transfer,       Lane::Accelerator,    Lane::Host,
    Lane::Copies,         Lane::accelerator(1), Lane::accelerator(2), Lane::accelerator(3), Lane::accelerator(4),
    Lane::accelerator(5), Lane::accelerator(6), Lane::accelerator(7)};
/// "graphics", "async_compute", "transfer", "accelerator", "host", "copies", "accelerator1", ...
std::string_view to_string(Lane lane);

enum class MemoryKind : std::uint8_t {
    Graphics,     ///< device memory of the Vulkan device
    Accelerator,  ///< memory of an accelerator; plain host memory where the accelerator is the CPU
    Shared,       ///< exported by Vulkan and mapped by an accelerator
    Host,         ///< memory of the host; pinned where accelerators reach it
};

/// Where the bytes of a resource lie, which decides which lanes reach them (see LaneTopology::reaches): an entry {kind,
/// device} of the table of memory domains, which begins
///
///     0 graphics   1 accelerator   2 shared   3 host   4 accelerator1   5 shared1   6 accelerator2   7 shared2 ...
class MemoryDomain {
  public:
    static const MemoryDomain Graphics, Accelerator, Shared, Host;
    static constexpr MemoryDomain accelerator(std::uint32_t device) { return of(MemoryKind::Accelerator, device); }
    static constexpr MemoryDomain shared(std::uint32_t device) { return of(MemoryKind::Shared, device); }
    constexpr MemoryKind kind() const {
        if (index_ < kOfFirstDevices) return static_cast<MemoryKind>(index_);
        return index_ % 2 == 0 ? MemoryKind::Accelerator : MemoryKind::Shared;
    }
    /// Which of the accelerators; 0 for graphics and host memory.
    constexpr std::uint32_t device() const { return index_ < kOfFirstDevices ? 0 : index_ / 2U - 1; }
    constexpr std::size_t index() const { return index_; }  ///< its place in tables of domains
    friend constexpr auto operator<=>(MemoryDomain, MemoryDomain) = default;

  private:
    static constexpr std::uint32_t kOfFirstDevices = 4;
    explicit constexpr MemoryDomain(MemoryKind kind) : index_(static_cast<std::uint8_t>(kind)) {}
    static constexpr MemoryDomain of(MemoryKind kind, std::uint32_t device) {
        MemoryDomain domain{kind};
        if (device > 0)
            domain.index_ =
                static_cast<std::uint8_t>(kOfFirstDevices + 2 * (device - 1) + (kind == MemoryKind::Shared ? 1U : 0U));
        return domain;
    }
    std::uint8_t index_;
};
inline constexpr MemoryDomain MemoryDomain::Graphics{MemoryKind::Graphics};
inline constexpr MemoryDomain MemoryDomain::Accelerator{MemoryKind::Accelerator};
inline constexpr MemoryDomain MemoryDomain::Shared{MemoryKind::Shared};
inline constexpr MemoryDomain MemoryDomain::Host{MemoryKind::Host};
inline constexpr std::size_t kMaxDomains = 2 + 2 * kMaxAccelerators;
inline constexpr std::array<MemoryDomain, kMaxDomains> kDomains{
    MemoryDomain::Graphics,       MemoryDomain::Accelerator, MemoryDomain::Shared,         MemoryDomain::Host,
    MemoryDomain::accelerator(1), MemoryDomain::shared(1),   MemoryDomain::accelerator(2), MemoryDomain::shared(2),
    MemoryDomain::accelerator(3), MemoryDomain::shared(3),   MemoryDomain::accelerator(4), MemoryDomain::shared(4),
    MemoryDomain::accelerator(5), MemoryDomain::shared(5),   MemoryDomain::accelerator(6), MemoryDomain::shared(6),
    MemoryDomain::accelerator(7), MemoryDomain::shared(7)};
/// "graphics", "accelerator", "shared", "host", "accelerator1", "shared1", ...
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

struct BufferDesc {
    std::uint64_t bytes = 0;
    std::uint32_t alignment = 256;  ///< bytes, a power of two
    MemoryDomain domain = MemoryDomain::Accelerator;
};

enum class PixelFormat : std::uint8_t {
    Rgba8Unorm,
    Rgba8Srgb,
    Bgra8Unorm,
    Bgra8Srgb,
    Rgba16Float,
    R32Float,
    Rgb32Float,
    Rgb16Float
};
std::uint32_t bytes_per_pixel(PixelFormat format);
std::string_view to_string(PixelFormat format);

struct ImageDesc {
    std::uint32_t width = 0;   ///< pixels
    std::uint32_t height = 0;  ///< pixels
    PixelFormat format = PixelFormat::Rgba8Unorm;
    MemoryDomain domain = MemoryDomain::Graphics;
};

/// Storage as a back end knows it. `object` belongs to the back end of the resource's domain: the base address for host
/// and accelerator memory, a vulkan::Buffer* or vulkan::Image* for Vulkan memory.
struct Physical {
    std::uintptr_t object = 0;
    std::uint64_t offset = 0;  ///< bytes from the start of `object`
    std::uint64_t bytes = 0;
    /// The accelerator's address of the start of `object`, if that is a Vulkan object; 0 if `object` is itself an
    /// address.
    std::uintptr_t mapped = 0;
    /// The host's address of the start of `object`; 0 if it is the same as the accelerator's.
    std::uintptr_t host = 0;

    /// Address of the first byte, for kernels.
    std::byte* address() const { return reinterpret_cast<std::byte*>((mapped != 0 ? mapped : object) + offset); }
    /// The same for the host.
    std::byte* host_address() const { return host != 0 ? reinterpret_cast<std::byte*>(host + offset) : address(); }
};

}  // namespace kinetograph::graph
