#include <kinetograph/engine/graph/handles.hpp>

namespace kinetograph::graph {

std::string_view to_string(Lane lane) {
    switch (lane) {
        case Lane::Graphics:
            return "graphics";
        case Lane::AsyncCompute:
            return "async_compute";
        case Lane::Transfer:
            return "transfer";
        case Lane::Accelerator:
            return "accelerator";
        case Lane::Host:
            return "host";
    }
    return "?";
}

std::string_view to_string(MemoryDomain domain) {
    switch (domain) {
        case MemoryDomain::Graphics:
            return "graphics";
        case MemoryDomain::Accelerator:
            return "accelerator";
        case MemoryDomain::Shared:
            return "shared";
        case MemoryDomain::Host:
            return "host";
    }
    return "?";
}

std::string_view to_string(Access access) {
    switch (access) {
        case Access::KernelRead:
            return "kernel_read";
        case Access::KernelWrite:
            return "kernel_write";
        case Access::ComputeRead:
            return "compute_read";
        case Access::ComputeWrite:
            return "compute_write";
        case Access::SampledRead:
            return "sampled_read";
        case Access::ColorAttachment:
            return "color_attachment";
        case Access::TransferRead:
            return "transfer_read";
        case Access::TransferWrite:
            return "transfer_write";
        case Access::HostRead:
            return "host_read";
        case Access::HostWrite:
            return "host_write";
        case Access::Present:
            return "present";
    }
    return "?";
}

std::string_view to_string(ImageLayout layout) {
    switch (layout) {
        case ImageLayout::General:
            return "general";
        case ImageLayout::ShaderRead:
            return "shader_read";
        case ImageLayout::ColorAttachment:
            return "color_attachment";
        case ImageLayout::TransferSource:
            return "transfer_source";
        case ImageLayout::TransferDestination:
            return "transfer_destination";
        case ImageLayout::Present:
            return "present";
    }
    return "?";
}

std::uint32_t bytes_per_pixel(PixelFormat format) {
    switch (format) {
        case PixelFormat::Rgba8Unorm:
        case PixelFormat::Rgba8Srgb:
        case PixelFormat::Bgra8Unorm:
        case PixelFormat::Bgra8Srgb:
        case PixelFormat::R32Float:
            return 4;
        case PixelFormat::Rgba16Float:
            return 8;
    }
    return 0;
}

std::string_view to_string(PixelFormat format) {
    switch (format) {
        case PixelFormat::Rgba8Unorm:
            return "rgba8_unorm";
        case PixelFormat::Rgba8Srgb:
            return "rgba8_srgb";
        case PixelFormat::Bgra8Unorm:
            return "bgra8_unorm";
        case PixelFormat::Bgra8Srgb:
            return "bgra8_srgb";
        case PixelFormat::Rgba16Float:
            return "rgba16_float";
        case PixelFormat::R32Float:
            return "r32_float";
    }
    return "?";
}

}  // namespace kinetograph::graph
