#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_config.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/isa/amd/math.hpp>

/// Loads half tiles of the im2col matrix and of the filter to LDS, k block after k block.
namespace kinetograph::gfx950 {

KG_DEVICE Lanes<uint32_t> quotient(const Lanes<uint32_t>& dividend, const FastDivisor& by) {
    return isa::amd::mul_hi(dividend << 1u, Lanes<uint32_t>(by.magic)) >> by.shift;
}

template <class Config>
class FourWaveConvLoader {
  public:
    KG_DEVICE FourWaveConvLoader(const FourWaveConvParams& params, uint32_t frame, uint32_t tile_m, uint32_t tile_n)
        : params_(params), frame_(frame), wave_(isa::amd::wave_index()) {
        const Lanes<uint32_t> lane = isa::amd::lane_index();
        row_ = lane / Config::kChunks;
        const Lanes<uint32_t> slot = lane % Config::kChunks;
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            KG_UNROLL
            for (uint32_t load = 0; load < Config::kLoadsA; ++load) {
                const Lanes<uint32_t> row = row_of(load) + half * (Config::kBM / 2);
                const Lanes<uint32_t> pixel = row + tile_m * Config::kBM;
                const Lanes<uint32_t> y = quotient(pixel, params.by_w_out);
                const Lanes<uint32_t> x = pixel - y * params.by_w_out.divisor;
                // Rows past the last pixel get a position below every image, for every tap.
                top_[half][load] =
                    isa::amd::select<uint32_t>(pixel < params.pixels, y * params.stride_h - params.pad_top, kNowhere);
                left_[half][load] = x * params.stride_w - params.pad_left;
            }
            KG_UNROLL
            for (uint32_t load = 0; load < Config::kLoadsB; ++load) {
                const Lanes<uint32_t> row = row_of(load) + half * (Config::kBN / 2);
                filter_[half][load] = (row + tile_n * Config::kBN) * params.filter_pitch + chunk_of(load, slot) * 16u;
            }
        }
        KG_UNROLL
        for (uint32_t load = 0; load < Config::kLoadsA; ++load) chunk_[load] = chunk_of(load, slot);
        while (q_ < params.q && params.input[frame * params.q + q_] == nullptr) ++q_;  // before a stream's first frame
        step_ = q_ * params.steps_per_q;
        open_frame();
    }

    /// The number of k blocks to multiply: even, because the stages alternate.
    KG_DEVICE uint32_t steps() const { return (params_.q * params_.steps_per_q - step_ + 1) / 2 * 2; }

    /// Loads half `half` of the activation's k block to `place`.
    KG_DEVICE void load_a(uint32_t half, LdsPlace place) {
        KG_UNROLL
        for (uint32_t load = 0; load < Config::kLoadsA; ++load) {
            if (idle(load, Config::kBM / 2)) continue;
            const LdsPlace target = place + place_of(load);
            if constexpr (Config::kLoader == ConvLoader::Uniform) {
                load_direct(target, tap_[half][load], image_bytes_ != 0 ? c_ * Config::kElementBytes : 0);
            } else if constexpr (Config::kLoader == ConvLoader::Chunks) {
                load_direct(target, element_address(half, load, 0), 0);
            } else {
                isa::amd::write_lds_16(target, isa::amd::lane_index() * 16u, gather(half, load));
            }
        }
    }

    /// Loads half `half` of the filter's k block to `place`.
    KG_DEVICE void load_b(uint32_t half, LdsPlace place) const {
        const bool exists = step_ < params_.steps;
        const Buffer filter = isa::amd::make_buffer(params_.filter, exists ? params_.filter_bytes : 0);
        KG_UNROLL
        for (uint32_t load = 0; load < Config::kLoadsB; ++load) {
            if (idle(load, Config::kBN / 2)) continue;
            isa::amd::load_16_to_lds(filter, place + place_of(load), filter_[half][load],
                                     exists ? step_ * Config::kRowBytes : 0);
        }
    }

    /// Advances to the next k block. After the last one all loads read zeros.
    KG_DEVICE void advance() {
        ++step_;
        if constexpr (Config::kLoader == ConvLoader::Uniform) {
            c_ += Config::kBK;
            if (c_ != params_.c_in) return;
            c_ = 0;
            if (++s_ == params_.s) {
                s_ = 0;
                ++r_;
            }
            if (r_ != params_.r) return open_tap();
            r_ = 0;
        } else {
            k_ += Config::kBK;
            if (++step_in_q_ != params_.steps_per_q) return;
            step_in_q_ = k_ = 0;
        }
        ++q_;
        open_frame();
    }

  private:
    static constexpr uint32_t kNowhere = 0x80000000u;

    KG_DEVICE Lanes<uint32_t> row_of(uint32_t load) const {
        return row_ + (load * Config::kWaves + wave_) * Config::kRowsPerLoad;
    }
    KG_DEVICE uint32_t place_of(uint32_t load) const { return (load * Config::kWaves + wave_) * 1024; }
    /// The chunk to load for the place of this lane's 16 bytes: the load cannot scatter, so the lane's address is
    /// swizzled.
    KG_DEVICE Lanes<uint32_t> chunk_of(uint32_t load, const Lanes<uint32_t>& slot) const {
        return swizzled_chunk<Config::kChunks>(row_of(load), slot);
    }
    /// Half a tile may have fewer rows than four waves load at once.
    KG_DEVICE bool idle(uint32_t load, uint32_t rows) const {
        if (rows % (Config::kWaves * Config::kRowsPerLoad) == 0) return false;
        return (load * Config::kWaves + wave_) * Config::kRowsPerLoad >= rows;
    }

