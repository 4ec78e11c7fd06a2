// In place of the build's fat binaries: a program linked with this carries every kernel of the stand-in driver,
// whatever architectures the build was configured for.
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <array>

namespace kinetograph::cuda {

std::span<const FatBinary> fat_binaries() {
    static const auto image = standin::placeholder_image();
    static const std::array binaries{
        FatBinary{"conv_bf16", image},      FatBinary{"frame_passes", image},   FatBinary{"conv2d_frames", image},
        FatBinary{"conv2d_volumes", image}, FatBinary{"conv2d_windows", image}, FatBinary{"conv2d_variants", image},
        FatBinary{"im2col_passes", image},  FatBinary{"slice_passes", image},
    };
    return binaries;
}

std::string_view fat_binary_compiler() { return "placeholders for the stand-in driver"; }

}  // namespace kinetograph::cuda
