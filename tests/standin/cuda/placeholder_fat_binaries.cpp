// Replaces the build's fat binaries: a program linked with this finds a placeholder under every name, which the
// stand-in driver accepts for every kernel that it has, whatever architectures the build is configured for.
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <array>

namespace kinetograph::cuda {

std::span<const FatBinary> fat_binaries() {
    static const std::array binaries{FatBinary{"placeholder", standin::placeholder_image()}};
    return binaries;
}

std::span<const std::byte> fat_binary(std::string_view /*name*/) { return standin::placeholder_image(); }

std::string_view fat_binary_compiler() { return "placeholders for the stand-in driver"; }

}  // namespace kinetograph::cuda
