#include <charconv>
#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/spirv/vulkan13/conv_params.hpp>
#include <kinetograph/kernels/spirv/vulkan13/cost.hpp>
#include <kinetograph/kernels/spirv/vulkan13/gates.hpp>

namespace kinetograph::vulkan13 {
namespace {

using conv::Gate;
using conv::Subject;

constexpr Gate<Subject> kOnVulkan{"a Vulkan device", [](const Subject& s) { return runs_on_vulkan(s.chip); },
                                  [](const Subject& s) { return s.chip.kind; }};
constexpr Gate<Subject> kRoomForTaps{"temporal taps that one launch has room for",
                                     [](const Subject& s) { return s.problem.filter.q <= kMaxConvFrameTaps; },
                                     [](const Subject& s) {
                                         return std::to_string(s.problem.filter.q) + "; there is room for " +
                                                std::to_string(kMaxConvFrameTaps);
                                     }};

constexpr Gate<Subject> kTilesGates[] = {
    kOnVulkan,
    {"fp32, bf16 or fp16",
     [](const Subject& s) {
         const Element element = s.problem.input.element;
         return element == Element::F32 || element == Element::BF16 || element == Element::F16;
     },
     conv::met_dtype},
    kRoomForTaps,
};

constexpr Gate<Subject> kSlabGates[] = {
    kOnVulkan,
    {"bf16 or fp16 matrices of 16x16x16 with float32 sums, by subgroups of 16, 32 or 64",
     [](const Subject& s) { return multiplies_matrices(s.chip, s.problem.input.element); },
     [](const Subject& s) { return conv::met_dtype(s) + " and " + s.chip.features; }},
    conv::kUngrouped,
    {"stride and dilation 1 in a frame",
     [](const Subject& s) {
         const conv::ConvProblem& p = s.problem;
         return p.stride.h == 1 && p.stride.w == 1 && p.dilation.h == 1 && p.dilation.w == 1;
     },
     [](const Subject& s) { return conv::met(s.problem.stride) + " and " + conv::met(s.problem.dilation); }},
    {"an input to upsample padded by 1 under 3x3 taps",
     [](const Subject& s) { return !s.problem.upsample || conv::is_sub_pixel(s.problem); },
     [](const Subject&) { return std::string("another"); }},
    {"input channels a multiple of 16", [](const Subject& s) { return s.problem.c_in % 16 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.c_in); }},
    {"shared memory for a tile and its taps", [](const Subject& s) { return holds_slab(s.problem, s.chip); },
     [](const Subject& s) { return std::to_string(s.chip.shared_bytes_per_block) + " bytes"; }},
    kRoomForTaps,
};

}  // namespace

std::span<const Gate<Subject>> slab_gates() { return kSlabGates; }
std::span<const Gate<Subject>> tiles_gates() { return kTilesGates; }

bool runs_on_vulkan(const conv::Chip& chip) { return chip.kind == "vulkan"; }

bool has_feature(const conv::Chip& chip, std::string_view feature) {
    const std::string words = ' ' + chip.features + ' ';
    return words.find(' ' + std::string(feature) + ' ') != std::string::npos;
}

bool multiplies_matrices(const conv::Chip& chip, Element element) {
    const std::uint32_t size = subgroup_size(chip);
    if (size != 16 && size != 32 && size != 64) return false;
    return (element == Element::F16 && has_feature(chip, "matrix-f16")) ||
           (element == Element::BF16 && has_feature(chip, "matrix-bf16"));
}

std::uint32_t subgroup_size(const conv::Chip& chip) {
    constexpr std::string_view kWord = "subgroup-";
    const std::size_t at = chip.features.find(kWord);
    std::uint32_t size = 0;
    if (at != std::string::npos)
        std::from_chars(chip.features.data() + at + kWord.size(), chip.features.data() + chip.features.size(), size);
    return size;
}

}  // namespace kinetograph::vulkan13
