#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_config.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_order.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/isa/amd/math.hpp>

/// Loads half tiles of the im2col matrix and of the filter to LDS, k block after k block.
namespace kinetograph::gfx950 {

template <class Config>
class FourWaveConvLoader {
  public:
    KG_DEVICE FourWaveConvLoader(const FourWaveConvParams& params, const TilePlace& tile)
        : params_(params),
          frame_(tile.frame),
          wave_(isa::amd::wave_index()),
          filters_(static_cast<const char*>(params.filter) +
                   (Config::kFault == ConvFault::ParityFilterShared ? 0 : tile.parity * params.filter_bytes)),
          end_(part_begin(params, tile.split + 1)) {
        const uint32_t parity = Config::kFault == ConvFault::ParityNotShifted ? 0 : tile.parity;
        const uint32_t pad_top = params.pad_top - parity / 2, pad_left = params.pad_left - parity % 2;
        const Lanes<uint32_t> lane = isa::amd::lane_index();
        row_ = lane / Config::kChunks;
        const Lanes<uint32_t> slot = lane % Config::kChunks;
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            KG_UNROLL
            for (uint32_t load = 0; load < Config::kLoadsA; ++load) {
                const Lanes<uint32_t> row = row_of(load) + half * (Config::kBM / 2);
                const Lanes<uint32_t> pixel = row + tile.m * Config::kBM;
                const Lanes<uint32_t> image = Config::kOneTap ? quotient(pixel, params.by_image) : Lanes<uint32_t>(0u);
                const Lanes<uint32_t> in_image = pixel - image * params.by_image.divisor;
                const Lanes<uint32_t> y = quotient(in_image, params.by_w_out);
                const Lanes<uint32_t> x = in_image - y * params.by_w_out.divisor;
                // Rows past the last pixel, and those that only fill up a load, get a position below every image.
                top_[half][load] =
                    isa::amd::select<uint32_t>((pixel < params.pixels) & (row_of(load) < Config::kBM / 2),
                                               y * params.stride_h - pad_top, kNowhere);
                left_[half][load] = x * params.stride_w - pad_left;
                if constexpr (Config::kOneTap) {
                    const uint32_t pitch = Config::kFault == ConvFault::ImagesShareTheFirst ? 0 : params.image_pitch;
                    find_taps(half, load, image * pitch + chunk_of(load, slot) * 16u);
                }
            }
            KG_UNROLL
            for (uint32_t load = 0; load < Config::kLoadsB; ++load) {
                const bool straight = Config::kFault == ConvFault::UnpairedColumns;
                const Lanes<uint32_t> channel =
                    (straight ? row_of(load) + half * (Config::kBN / 2) : tile_channel<Config>(half, row_of(load))) +
                    tile.n * Config::kBN;
                filter_[half][load] = isa::amd::select<uint32_t>(
                    row_of(load) < Config::kBN / 2, channel * params.filter_pitch + chunk_of(load, slot) * 16u,
                    isa::amd::kOutOfRange);
            }
        }
        KG_UNROLL
        for (uint32_t load = 0; load < Config::kLoadsA; ++load) chunk_[load] = chunk_of(load, slot);
        if (params.splits == 1) {
            while (q_ < params.q && params.input[frame_ * params.q + q_] == nullptr)
                ++q_;  // before a stream's first frame
            step_ = q_ * params.steps_per_q;
        } else {
            begin_at(Config::kFault == ConvFault::PartsBeginTogether ? 0 : part_begin(params, tile.split));
        }
        open_frame();
        find_tap();
        find_channels();
        find_filter();
    }

    /// The number of k blocks to multiply: even, because the stages alternate.
    KG_DEVICE uint32_t steps() const { return (end_ - step_ + 1) / 2 * 2; }

