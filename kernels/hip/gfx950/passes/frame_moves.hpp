#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/elements.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_params.hpp>

namespace kinetograph::gfx950 {

/// Copies `kBytes` bytes per lane.
template <uint32_t kBytes>
struct Unit {
    using Value = Lanes<uint32_t>;
    static KG_DEVICE Value load(amd::Buffer from, const Lanes<uint32_t>& offset) {
        if constexpr (kBytes == 4) {
            return amd::load_4(from, offset);
        } else if constexpr (kBytes == 2) {
            return amd::load_2(from, offset);
        } else {
            return amd::load_1(from, offset);
        }
    }
    static KG_DEVICE void store(amd::Buffer to, const Lanes<uint32_t>& offset, const Value& value) {
        if constexpr (kBytes == 4) {
            amd::store_4(to, offset, value);
        } else if constexpr (kBytes == 2) {
            amd::store_2(to, offset, value);
        } else {
            amd::store_1(to, offset, value);
        }
    }
};
template <>
struct Unit<16> {
    using Value = Packed16;
    static KG_DEVICE Value load(amd::Buffer from, const Lanes<uint32_t>& offset) { return amd::load_16(from, offset); }
    static KG_DEVICE void store(amd::Buffer to, const Lanes<uint32_t>& offset, const Value& value) {
        amd::store_16(to, offset, value);
    }
};

/// This lane's index along the launch's x axis: workgroups of four waves.
KG_DEVICE Lanes<uint32_t> lane_of_grid() {
    return amd::lane_index() + (amd::workgroup_index().x * 4 + amd::wave_index()) * amd::kWaveLanes;
}

/// `offset` where the condition holds; an out-of-range offset in lanes past the end of the work.
KG_DEVICE Lanes<uint32_t> only_if(const Lanes<bool>& condition, const Lanes<uint32_t>& offset) {
    return amd::select<uint32_t>(condition, offset, amd::kOutOfRange);
}

template <uint32_t kBytes>
KG_DEVICE void upsample_nearest2x(const UpsampleParams& params) {
    const amd::Index3 group = amd::workgroup_index();
    const uint32_t row_bytes = params.row_bytes;
    const auto* input = static_cast<const unsigned char*>(params.frames.input[group.z]);
    auto* output = static_cast<unsigned char*>(params.frames.output[group.z]);
    const uint64_t row = static_cast<uint64_t>(group.y) * row_bytes;
    const amd::Buffer from = amd::make_buffer(input + row, row_bytes);
    const amd::Buffer to = amd::make_buffer(output + row * 4, row_bytes * 4);
    const Lanes<uint32_t> at = lane_of_grid() * kBytes;
    const typename Unit<kBytes>::Value value = Unit<kBytes>::load(from, at);
    // Pixel x begins at 2 x pixels of the output row.
    const Lanes<uint32_t> left = only_if(at < row_bytes, at / params.pixel_bytes * params.pixel_bytes + at);
    const Lanes<uint32_t> right = only_if(at < row_bytes, left + params.pixel_bytes);
    Unit<kBytes>::store(to, left, value);
    Unit<kBytes>::store(to, right, value);
    Unit<kBytes>::store(to, only_if(at < row_bytes, left + 2 * row_bytes), value);
    Unit<kBytes>::store(to, only_if(at < row_bytes, right + 2 * row_bytes), value);
}

template <uint32_t kBytes>
KG_DEVICE void depth_to_space(const DepthToSpaceParams& params) {
    const amd::Index3 group = amd::workgroup_index();
    const auto* input = static_cast<const unsigned char*>(params.frames.input[group.z]);
    auto* output = static_cast<unsigned char*>(params.frames.output[group.z]);
    const uint32_t input_bytes = params.input_row * kBytes, output_bytes = params.output_row * kBytes;
    const amd::Buffer from = amd::make_buffer(input + static_cast<uint64_t>(group.y / 2) * input_bytes, input_bytes);
    const amd::Buffer to = amd::make_buffer(output + static_cast<uint64_t>(group.y) * output_bytes, output_bytes);
    const Lanes<uint32_t> at = lane_of_grid(), x = at / params.channels_out, c = at % params.channels_out;
    const uint32_t left = conv::place_in_block(params.order, group.y % 2, 0);
    const uint32_t right = conv::place_in_block(params.order, group.y % 2, 1);
    const Lanes<uint32_t> place = amd::select<uint32_t>(x % 2 == 0u, Lanes<uint32_t>(left), Lanes<uint32_t>(right));
    const Lanes<uint32_t> channel = (c * 4 + place) / params.shared_by;
    const Lanes<bool> inside = at < params.output_row;
    const auto value = Unit<kBytes>::load(from, only_if(inside, (x / 2 * params.channels_in + channel) * kBytes));
    Unit<kBytes>::store(to, only_if(inside, at * kBytes), value);
}

template <uint32_t kBytes>
struct Im2colKernel {
    const Im2colParams& params;
    uint32_t tap_q = amd::workgroup_index().y;
    uint32_t frame = amd::workgroup_index().z;
    uint32_t plane_bytes = params.taps_r * params.taps_s * params.pixel_bytes;  ///< of a row, of one temporal tap
    amd::Buffer matrix = amd::make_buffer(static_cast<unsigned char*>(params.frames.output[0]) +
                                              static_cast<uint64_t>(frame) * params.pixels * params.pitch,
                                          params.pixels* params.pitch);

