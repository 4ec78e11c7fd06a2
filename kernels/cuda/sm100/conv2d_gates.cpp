#include <kinetograph/kernels/cuda/sm100/conv2d_gates.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_params.hpp>
#include <vector>

namespace kinetograph::sm100 {
namespace {

using Shape = Conv2dProblemShape;

std::string text(const char* name, int64_t value) { return std::string(name) + " " + std::to_string(value); }
std::string text(const Axes& axes) {
    return std::to_string(axes.d) + ", " + std::to_string(axes.h) + ", " + std::to_string(axes.w);
}
std::string met_element(const Shape& p) {
    switch (p.element) {
        case Element::F16:
            return "fp16";
        case Element::BF16:
            return "bf16";
        case Element::F8E4M3:
            return "fp8 e4m3";
        default:
            return "fp8 e5m2";
    }
}

/// Whether the corners of one axis of an im2col map fit their field, and the offset of every tap its own.
bool reaches(int64_t pad_front, int64_t pad_back, int64_t taps, int64_t dilation, int64_t corner, int64_t offset) {
    const int64_t reach = (taps - 1) * dilation, upper = pad_back - reach;
    return pad_front <= corner && upper >= -corner && upper < corner && reach <= offset;
}
bool reaches_in_frames(const Shape& p) {  // rank 4: 8 bits an axis
    return reaches(p.pad_front.w, p.pad_back.w, p.s, p.dilation.w, 128, 255) &&
           reaches(p.pad_front.h, p.pad_back.h, p.r, p.dilation.h, 128, 255);
}
bool reaches_in_volumes(const Shape& p) {  // rank 5: 5 bits an axis
    return reaches(p.pad_front.w, p.pad_back.w, p.s, p.dilation.w, 16, 31) &&
           reaches(p.pad_front.h, p.pad_back.h, p.r, p.dilation.h, 16, 31) &&
           reaches(p.pad_front.d, p.pad_back.d, p.q, p.dilation.d, 16, 31);
}
std::string reach_value(const Shape& p) {
    return "padding " + text(p.pad_front) + " and " + text(p.pad_back) + ", filter " + text(Axes{p.q, p.r, p.s}) +
           ", dilation " + text(p.dilation);
}

bool alone(const Axes& axes) { return axes == Axes{1, 1, 1}; }

constexpr Conv2dGate kElement{"bf16, fp16 or fp8 e4m3", [](const Shape& p) { return p.element != Element::F8E5M2; },
                              met_element};
constexpr Conv2dGate kGroups{"groups 1", [](const Shape& p) { return p.groups == 1; },
                             [](const Shape& p) { return text("groups", p.groups); }};
// 32 bf16 channels are one row under the 64-byte swizzle.
constexpr Conv2dGate kChannels{"C_in a multiple of 32", [](const Shape& p) { return p.c_in > 0 && p.c_in % 32 == 0; },
                               [](const Shape& p) { return text("C_in", p.c_in); }};
// A row of D is a stride of its tensor map: it must be a multiple of 16 bytes.
constexpr Conv2dGate kFilters{"C_out a multiple of 8", [](const Shape& p) { return p.c_out % 8 == 0; },
                              [](const Shape& p) { return text("C_out", p.c_out); }};
constexpr Conv2dGate kStrides{"strides 1 to 8",
                              [](const Shape& p) {
                                  const auto fits = [](int64_t stride) { return stride >= 1 && stride <= 8; };
                                  return fits(p.stride.d) && fits(p.stride.h) && fits(p.stride.w);
                              },
                              [](const Shape& p) { return "strides " + text(p.stride); }};
constexpr Conv2dGate kPixels{"fewer than 2^31 output pixels",
                             [](const Shape& p) { return p.pixels() < int64_t{1} << 31; },
                             [](const Shape& p) { return text("pixels", p.pixels()); }};

constexpr Conv2dGate kFramesGates[] = {
    kElement,
    kGroups,
    kChannels,
    kFilters,
    kStrides,
    kPixels,
    {"one temporal tap without temporal padding or stride",
     [](const Shape& p) { return p.q == 1 && p.pad_front.d == 0 && p.pad_back.d == 0 && p.stride.d == 1; },
     [](const Shape& p) {
         return text("taps", p.q) + ", " + text("padding", p.pad_front.d + p.pad_back.d) + ", " +
                text("stride", p.stride.d);
     }},
    {"corners of rows and columns in [-128, 127] and taps within 255", reaches_in_frames, reach_value}};

constexpr Conv2dGate kVolumeGates[] = {
    kElement,
    kGroups,
    kChannels,
    kFilters,
    kStrides,
    kPixels,
    {"corners of all axes in [-16, 15] and taps within 31", reaches_in_volumes, reach_value}};

constexpr Conv2dGate kWindowGates[] = {
    kElement,
    kGroups,
    kChannels,
    kFilters,
    kStrides,
    kPixels,
    {"corners of rows and columns in [-128, 127] and taps within 255", reaches_in_frames, reach_value},
    {"temporal dilation 1", [](const Shape& p) { return p.dilation.d == 1; },
     [](const Shape& p) { return text("dilation", p.dilation.d); }},
    {"every output frame meets an input frame",
     [](const Shape& p) { return p.pad_front.d < p.q && p.pad_back.d < p.q; },
     [](const Shape& p) {
         return text("temporal padding", p.pad_front.d) + " and " + std::to_string(p.pad_back.d) + ", " +
                text("taps", p.q);
     }},
    {"at most 8 frames in and out",
     [](const Shape& p) { return p.n * p.d <= kWindowFrames && p.n * p.d_out() <= kWindowFrames; },
     [](const Shape& p) { return text("frames", p.n * p.d) + " in, " + std::to_string(p.n * p.d_out()) + " out"; }}};

constexpr Conv2dGate kQsliceGates[] = {
    {"bf16", [](const Shape& p) { return p.element == Element::BF16; }, met_element},
    {"stride 1", [](const Shape& p) { return alone(p.stride); },
     [](const Shape& p) { return "stride " + text(p.stride); }},
    {"dilation 1", [](const Shape& p) { return alone(p.dilation); },
     [](const Shape& p) { return "dilation " + text(p.dilation); }},
    kGroups,
    {"more than one temporal tap", [](const Shape& p) { return p.q > 1; },
     [](const Shape& p) { return text("Q", p.q); }},
    {"more than one tap in a frame", [](const Shape& p) { return p.r * p.s > 1; },
     [](const Shape& p) { return text("R * S", p.r * p.s); }},
    {"no temporal padding", [](const Shape& p) { return p.pad_front.d == 0 && p.pad_back.d == 0; },
     [](const Shape& p) { return text("front", p.pad_front.d) + ", " + text("back", p.pad_back.d); }},
    kChannels,
    kFilters,
    kPixels,
    {"corners of rows and columns in [-128, 127] and taps within 255", reaches_in_frames, reach_value}};

}  // namespace

std::span<const Conv2dGate> gates(Activation activation) {
    switch (activation) {
        case Activation::Frames2d:
            return kFramesGates;
        case Activation::Volume3d:
            return kVolumeGates;
        default:
            return kWindowGates;
    }
}

std::span<const Conv2dGate> qslice_gates() { return kQsliceGates; }

std::string declined(std::span<const Conv2dGate> gates, const Conv2dProblemShape& shape) {
    std::string reasons;
    for (const Conv2dGate& gate : gates) {
        if (gate.holds(shape)) continue;
        if (!reasons.empty()) reasons += "; ";
        reasons.append(gate.requirement).append(" (").append(gate.value(shape)).append(")");
    }
    return reasons;
}

}  // namespace kinetograph::sm100