    /// Computes the addresses of load `load` (of kLoadsA) of half `half` of the activation's k block, in two pieces of
    /// two or three vector instructions each, which fit between products (but for Chunks); both before load_a.
    KG_DEVICE void aim(uint32_t half, uint32_t load) {
        if constexpr (Config::kOneTap) {
            isa::amd::forget_uniform(tap_bits_, tap_bytes_);
            inside_[load] = left_[half][load] & tap_bits_;
            aim_[load] = top_[half][load] + tap_bytes_;
            isa::amd::forget(inside_[load]);
        } else if constexpr (Config::kDirectA) {
            aim_[load] = element_address(half, load, 0);
        }
        isa::amd::forget(aim_[load]);
    }
    /// Padded: the channels past the pixel's last one are zeros.
    KG_DEVICE void leave_out(uint32_t load) {
        if constexpr (!Config::kOneTap) return;
        Lanes<bool> exists = inside_[load] == tap_bits_;
        if constexpr (Config::kLoader == ConvLoader::Padded && Config::kFault != ConvFault::ReadsNextPixel) {
            exists = exists & (chunk_[load] < chunks_left_);
        }
        aim_[load] = isa::amd::select<uint32_t>(exists, aim_[load], outside());
        isa::amd::forget(aim_[load]);
    }

    /// Load `load` of half `half` of the activation's k block, aimed, to `place`.
    KG_DEVICE void load_a(uint32_t half, uint32_t load, LdsPlace place) {
        const LdsPlace target = place + place_of(load);
        if constexpr (Config::kDirectA) {
            load_direct(target, aim_[load], Config::kOneTap ? channel_bytes_ : 0);
        } else {
            isa::amd::write_lds_16(target, isa::amd::lane_index() * 16u, gather(half, load));
        }
    }

    /// Load `load` (of kLoadsB) of half `half` of the filter's k block, to `place`.
    KG_DEVICE void load_b(uint32_t half, uint32_t load, LdsPlace place) const {
        if constexpr (Config::kFault == ConvFault::SkipsIdleLoads) {
            if ((load * Config::kWaves + wave_) * Config::kRowsPerLoad >= Config::kBN / 2) return;
        }
        isa::amd::load_16_to_lds(isa::amd::make_buffer(filters_, filter_block_bytes_), place + place_of(load),
                                 filter_[half][load], filter_offset_);
    }

    /// Advances to the next k block, in kAdvances pieces of a few scalar instructions each, which fit between products;
    /// all, in order, after the block's last load. After the last k block all loads read zeros. Selections instead of
    /// branches, except where a frame ends.
    static constexpr uint32_t kAdvances = 7;
    template <uint32_t kPiece>
    KG_DEVICE void advance() {
        if constexpr (kPiece == 0) {
            ++step_;
            if constexpr (Config::kOneTap) {
                const uint32_t tail = Config::kFault == ConvFault::TapEndsWhole ? Config::kBK - 1 : 0;
                c_ += Config::kBK;
                ends_ = reached(c_ + tail, params_.c_in);
                isa::amd::forget_uniform(ends_);
            } else {
                k_ += Config::kBK;
                ++step_in_q_;
            }
        } else if constexpr (kPiece == 1 && Config::kOneTap) {
            c_ &= ends_ - 1;
            s_ += ends_;
            ends_ = reached(s_, params_.s);
            isa::amd::forget_uniform(c_, ends_);
        } else if constexpr (kPiece == 2 && Config::kOneTap) {
            s_ &= ends_ - 1;
            r_ += ends_;
            isa::amd::forget_uniform(s_, r_);
        } else if constexpr (kPiece == 3) {
            if constexpr (Config::kOneTap) {
                if (r_ != params_.r) [[likely]]
                    return;
                r_ = 0;
            } else {
                if (step_in_q_ != params_.steps_per_q) [[likely]]
                    return;
                step_in_q_ = k_ = 0;
            }
            ++q_;
            open_frame();
        } else if constexpr (kPiece == 4) {
            find_tap();
        } else if constexpr (kPiece == 5) {
            find_channels();
        } else if constexpr (kPiece == 6) {
            find_filter();
        }
    }
    /// All pieces.
    KG_DEVICE void advance() {
        advance<0>();
        advance<1>();
        advance<2>();
        advance<3>();
        advance<4>();
        advance<5>();
        advance<6>();
    }

