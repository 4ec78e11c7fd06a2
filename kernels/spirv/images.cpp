#include <algorithm>
#include <kinetograph/kernels/spirv/images.hpp>
#include <kinetograph/kernels/spirv/modules.hpp>

namespace kinetograph::spirv {

conv::Images images() {
    return {.format = "SPIR-V",
            .count = [] { return modules().size(); },
            .find = [](std::string_view, std::string_view name) -> std::span<const std::byte> {
                const auto found = std::ranges::find(modules(), name, &Module::name);
                return found == modules().end() ? std::span<const std::byte>() : found->words;
            },
            .compiler = compiler};
}

}  // namespace kinetograph::spirv