    KG_DEVICE explicit Im2colKernel(const Im2colParams& given) : params(given) {}

    /// The input frame under this temporal tap; of zero bytes if that is padding or has no address.
    KG_DEVICE amd::Buffer input() const {
        const uint32_t t = frame * params.stride_d + tap_q * params.dilation_d - params.pad_front;
        if (t >= params.input_frames || params.frames.input[t] == nullptr) return amd::make_buffer(nullptr, 0);
        return amd::make_buffer(params.frames.input[t], params.height * params.width * params.pixel_bytes);
    }

    KG_DEVICE void gather() const {
        const uint32_t pixel_units = params.pixel_bytes / kBytes, row_units = plane_bytes / kBytes;
        const Lanes<uint32_t> unit = lane_of_grid(), row = unit / row_units, of_row = unit % row_units;
        const Lanes<uint32_t> tap = of_row / pixel_units, pixel = row + params.first_pixel;
        // A negative position wraps to beyond any size.
        const Lanes<uint32_t> y =
            pixel / params.output_width * params.stride_h + tap / params.taps_s * params.dilation_h - params.pad_top;
        const Lanes<uint32_t> x =
            pixel % params.output_width * params.stride_w + tap % params.taps_s * params.dilation_w - params.pad_left;
        const Lanes<uint32_t> column = of_row % pixel_units * kBytes;
        const Lanes<uint32_t> inside_row =
            only_if(x < params.width, (y * params.width + x) * params.pixel_bytes + column);
        const auto value = Unit<kBytes>::load(input(), only_if(y < params.height, inside_row));
        Unit<kBytes>::store(
            matrix, only_if(row < params.pixels, row * params.pitch + tap_q * plane_bytes + of_row * kBytes), value);
    }

    KG_DEVICE void pad() const {
        const uint32_t begin = params.taps_q * plane_bytes, units = (params.pitch - begin) / kBytes;
        if (units == 0) return;
        const Lanes<uint32_t> unit = lane_of_grid(), row = unit / units;
        Unit<kBytes>::store(matrix, only_if(row < params.pixels, row * params.pitch + begin + unit % units * kBytes),
                            typename Unit<kBytes>::Value{});
    }

    KG_DEVICE void run() const { tap_q < params.taps_q ? gather() : pad(); }
};

}  // namespace kinetograph::gfx950