  private:
    static constexpr uint32_t kNowhere = 0x80000000u;

    /// 1 if `count` has come to `limit`, both below 2^31: without a comparison, whose result the compiler would keep in
    /// a vector register.
    KG_DEVICE static uint32_t reached(uint32_t count, uint32_t limit) { return (limit - 1 - count) >> 31; }

    /// The first k block of part `split` of K: an even one.
    KG_DEVICE static uint32_t part_begin(const FourWaveConvParams& params, uint32_t split) {
        if (params.splits == 1) return split * params.steps;
        return isa::amd::read_first_lane(params.steps / 2 * split / params.splits) * 2;
    }
    KG_DEVICE void begin_at(uint32_t step) {
        step_ = step;
        q_ = isa::amd::read_first_lane(step / params_.steps_per_q);
        const uint32_t in_q = step - q_ * params_.steps_per_q;
        if constexpr (Config::kOneTap) {
            const uint32_t of_tap = (params_.c_in + Config::kBK - 1) / Config::kBK * Config::kBK;
            const uint32_t tap = isa::amd::read_first_lane(in_q * Config::kBK / of_tap);
            c_ = in_q * Config::kBK - tap * of_tap;
            r_ = isa::amd::read_first_lane(tap / params_.s);
            s_ = tap - r_ * params_.s;
        } else {
            step_in_q_ = in_q;
            k_ = in_q * Config::kBK;
        }
    }

    KG_DEVICE Lanes<uint32_t> row_of(uint32_t load) const {
        return row_ + (load * Config::kWaves + wave_) * Config::kRowsPerLoad;
    }
    KG_DEVICE uint32_t place_of(uint32_t load) const { return (load * Config::kWaves + wave_) * 1024; }
    /// The chunk to load for the place of this lane's 16 bytes: the load cannot scatter, so the lane's address is
    /// swizzled.
    KG_DEVICE Lanes<uint32_t> chunk_of(uint32_t load, const Lanes<uint32_t>& slot) const {
        return swizzled_chunk<Config::kChunks>(row_of(load), slot);
    }

    KG_DEVICE void open_frame() {
        const void* const address = q_ < params_.q ? params_.input[frame_ * params_.q + q_] : nullptr;
        uint32_t bytes = address == nullptr ? 0 : params_.input_bytes;
        if constexpr (Config::kFault == ConvFault::SizeInElements) bytes /= Config::kElementBytes;
        image_bytes_ = bytes;
        image_ = isa::amd::make_buffer(address, bytes);
    }

    /// kOneTap: the k block's tap.
    KG_DEVICE void find_tap() {
        if constexpr (!Config::kOneTap) return;
        const uint32_t pixel_bytes = params_.c_in * Config::kElementBytes;
        isa::amd::forget_uniform(r_, s_);
        tap_bits_ = 1u << r_ | 0x10000u << s_;
        tap_bytes_ =
            r_ * (params_.dilation_h * params_.w_stored * pixel_bytes) + s_ * (params_.dilation_w * pixel_bytes);
        isa::amd::forget_uniform(tap_bits_, tap_bytes_);
    }
    /// kOneTap: the k block's channels.
    KG_DEVICE void find_channels() {
        if constexpr (!Config::kOneTap) return;
        isa::amd::forget_uniform(c_);
        channel_bytes_ = image_bytes_ != 0 ? c_ * Config::kElementBytes : 0;
        isa::amd::forget_uniform(channel_bytes_);
        if constexpr (Config::kLoader != ConvLoader::Padded) return;
        chunks_left_ = (params_.c_in - c_) / Config::kChunkElements;
        isa::amd::forget_uniform(chunks_left_);
    }
    /// The k block of the filter: of zeros after the last one.
    KG_DEVICE void find_filter() {
        isa::amd::forget_uniform(step_);
        const bool exists = step_ < params_.steps;
        filter_block_bytes_ = exists ? params_.filter_bytes : 0;
        filter_offset_ = exists ? step_ * Config::kRowBytes : 0;
        isa::amd::forget_uniform(filter_block_bytes_, filter_offset_);
    }

