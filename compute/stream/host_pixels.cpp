#include <kinetograph/compute/stream/host_pixels.hpp>

#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>

namespace kinetograph::stream {
namespace {

/// ITU-R BT.709, item 3.2: luma of R, G and B.
constexpr float kRed = 0.2126F, kGreen = 0.7152F, kBlue = 0.0722F;

constexpr std::int64_t kBlock = 4096;  // pixels that a thread takes at a time
constexpr float kHalf = 0.5F;          // what makes truncation of a positive number rounding

struct Rgb {
    float r = 0, g = 0, b = 0;
    float luma() const { return kRed * r + kGreen * g + kBlue * b; }
};

/// From [-1, 1] to [0, 1].
[[gnu::always_inline]] inline float unit(float value) {
    return value > -1.0F ? (value < 1.0F ? 0.5F * value + 0.5F : 1.0F) : 0.0F;
}

Rgb pixel(const float* rgb) { return {unit(rgb[0]), unit(rgb[1]), unit(rgb[2])}; }

/// Codes of limited range (item 3.4), in 8 bits or, at the top of 16, in 10.
template <class Code>
struct Codes;
template <>
struct Codes<std::uint8_t> {
    static std::uint8_t of(float in_8_bits) { return static_cast<std::uint8_t>(in_8_bits + kHalf); }
};
template <>
struct Codes<std::uint16_t> {
    static std::uint16_t of(float in_8_bits) {
        return static_cast<std::uint16_t>(static_cast<std::uint32_t>(4.0F * in_8_bits + kHalf) << 6U);
    }
};
template <class Code>
Code luma_code(float luma) {
    return Codes<Code>::of(16.0F + 219.0F * luma);
}
template <class Code>
Code chroma_code(float difference) {
    return Codes<Code>::of(128.0F + 224.0F * difference);
}

/// Two rows of pixels: two of Y and one of UV.
template <class Code>
void convert_rows(const float* upper, std::uint32_t width, Code* y, Code* uv) {
    const float* lower = upper + std::size_t{3} * width;
    for (std::uint32_t x = 0; x < width; x += 2) {
        Rgb mean;
        const auto add = [&](const float* rgb, Code& to) {
            const Rgb one = pixel(rgb);
            to = luma_code<Code>(one.luma());
            mean = {mean.r + 0.25F * one.r, mean.g + 0.25F * one.g, mean.b + 0.25F * one.b};
        };
        const std::size_t left = std::size_t{3} * x, right = left + 3;
        add(upper + left, y[x]);
        add(upper + right, y[x + 1]);
        add(lower + left, y[width + x]);
        add(lower + right, y[width + x + 1]);
        uv[x] = chroma_code<Code>((mean.b - mean.luma()) / (2.0F * (1.0F - kBlue)));
        uv[x + 1] = chroma_code<Code>((mean.r - mean.luma()) / (2.0F * (1.0F - kRed)));
    }
}

template <class Code>
void convert_planes(const float* rgb, std::uint32_t width, std::uint32_t height, Code* out) {
    Code* const uv = out + std::size_t{width} * height;
    for_tasks(height / 2, [&](std::int64_t task, int) {
        const auto pair = static_cast<std::size_t>(task);
        convert_rows(rgb + 6 * width * pair, width, out + 2 * width * pair, uv + width * pair);
    });
}

/// Values become halves in a loop over all of them, and only then pixels of four.
[[gnu::always_inline]] inline void halves_loop(const float* rgb, std::uint16_t* out, std::int64_t pixels) {
    constexpr std::int64_t kPixels = 64;
    const std::uint16_t one = tensor::to_f16(1.0F);
    for (std::int64_t first = 0; first < pixels; first += kPixels) {
        std::uint16_t halves[3 * kPixels];
        const std::int64_t count = std::min(kPixels, pixels - first);
#pragma omp simd
        for (std::int64_t i = 0; i < 3 * count; ++i) halves[i] = tensor::to_f16(unit(rgb[3 * first + i]));
        for (std::int64_t i = 0; i < count; ++i) {
            std::uint16_t* const pixel = out + 4 * (first + i);
            for (std::int64_t c = 0; c < 3; ++c) pixel[c] = halves[3 * i + c];
            pixel[3] = one;
        }
    }
}

void convert_to_half(std::span<const float> rgb, std::uint16_t* out) {
    for_blocks(static_cast<std::int64_t>(rgb.size() / 3), kBlock, [&](std::int64_t first, std::int64_t count) {
        conv::CpuClones<halves_loop>()(rgb.data() + 3 * first, out + 4 * first, count);
    });
}

}  // namespace

std::uint64_t row_bytes(HostPixels layout, std::uint32_t width) {
    return std::uint64_t{width} * (layout == HostPixels::Rgba16Float ? 8 : layout == HostPixels::P010 ? 2 : 1);
}

std::uint64_t frame_bytes(HostPixels layout, std::uint32_t width, std::uint32_t height) {
    const std::uint64_t rows = layout == HostPixels::Rgba16Float ? height : height + height / 2;
    return row_bytes(layout, width) * rows;
}

void convert(std::span<const float> rgb, std::uint32_t width, std::uint32_t height, HostPixels layout,
             std::span<std::byte> out) {
    switch (layout) {
        case HostPixels::Rgba16Float:
            return convert_to_half(rgb, reinterpret_cast<std::uint16_t*>(out.data()));
        case HostPixels::Nv12:
            return convert_planes(rgb.data(), width, height, reinterpret_cast<std::uint8_t*>(out.data()));
        case HostPixels::P010:
            return convert_planes(rgb.data(), width, height, reinterpret_cast<std::uint16_t*>(out.data()));
    }
}

}  // namespace kinetograph::stream
