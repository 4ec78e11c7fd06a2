#include <algorithm>

#include <kinetograph/kernels/hip/gfx950/code_objects.hpp>

namespace kinetograph::gfx950 {

std::span<const std::byte> code_object(std::string_view name) {
    const auto objects = code_objects();
    const auto found = std::ranges::find(objects, name, &CodeObject::name);
    return found == objects.end() ? std::span<const std::byte>{} : found->image;
}

}  // namespace kinetograph::gfx950