    KG_DEVICE void open_frame() {
        const void* const address = q_ < params_.q ? params_.input[frame_ * params_.q + q_] : nullptr;
        uint32_t bytes = address == nullptr ? 0 : params_.input_bytes;
        if constexpr (Config::kFault == ConvFault::SizeInElements) bytes /= Config::kElementBytes;
        image_bytes_ = bytes;
        image_ = isa::amd::make_buffer(address, bytes);
        if constexpr (Config::kLoader == ConvLoader::Uniform) open_tap();
    }

    /// Uniform: soffset walks the channels of a tap, so the lanes' addresses are computed once per tap.
    KG_DEVICE void open_tap() {
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            KG_UNROLL
            for (uint32_t load = 0; load < Config::kLoadsA; ++load) {
                tap_[half][load] = address(half, load, r_, s_, chunk_[load] * 16u, true);
            }
        }
    }

    KG_DEVICE void load_direct(LdsPlace target, const Lanes<uint32_t>& voffset, uint32_t soffset) const {
        if constexpr (Config::kFault == ConvFault::HaloInSoffset) {
            const auto halo = voffset == isa::amd::kOutOfRange;
            const uint32_t first = isa::amd::read_first_lane(isa::amd::select<uint32_t>(halo, 1u, 0u));
            isa::amd::load_16_to_lds(image_, target, isa::amd::select<uint32_t>(halo, 0u, voffset),
                                     first != 0 ? image_bytes_ : soffset);
        } else {
            isa::amd::load_16_to_lds(image_, target, voffset, soffset);
        }
    }

    /// Offset of the byte under tap (r, s) of a row's pixel, `inside` bytes into it; lanes in the halo get one out of
    /// range.
    template <class Tap>
    KG_DEVICE Lanes<uint32_t> address(uint32_t half, uint32_t load, const Tap& r, const Tap& s,
                                      const Lanes<uint32_t>& inside, const Lanes<bool>& exists) const {
        const Lanes<uint32_t> y = top_[half][load] + r * params_.dilation_h;
        const Lanes<uint32_t> x = left_[half][load] + s * params_.dilation_w;
        const Lanes<uint32_t> pixel = (y >> params_.upsample) * params_.w_stored + (x >> params_.upsample);
        const Lanes<uint32_t> offset = pixel * (params_.c_in * Config::kElementBytes) + inside;
        const uint32_t outside =
            Config::kFault == ConvFault::HaloInElements ? image_bytes_ / 2 / 16 * 16 : isa::amd::kOutOfRange;
        return isa::amd::select<uint32_t>((y < params_.h) & (x < params_.w) & exists, offset, outside);
    }

    /// The same for element `element` of a lane's chunk, which has its own tap. The K of one temporal tap ends within a
    /// k block; lanes past it read zeros, although the filter is zero there, because 0 * NaN is not 0.
    KG_DEVICE Lanes<uint32_t> element_address(uint32_t half, uint32_t load, uint32_t element) const {
        const Lanes<uint32_t> k = chunk_[load] * Config::kChunkElements + (k_ + element);
        const Lanes<uint32_t> tap = quotient(k, params_.by_c_in);
        const Lanes<uint32_t> c = k - tap * params_.c_in;
        const Lanes<uint32_t> r = quotient(tap, params_.by_s);
        const Lanes<uint32_t> s = tap - r * params_.s;
        const Lanes<bool> exists = Config::kFault == ConvFault::ReadsBehindK ? Lanes<bool>(true) : k < params_.taps_c;
        return address(half, load, r, s, c * Config::kElementBytes, exists);
    }

    /// A lane's 16 bytes, piece by piece.
    KG_DEVICE Packed16 gather(uint32_t half, uint32_t load) const {
        Packed16 chunk{};
        KG_UNROLL
        for (uint32_t byte = 0; byte < 16; byte += Config::kPieceBytes) {
            const Lanes<uint32_t> offset = element_address(half, load, byte / Config::kElementBytes);
            if constexpr (Config::kPieceBytes == 8) {
                const auto pair = isa::amd::load_8(image_, offset);
                chunk[byte / 4] = pair[0];
                chunk[byte / 4 + 1] = pair[1];
            } else if constexpr (Config::kPieceBytes == 4) {
                chunk[byte / 4] = isa::amd::load_4(image_, offset);
            } else if constexpr (Config::kPieceBytes == 2) {
                chunk[byte / 4] = chunk[byte / 4] | isa::amd::load_2(image_, offset) << (byte % 4 * 8);
            } else {
                chunk[byte / 4] = chunk[byte / 4] | isa::amd::load_1(image_, offset) << (byte % 4 * 8);
            }
        }
        return chunk;
    }

    const FourWaveConvParams& params_;
    uint32_t frame_, wave_;
    Lanes<uint32_t> row_;                                                 ///< of a load
    Lanes<uint32_t> top_[2][Config::kLoadsA], left_[2][Config::kLoadsA];  ///< input pixel under the first tap
    Lanes<uint32_t> chunk_[Config::kLoadsA];
    Lanes<uint32_t> tap_[2][Config::kLoadsA];     ///< Uniform: the lane's bytes under the current tap, first channel
    Lanes<uint32_t> filter_[2][Config::kLoadsB];  ///< bytes of the lane's filter row, first k block
    Buffer image_;                                ///< of the current frame tap
    uint32_t image_bytes_ = 0;
    uint32_t step_ = 0, q_ = 0;
    uint32_t r_ = 0, s_ = 0, c_ = 0;  ///< Uniform
    uint32_t step_in_q_ = 0, k_ = 0;  ///< the others: first k of the block in its temporal tap
};

}  // namespace kinetograph::gfx950
