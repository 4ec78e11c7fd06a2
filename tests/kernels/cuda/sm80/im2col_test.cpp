#include <kinetograph/kernels/cuda/sm80/im2col.hpp>

#include "pass_run.hpp"

namespace kinetograph::sm80 {
namespace {

struct Im2colCase {
    uint32_t h, w, channels, q, r, s;  ///< stored image and filter
    uint32_t stride = 1, dilation = 1, pad = 0, upsample = 0;
    uint32_t padding_columns = 0;  ///< after the last tap
    uint32_t first_pixel = 0, pixels = 0;
    uint32_t w_out = 0, first_slab = 0;
};

/// The number stored at a position of frame `frame`; all positions differ.
uint16_t coded(size_t frame, size_t place) { return static_cast<uint16_t>(1 + frame * 7919 + place * 13); }

template <class Unit>
std::string run_gather(const Im2colParams& params, uint32_t slabs) {
    if constexpr (sizeof(Unit) == kPieceBytes) {
        return run_pass(
            cuda::elements_launch(params.widest() * params.pixels, slabs), [&] { Im2colKernel::run(params); }, 1);
    } else {
        const uint32_t pieces = params.row_units * static_cast<uint32_t>(sizeof(Unit)) / kPieceBytes;
        return run_pass(
            cuda::elements_launch(pieces * params.pixels, slabs / params.q),
            [&] { Im2colRowKernel<Unit>::run(params); }, 1);
    }
}

/// Two output frames of q temporal taps each, the first tap of the first in the padding; checks every element.
template <class Unit>
void expect_rows(const Im2colCase& c) {
    ASSERT_EQ(cuda::upsample_unit(c.channels * 2), sizeof(Unit));
    const uint32_t columns = c.q * c.r * c.s * c.channels + c.padding_columns;
    const uint32_t per_unit = static_cast<uint32_t>(sizeof(Unit)) / 2;
    Frames input(2 * c.q, int64_t{2} * c.h * c.w * c.channels, 1);
    Frames matrix(2, int64_t{2} * columns * c.pixels, 2);
    for (size_t frame = 0; frame < input.size(); ++frame)
        for (size_t i = 0; i < size_t{c.h} * c.w * c.channels; ++i)
            reinterpret_cast<uint16_t*>(input.frame(frame))[i] = coded(frame, i);

    const uint32_t seen = c.upsample + 1;
    Im2colParams params{.frames = {},
                        .h = seen * c.h,
                        .w = seen * c.w,
                        .w_stored = c.w,
                        .upsample = c.upsample,
                        .w_out = c.w_out,
                        .s = c.s,
                        .stride_h = static_cast<int32_t>(c.stride),
                        .stride_w = static_cast<int32_t>(c.stride),
                        .dilation_h = static_cast<int32_t>(c.dilation),
                        .dilation_w = static_cast<int32_t>(c.dilation),
                        .pad_top = static_cast<int32_t>(c.pad),
                        .pad_left = static_cast<int32_t>(c.pad),
                        .first_pixel = c.first_pixel,
                        .pixels = c.pixels,
                        .pixel_units = c.channels / per_unit,
                        .tap_units = c.r * c.s * c.channels / per_unit,
                        .row_units = columns / per_unit,
                        .q = c.q,
                        .first_slab = c.first_slab};
    // The launch starts at a slab in the middle: those before it stay as they were.
    const uint32_t slabs = 2 * c.q - c.first_slab;
    for (uint32_t i = 0; i < slabs; ++i) {
        const uint32_t slab = c.first_slab + i;
        params.frames.input[i] = slab == 0 ? nullptr : input.frame(slab);
        params.frames.output[i] = matrix.frame(slab / c.q) + size_t{2} * (slab % c.q) * c.r * c.s * c.channels;
    }
    ASSERT_EQ(run_gather<Unit>(params, slabs), "");
    EXPECT_TRUE(matrix.intact());
    const uint32_t tap_columns = c.r * c.s * c.channels;
    for (uint32_t slab = c.first_slab; slab < 2 * c.q; ++slab) {
        const bool last = slab % c.q == c.q - 1;
        for (uint32_t row = 0; row < c.pixels; ++row) {
            for (uint32_t k = 0; k < tap_columns + (last ? c.padding_columns : 0); ++k) {
                const uint32_t tap = k / c.channels, pixel = c.first_pixel + row;
                const int64_t y = int64_t{pixel / c.w_out} * c.stride + int64_t{tap / c.s} * c.dilation - c.pad;
                const int64_t x = int64_t{pixel % c.w_out} * c.stride + int64_t{tap % c.s} * c.dilation - c.pad;
                const bool inside =
                    slab != 0 && k < tap_columns && y >= 0 && y < seen * c.h && x >= 0 && x < seen * c.w;
                const auto place = static_cast<size_t>((y / seen * c.w + x / seen) * c.channels + k % c.channels);
                const size_t at = size_t{row} * columns + slab % c.q * tap_columns + k;
                ASSERT_EQ(reinterpret_cast<const uint16_t*>(matrix.frame(slab / c.q))[at],
                          inside ? coded(slab, place) : 0)
                    << "slab " << slab << ", row " << row << ", column " << k;
            }
        }
    }
}

TEST(Im2colPass, PutsEveryTapInItsColumnsInEveryUnit) {
    expect_rows<isa::Words<4>>(
        {.h = 5, .w = 6, .channels = 24, .q = 3, .r = 3, .s = 3, .pad = 1, .pixels = 30, .w_out = 6});
    expect_rows<uint32_t>({.h = 5, .w = 6, .channels = 6, .q = 2, .r = 3, .s = 2, .pad = 1, .pixels = 42, .w_out = 7});
    expect_rows<uint16_t>({.h = 4,
                           .w = 3,
                           .channels = 5,
                           .q = 1,
                           .r = 1,
                           .s = 3,
                           .pad = 1,
                           .padding_columns = 1,
                           .pixels = 18,
                           .w_out = 3});
}

TEST(Im2colPass, FillsTheRowAfterTheLastTapWithZeros) {
    expect_rows<uint16_t>({.h = 4,
                           .w = 5,
                           .channels = 3,
                           .q = 2,
                           .r = 3,
                           .s = 3,
                           .pad = 1,
                           .padding_columns = 10,
                           .pixels = 20,
                           .w_out = 5});
}

TEST(Im2colPass, StridesDilatesAndSeesAnUpsampledImage) {
    Im2colCase few{.h = 7, .w = 9, .channels = 2, .q = 1, .r = 3, .s = 3, .padding_columns = 6};
    few.stride = 2, few.pad = 1, few.pixels = 20, few.w_out = 5;
    expect_rows<uint32_t>(few);
    few.stride = 1, few.dilation = 2, few.pad = 2, few.pixels = 63, few.w_out = 9;
    expect_rows<uint32_t>(few);
    expect_rows<isa::Words<4>>(
        {.h = 3, .w = 4, .channels = 8, .q = 2, .r = 3, .s = 3, .pad = 1, .upsample = 1, .pixels = 48, .w_out = 8});
}

TEST(Im2colPass, StartsAtAnyPixelAndAnySlab) {
    expect_rows<uint16_t>({.h = 5,
                           .w = 6,
                           .channels = 3,
                           .q = 3,
                           .r = 3,
                           .s = 3,
                           .pad = 1,
                           .padding_columns = 15,
                           .first_pixel = 11,
                           .pixels = 13,
                           .w_out = 6,
                           .first_slab = 3});
    expect_rows<isa::Words<4>>({.h = 5,
                                .w = 6,
                                .channels = 8,
                                .q = 3,
                                .r = 3,
                                .s = 3,
                                .pad = 1,
                                .first_pixel = 11,
                                .pixels = 13,
                                .w_out = 6,
                                .first_slab = 4});
}

}  // namespace
}  // namespace kinetograph::sm80