    /// kOneTap: turns a row's position into the address of its chunk under the first tap, `beyond` bytes after that
    /// pixel of the frame's first image (modulo 2^32: it may lie before the image), and into a bit for every row r and
    /// column s of taps that is inside the image.
    KG_DEVICE void find_taps(uint32_t half, uint32_t load, const Lanes<uint32_t>& beyond) {
        const Lanes<uint32_t> y = top_[half][load], x = left_[half][load];
        Lanes<uint32_t> inside = 0u;
        const uint32_t taps = params_.r > params_.s ? params_.r : params_.s;  // at most kMostUniformTaps
        for (uint32_t tap = 0; tap < taps; ++tap) {
            const Lanes<bool> row = y + tap * params_.dilation_h < params_.h;
            const Lanes<bool> column = x + tap * params_.dilation_w < params_.w;
            inside = inside | isa::amd::select<uint32_t>(row, 1u << tap, 0u) |
                     isa::amd::select<uint32_t>(column, 0x10000u << tap, 0u);
        }
        top_[half][load] = (y * params_.w_stored + x) * (params_.c_in * Config::kElementBytes) + beyond;
        left_[half][load] = inside;
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
    KG_DEVICE Lanes<uint32_t> address(uint32_t half, uint32_t load, const Lanes<uint32_t>& r, const Lanes<uint32_t>& s,
                                      const Lanes<uint32_t>& inside, const Lanes<bool>& exists) const {
        const Lanes<uint32_t> y = top_[half][load] + r * params_.dilation_h;
        const Lanes<uint32_t> x = left_[half][load] + s * params_.dilation_w;
        const Lanes<uint32_t> pixel = (y >> params_.upsample) * params_.w_stored + (x >> params_.upsample);
        const Lanes<uint32_t> offset = pixel * (params_.c_in * Config::kElementBytes) + inside;
        return isa::amd::select<uint32_t>((y < params_.h) & (x < params_.w) & exists, offset, outside());
    }
    /// The offset of a lane in the halo.
    KG_DEVICE uint32_t outside() const {
        return Config::kFault == ConvFault::HaloInElements ? image_bytes_ / 2 / 16 * 16 : isa::amd::kOutOfRange;
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
    const void* filters_;  ///< of the tile's parity
    uint32_t end_;         ///< of the part of K
    Lanes<uint32_t> row_;  ///< of a load
    Lanes<uint32_t> top_[2][Config::kLoadsA],
        left_[2][Config::kLoadsA];  ///< input pixel under the first tap; kOneTap: find_taps
    Lanes<uint32_t> chunk_[Config::kLoadsA];
    /// Where a load reads (soffset walks the channels); kOneTap: which of the tap's two bits are set.
    Lanes<uint32_t> aim_[Config::kLoadsA], inside_[Config::kLoadsA];
    Lanes<uint32_t> filter_[2][Config::kLoadsB];  ///< bytes of the lane's filter row, first k block
    Buffer image_;                                ///< of the current frame tap
    uint32_t image_bytes_;
    uint32_t filter_block_bytes_, filter_offset_;  ///< of the k block: find_filter
    uint32_t step_ = 0, q_ = 0;
    uint32_t r_ = 0, s_ = 0, c_ = 0, ends_ = 0;                    ///< kOneTap: where the k block begins
    uint32_t tap_bits_, tap_bytes_, channel_bytes_, chunks_left_;  ///< kOneTap: find_tap
    uint32_t step_in_q_ = 0, k_ = 0;  ///< the others: first k of the block in its temporal tap
};

}  // namespace kinetograph::gfx950
