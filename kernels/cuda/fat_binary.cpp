#include <algorithm>

#include <kinetograph/kernels/cuda/fat_binaries.hpp>

namespace kinetograph::cuda {

std::span<const std::byte> fat_binary(std::string_view name) {
    const auto binaries = fat_binaries();
    const auto found = std::ranges::find(binaries, name, &FatBinary::name);
    return found == binaries.end() ? std::span<const std::byte>{} : found->image;
}

}  // namespace kinetograph::cuda
