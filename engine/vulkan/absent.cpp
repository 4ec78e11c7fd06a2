// engine/vulkan in a build without Vulkan's headers.
#include <kinetograph/engine/vulkan/display.hpp>

namespace kinetograph::vulkan {
namespace {

tl::unexpected<Error> absent() {
    return fail(ErrorCode::Unsupported,
                "Vulkan: this build of Kinetograph is without it, because its headers were not found");
}

}  // namespace

Result<std::shared_ptr<const Display>> open_display(const std::string&) { return absent(); }
Result<std::shared_ptr<const Display>> adopt_display(const ApplicationVulkan&) { return absent(); }

}  // namespace kinetograph::vulkan
