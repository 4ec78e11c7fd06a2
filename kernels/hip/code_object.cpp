#include <algorithm>

#include <kinetograph/kernels/hip/code_objects.hpp>

namespace kinetograph::hip {

std::span<const std::byte> code_object(std::string_view architecture, std::string_view name) {
    const std::string_view chip = architecture.substr(0, architecture.find(':'));
    const auto objects = code_objects();
    const auto found = std::ranges::find_if(
        objects, [&](const CodeObject& object) { return object.chip == chip && object.name == name; });
    return found == objects.end() ? std::span<const std::byte>{} : found->image;
}

}  // namespace kinetograph::hip
