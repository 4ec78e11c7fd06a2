#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::Gate;
using conv::Subject;

constexpr Gate kOnGfx950{
    "a gfx950 device",
    [](const Subject& s) { return s.chip.kind == "hip" && s.chip.architecture.starts_with("gfx950"); },
    [](const Subject& s) { return conv::met_chip(s, "hip"); }};

bool multiplies(Element element) {
    return element == Element::BF16 || element == Element::F16 || element == Element::F8E4M3;
}

std::string joined(const std::vector<std::string>& reasons) {
    std::string text;
    for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
    return text;
}

constexpr Gate kFourWave[] = {
    kOnGfx950,
    {"bf16, fp16 or fp8", [](const Subject& s) { return multiplies(s.problem.dtype); }, conv::met_dtype},
    {"what one launch of the kernel holds",
     [](const Subject& s) { return !multiplies(s.problem.dtype) || declined(four_wave_problem(s.problem)).empty(); },
     [](const Subject& s) { return joined(declined(four_wave_problem(s.problem))); }},
};

constexpr Gate kIm2col[] = {
    kOnGfx950,
    conv::kNoUpsampling,
    conv::kBf16OrF16,
    conv::kUnscaled,
    {"no norm", [](const Subject& s) { return s.problem.norm == conv::Norm::None; },
     [](const Subject&) { return std::string("one"); }},
    {"a matrix whose parts descriptors span",
     [](const Subject& s) { return s.problem.upsample || !im2col_refusal(s.problem); },
     [](const Subject& s) { return *im2col_refusal(s.problem); }},
};

}  // namespace

std::span<const Gate> four_wave_gates() { return kFourWave; }
std::span<const Gate> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::gfx950
