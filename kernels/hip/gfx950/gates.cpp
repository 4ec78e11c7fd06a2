#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <kinetograph/kernels/hip/gfx950/winograd_model.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvProblem;
using conv::Gate;
using conv::Subject;

constexpr Gate kOnGfx950{
    "a gfx950 device",
    [](const Subject& s) { return s.chip.kind == "hip" && s.chip.architecture.starts_with("gfx950"); },
    [](const Subject& s) { return conv::met_chip(s, "hip"); }};

std::string frame_too_large(const char* name, uint64_t bytes) {
    return std::string(name) + " of " + std::to_string(bytes) +
           " bytes: one buffer descriptor spans less than 4 GiB (less 16 MiB for the last tile's ragged edge)";
}

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
    [](const Subject& s) { return !multiplies(s.problem.dtype) || declined(without_norm(s.problem)).empty(); },
    [](const Subject& s) { return joined(declined(without_norm(s.problem))); }};

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
     [](const Subject& s) { return s.problem.upsample || declined(without_norm(im2col_product(s.problem))).empty(); },
     [](const Subject& s) { return joined(declined(without_norm(im2col_product(s.problem)))); }},
};

}  // namespace

std::vector<std::string> declined(const ConvProblem& p) {
    constexpr uint64_t kDescriptor = (uint64_t{1} << 32) - (16 << 20);
    std::vector<std::string> reasons;
    const auto gate = [&](bool open, std::string reason) {
        if (!open) reasons.push_back(std::move(reason));
    };
    gate(p.groups == 1, std::to_string(p.groups) + " groups: the matrix product mixes all channels");
    gate(p.c_in >= 1 && p.filter.q >= 1 && p.filter.r >= 1 && p.filter.s >= 1 && p.stride.h >= 1 && p.stride.w >= 1 &&
             p.dilation.h >= 1 && p.dilation.w >= 1,
         "channels, taps, strides and dilations start at 1");
    if (!reasons.empty()) return reasons;
    gate(p.filter.q <= kMaxConvFrameTaps, std::to_string(p.filter.q) + " temporal taps: a launch names at most " +
                                              std::to_string(kMaxConvFrameTaps) + " frames");
    gate(p.input_frame_bytes() < kDescriptor, frame_too_large("an input frame", p.input_frame_bytes()));
    gate(p.output_frame_bytes() < kDescriptor, frame_too_large("an output frame", p.output_frame_bytes()));
    const auto filter = static_cast<uint64_t>(walk_of(p).parities * conv::round_up(p.filter.k, 256) *
                                              filter_row(p, ConvPath::Padded, 128) * element_bytes(p.dtype));
    gate(filter < kDescriptor, frame_too_large("a packed filter", filter));
    gate(p.norm == conv::Norm::None || p.filter.k <= kMostNormedChannels,
         std::to_string(p.filter.k) + " output channels under a norm: one tile holds at most " +
             std::to_string(kMostNormedChannels) + " of a pixel's channels");
    gate(p.norm == conv::Norm::None || p.filter.k % 8 == 0 || p.filter.k <= 128,
         std::to_string(p.filter.k) + " output channels under a norm: a tile of more than 128 holds multiples of 8");
    gate(p.output_dtype != Element::F32 || p.norm == conv::Norm::None,
         "a norm of float32 outputs: it goes over rounded ones");
    gate(p.output_dtype != Element::F32 || !p.residual,
         "a float32 source: it is prefetched into registers for 16 bits a value");
    return reasons;
}

ConvProblem without_norm(ConvProblem problem) {
    problem.norm = conv::Norm::None;
    return problem;
}

std::span<const Gate> four_wave_gates() { return kFourWave; }
std::span<const Gate> winograd_gates() { return kWinograd; }
std::span<const Gate> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::gfx950
