#pragma once

#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>

/// The matrix of a convolution's taps, written out for a matrix product: for problems that no kernel convolves
/// directly.
namespace kinetograph::sm80 {

/// Rows of a matrix, one per output pixel, with all taps: (q, r, s, channel), channels fastest, then zeros up to the
/// row's end. A slab is the part of one output frame's rows that one temporal tap fills: tap_units units of each row,
/// for the last tap also the zeros. Moves units of 16, 4 or 2 bytes, the largest that divides a pixel; rows are
/// multiples of 64 bytes.
struct Im2colParams {
    cuda::FrameTable frames;  ///< stored [h, w] pixels, null: zeros; to the slab's address in row 0
    uint32_t h, w;            ///< of the image that the taps see
    uint32_t w_stored;        ///< of the stored frame
    uint32_t upsample;        ///< 1: stored pixel = seen pixel / 2
    uint32_t w_out;
    uint32_t s;  ///< taps in a row of the filter
    int32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    uint32_t first_pixel, pixels;  ///< of the output frame: pixel first_pixel is row 0
    uint32_t pixel_units, tap_units, row_units;
    uint32_t q, first_slab;  ///< slab y of this launch has number first_slab + y; its temporal tap is that modulo q

    /// Units of the last temporal tap's slab, the widest.
    KG_HOST_DEVICE uint32_t widest() const { return row_units - (q - 1) * tap_units; }
};

/// Of one output pixel: the first row and column that its taps see. Unsigned: one before the image is very large.
struct Im2colWindow {
    uint32_t y, x;

    KG_DEVICE Im2colWindow(const Im2colParams& p, uint32_t pixel)
        : y(static_cast<uint32_t>(static_cast<int32_t>(pixel / p.w_out) * p.stride_h - p.pad_top)),
          x(static_cast<uint32_t>(static_cast<int32_t>(pixel % p.w_out) * p.stride_w - p.pad_left)) {}

    /// `part` of the pixel under a tap; zeros beyond the image, and of no frame.
    template <class Unit>
    KG_DEVICE Unit unit_under(const Im2colParams& p, const void* frame, uint32_t tap_row, uint32_t tap_column,
                              uint32_t part) const {
        const uint32_t row = y + tap_row * static_cast<uint32_t>(p.dilation_h);
        const uint32_t column = x + tap_column * static_cast<uint32_t>(p.dilation_w);
        if (frame == nullptr || row >= p.h || column >= p.w) return Unit{};
        const size_t place = static_cast<size_t>(row >> p.upsample) * p.w_stored + (column >> p.upsample);
        return isa::load_global<Unit>(static_cast<const Unit*>(frame) + place * p.pixel_units + part);
    }
};

inline constexpr uint32_t kPieceBytes = 16;

/// For smaller units: a thread takes kPieceBytes of a row, of all temporal taps. A launch has all slabs of each of its
/// output frames. Grid: pieces of all rows, output frames.
template <class Unit>
struct Im2colRowKernel {
    static constexpr uint32_t kUnits = kPieceBytes / sizeof(Unit);

    KG_DEVICE static void run(const Im2colParams& params) {
        const uint32_t pieces = params.row_units / kUnits, index = thread_of_row();
        const uint32_t row = index / pieces, piece = index % pieces, slab = isa::block_index().y * params.q;
        if (row >= params.pixels) return;
        const Im2colWindow window(params, params.first_pixel + row);
        const uint32_t rows = params.tap_units / (params.s * params.pixel_units);
        const uint32_t first = piece * kUnits, tap = first % params.tap_units / params.pixel_units;
        uint32_t q = first / params.tap_units, r = tap / params.s, s = tap % params.s;
        uint32_t part = first % params.pixel_units;
        isa::Words<kPieceBytes / 4> words = {};
        KG_UNROLL
        for (uint32_t i = 0; i < kUnits; ++i) {
            if (q < params.q) {
                const auto unit = window.unit_under<Unit>(params, params.frames.input[slab + q], r, s, part);
                words.at[i * sizeof(Unit) / 4] |= static_cast<uint32_t>(unit) << (i * sizeof(Unit) % 4 * 8);
            }
            if (++part < params.pixel_units) continue;
            part = 0;
            if (++s < params.s) continue;
            s = 0;
            if (++r < rows) continue;
            r = 0;
            ++q;
        }
        auto* output = static_cast<uint8_t*>(params.frames.output[slab]);
        isa::store_global(output + (static_cast<size_t>(row) * pieces + piece) * kPieceBytes, words);
    }
};

/// For units of kPieceBytes: a thread takes one of a slab's row. Grid: units of all rows, slabs.
struct Im2colKernel {
    using Unit = isa::Words<kPieceBytes / 4>;

    KG_DEVICE static void run(const Im2colParams& params) {
        const uint32_t slab = isa::block_index().y, widest = params.widest(), index = thread_of_row();
        const uint32_t row = index / widest, unit = index % widest;
        const bool last = (params.first_slab + slab) % params.q == params.q - 1;
        if (row >= params.pixels || (!last && unit >= params.tap_units)) return;
        auto* output = static_cast<Unit*>(params.frames.output[slab]);
        isa::store_global(output + static_cast<size_t>(row) * params.row_units + unit,
                          unit_under(params, params.frames.input[slab], params.first_pixel + row, unit));
    }

  private:
    KG_DEVICE static Unit unit_under(const Im2colParams& params, const void* frame, uint32_t pixel, uint32_t unit) {
        if (unit >= params.tap_units) return Unit{};
        const uint32_t tap = unit / params.pixel_units;
        return Im2colWindow(params, pixel)
            .unit_under<Unit>(params, frame, tap / params.s, tap % params.s, unit % params.pixel_units);
    }
};

}  // namespace kinetograph::sm80
