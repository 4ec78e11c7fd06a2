#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <kinetograph/kernels/hip/gfx950/winograd_model.hpp>

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

constexpr Gate kOneLaunch{
    "what one launch of the kernel holds",
    [](const Subject& s) { return !multiplies(s.problem.dtype) || declined(four_wave_problem(s.problem)).empty(); },
    [](const Subject& s) { return joined(declined(four_wave_problem(s.problem))); }};

constexpr Gate kFourWave[] = {
    kOnGfx950,
    {"bf16, fp16 or fp8", [](const Subject& s) { return multiplies(s.problem.dtype); }, conv::met_dtype},
    kOneLaunch,
};

std::string met_winograd_model(const Subject& s);

constexpr Gate kWinograd[] = {
    kOnGfx950,
    conv::kBf16OrF16,
    conv::kUnscaled,
    conv::kNoUpsampling,
    kOneLaunch,
    conv::kStride1,
    conv::kDilation1,
    conv::kTaps3x3x3,
    conv::kPaddedByTwoFrames,
    conv::kTwoFrames,
    {"a kernel", [](const Subject&) { return false; }, met_winograd_model},
};

std::string met_winograd_model(const Subject& s) {
    return conv::met_model({winograd_seconds, "four-wave-gfx950",
                            [](const conv::ConvProblem& problem, const conv::Chip& chip) {
                                return plan_four_wave(problem, chip).seconds;
                            }},
                           std::span(kWinograd).first(std::size(kWinograd) - 1), s);
}

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
    {"a product that one launch of the kernel holds",
     [](const Subject& s) {
         return s.problem.upsample || declined(four_wave_problem(im2col_product(s.problem))).empty();
     },
     [](const Subject& s) { return joined(declined(four_wave_problem(im2col_product(s.problem)))); }},
};

}  // namespace

std::span<const Gate> four_wave_gates() { return kFourWave; }
std::span<const Gate> winograd_gates() { return kWinograd; }
std::span<const Gate> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::gfx950
