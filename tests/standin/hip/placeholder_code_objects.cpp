// Replaces the build's code objects: a program linked with this finds a placeholder under every name, which the
// stand-in runtime accepts for every kernel that it has, whether or not the build has a compiler for them.
#include <kinetograph/kernels/hip/code_objects.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <array>

namespace kinetograph::hip {

std::span<const CodeObject> code_objects() {
    static const std::array objects{CodeObject{"gfx950", "placeholder", standin::placeholder_image()}};
    return objects;
}

std::span<const std::byte> code_object(std::string_view /*architecture*/, std::string_view /*name*/) {
    return standin::placeholder_image();
}

std::string_view code_object_compiler() { return "placeholders for the stand-in runtime"; }

}  // namespace kinetograph::hip
