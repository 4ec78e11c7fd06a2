#include <kinetograph/engine/present/offscreen.hpp>

namespace kinetograph::present {

Result<std::unique_ptr<OffscreenTarget>> OffscreenTarget::create(const vulkan::Device& device, std::uint32_t width,
                                                                 std::uint32_t height) {
    KG_TRY(auto image,
           vulkan::Image::create(device, "offscreen target",
                                 {.width = width, .height = height, .format = graph::PixelFormat::Rgba8Unorm}));
    return std::unique_ptr<OffscreenTarget>(new OffscreenTarget(std::move(image)));
}

}  // namespace kinetograph::present
