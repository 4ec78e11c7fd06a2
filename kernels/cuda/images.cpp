#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/kernels/cuda/images.hpp>

namespace kinetograph::cuda {

conv::Images images() {
    return {.format = "fat binary",
            .count = [] { return fat_binaries().size(); },
            .find = [](std::string_view, std::string_view name) { return fat_binary(name); },
            .compiler = fat_binary_compiler};
}

}  // namespace kinetograph::cuda
