#pragma once

#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>

/// The matrix of a convolution's taps, written out for a matrix product: for problems that no kernel convolves
/// directly.
namespace kinetograph::sm80 {

/// Rows of a matrix, one per output pixel, with all taps: (q, r, s, channel), channels fastest, then zeros up to the
/// row's end. A slab is the part of one output frame's rows that one temporal tap fills: tap_units units of each row,
/// for the last tap also the zeros. Moves units of 16, 4 or 2 bytes, the largest that divides a pixel.
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

/// A thread takes one unit of a slab's row. Grid: units of all rows, slabs.
template <class Unit>
struct Im2colKernel {
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
        if (frame == nullptr || unit >= params.tap_units) return Unit{};
        const uint32_t tap = unit / params.pixel_units, part = unit % params.pixel_units;
        // Unsigned: a position before the first one becomes very large.
        const auto y = static_cast<uint32_t>(static_cast<int32_t>(pixel / params.w_out) * params.stride_h +
                                             static_cast<int32_t>(tap / params.s) * params.dilation_h - params.pad_top);
        const auto x =
            static_cast<uint32_t>(static_cast<int32_t>(pixel % params.w_out) * params.stride_w +
                                  static_cast<int32_t>(tap % params.s) * params.dilation_w - params.pad_left);
        if (y >= params.h || x >= params.w) return Unit{};
        const size_t place = static_cast<size_t>(y >> params.upsample) * params.w_stored + (x >> params.upsample);
        return isa::load_global<Unit>(static_cast<const Unit*>(frame) + place * params.pixel_units + part);
    }
};

}  // namespace kinetograph::sm80
