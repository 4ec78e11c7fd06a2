#include <kinetograph/engine/graph/handles.hpp>

namespace kinetograph::graph {

std::string_view to_string(Lane lane) {
    constexpr std::array<std::string_view, kMaxLanes> kNames{
        "graphics",     "async_compute", "transfer",     "accelerator",  "host",         "copies",      "accelerator1",
        "accelerator2", "accelerator3",  "accelerator4", "accelerator5", "accelerator6", "accelerator7"};
    return kNames[lane.index()];
}

std::string_view to_string(MemoryDomain domain) {
    constexpr std::array<std::string_view, kMaxDomains> kNames{
        "graphics",     "accelerator", "shared",       "host",    "accelerator1", "shared1",
        "accelerator2", "shared2",     "accelerator3", "shared3", "accelerator4", "shared4",
        "accelerator5", "shared5",     "accelerator6", "shared6", "accelerator7", "shared7"};
    return kNames[domain.index()];
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
        case PixelFormat::Rgb32Float:
            return 12;
        case PixelFormat::Rgb16Float:
            return 6;
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
        case PixelFormat::Rgb32Float:
            return "rgb32_float";
        case PixelFormat::Rgb16Float:
            return "rgb16_float";
    }
    return "?";
}

}  // namespace kinetograph::graph
