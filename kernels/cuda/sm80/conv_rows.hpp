#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_faults.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// Addresses of the input channels under one tap for one output pixel, in two forms: a fast one, and one for any shape.
namespace kinetograph::sm80 {

/// A chunk of channels under one tap.
struct ConvChunkSource {
    const uint8_t* address;  ///< valid even if nothing is read
    bool inside;             ///< inside the image; zeros otherwise
};

/// Most rows or columns of taps for MaskedRow.
inline constexpr int64_t kMostMaskedTaps = 15;

/// Decides before the loop which taps are inside the image, one bit for each row and column of taps; the distance
/// between two taps is the same for all pixels. Up to 15 x 15 taps, on the image as stored.
struct MaskedRow {
    uint32_t offset;  ///< bytes from the frame to the pixel under tap (0, 0); modulo 2^32 if that is outside
    uint32_t taps;    ///< bit r: tap row r is inside; bit 16 + s: tap column s is

    /// The part that all rows under one tap share.
    struct Tap {
        const uint8_t* frame;
        uint32_t distance;  ///< bytes from tap (0, 0) to this chunk
        uint32_t needs;     ///< bits of `taps`
    };

    /// Pixel (y, x) is under tap (0, 0), possibly outside the image; `exists`: whether the output pixel does.
    template <ConvFault kFault>
    KG_DEVICE static MaskedRow of(const ConvParams& params, int32_t y, int32_t x, bool exists) {
        MaskedRow row{static_cast<uint32_t>(y * static_cast<int32_t>(params.w_stored) + x) * params.c_in * 2, 0};
        if (!exists) return row;
        const uint32_t width = kFault == ConvFault::HaloNotZeroed ? params.w + 1 : params.w;
        for (uint32_t r = 0; r < params.r; ++r) {
            const auto at = static_cast<uint32_t>(y + static_cast<int32_t>(r) * params.dilation_h);
            row.taps |= (at < params.h ? 1u : 0u) << r;
        }
        for (uint32_t s = 0; s < params.s; ++s) {
            const auto at = static_cast<uint32_t>(x + static_cast<int32_t>(s) * params.dilation_w);
            row.taps |= (at < width ? 1u : 0u) << (16 + s);
        }
        return row;
    }
    /// `frame` null: zeros.
    KG_DEVICE static Tap tap(const ConvParams& params, const uint8_t* frame, uint32_t r, uint32_t s, uint32_t channel) {
        if (frame == nullptr) return {static_cast<const uint8_t*>(params.filter), 0, ~0u};
        const uint32_t down = r * static_cast<uint32_t>(params.dilation_h) * params.w_stored;
        const uint32_t right = s * static_cast<uint32_t>(params.dilation_w);
        return {frame, ((down + right) * params.c_in + channel) * 2, 1u << r | 0x10000u << s};
    }
    KG_DEVICE ConvChunkSource source(const ConvParams&, const Tap& tap) const {
        const bool inside = (taps & tap.needs) == tap.needs;
        return {tap.frame + (inside ? offset + tap.distance : 0u), inside};
    }
};

/// Coordinates, compared for every chunk: any number of taps, and images seen at twice their stored size.
struct PlacedRow {
    int32_t y, x;  ///< under tap (0, 0), in the image that the taps see

    struct Tap {
        const uint8_t* frame;
        int32_t down, right;
        uint32_t channel;
    };

    template <ConvFault kFault>
    KG_DEVICE static PlacedRow of(const ConvParams&, int32_t y, int32_t x, bool exists) {
        return {exists ? y : -(1 << 30), x};
    }
    KG_DEVICE static Tap tap(const ConvParams& params, const uint8_t* frame, uint32_t r, uint32_t s, uint32_t channel) {
        return {frame, static_cast<int32_t>(r) * params.dilation_h, static_cast<int32_t>(s) * params.dilation_w,
                channel};
    }
    KG_DEVICE ConvChunkSource source(const ConvParams& params, const Tap& tap) const {
        const uint32_t row = static_cast<uint32_t>(y + tap.down), column = static_cast<uint32_t>(x + tap.right);
        const bool inside = tap.frame != nullptr && row < params.h && column < params.w;
        const uint32_t pixel = (row >> params.upsample) * params.w_stored + (column >> params.upsample);
        if (!inside) return {static_cast<const uint8_t*>(params.filter), false};
        return {tap.frame + static_cast<size_t>(pixel * params.c_in + tap.channel) * 2, true};
    }
};

}  // namespace kinetograph::sm80
