#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_config.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_order.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>

/// acc -> + bias -> SiLU -> + beta * source -> ReLU -> round -> store -> RMS norm -> SiLU -> store, for one workgroup's
/// tile.
namespace kinetograph::gfx950 {

/// Receives the values before they are rounded. This one ignores them; tests pass their own.
struct NoObserver {
    /// values[i]: channel + i of the pixel, for channels 0 ... 3; also called for lanes outside the problem.
    KG_DEVICE static void observe(const FourWaveConvParams&, uint32_t, const Lanes<uint32_t>&, const Lanes<uint32_t>&,
                                  const Accumulator&) {}
};

/// A wave's share of the tile: in each quadrant (half i of the rows, half j of the channels) kTilesM x kTilesN products
/// of 16 x 16. The products are transposed and their columns paired (tile_channel), so that a lane holds eight
/// neighbouring channels of one pixel: 16 bytes.
template <class Config, class Observer = NoObserver>
class FourWaveConvEpilogue {
  public:
    static constexpr uint32_t kM = Config::kTilesM, kN = Config::kTilesN;

    KG_DEVICE FourWaveConvEpilogue(const FourWaveConvParams& params, const TilePlace& tile)
        : params_(params), frame_(tile.frame), parity_(tile.parity), output_(output_frame(params, tile)) {
        const Lanes<uint32_t> lane = isa::amd::lane_index();
        const uint32_t wave = isa::amd::wave_index();
        wave_n_ = wave % Config::kWavesN;
        row_ = lane % 16u + wave / Config::kWavesN * Config::kWaveRows;
        pixel_ = row_ + tile.m * Config::kBM;
        channel_ = lane / 16u * 8u + (wave_n_ * (2 * Config::kWaveColumns) + tile.n * Config::kBN);
    }

    /// `sums`: this wave's accumulators. `lds`: 8 * kBM bytes that are no longer in use.
    KG_DEVICE void finish(Accumulator (&sums)[2][2][kM][kN], LdsPlace lds) {
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            if ((params_.flags & kConvResidual) != 0) load_source(i);
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {
                finish_row(sums, i, m);
                limit_registers();
                keep_rows_after(sums, i, m);
            }
        }
        if constexpr (Config::kNorms) {
            if ((params_.flags & kConvNorm) != 0) norm(lds);
        }
    }

  private:
    static constexpr bool kHalf = Config::kType == Element::F16;  ///< of the output: else bf16

    /// float32 sums of a part of K are stored one part after the other.
    KG_DEVICE static Buffer output_frame(const FourWaveConvParams& params, const TilePlace& tile) {
        const uint32_t split = Config::kFault == ConvFault::PartsShareOutput ? 0 : tile.split;
        return isa::amd::make_buffer(static_cast<char*>(params.output[tile.frame]) + split * params.split_bytes,
                                     params.output_bytes);
    }

    /// A row of the wave: its products of 16 columns, counted through both halves.
    using Row = Accumulator[2 * kN];

    KG_DEVICE void finish_row(Accumulator (&sums)[2][2][kM][kN], uint32_t i, uint32_t m) {
        Row values;
        KG_UNROLL
        for (uint32_t tile = 0; tile < 2 * kN; ++tile) values[tile] = sums[i][tile / kN][m][tile % kN];
        apply(values, i, m);
        if ((params_.flags & kConvFloat32) != 0) {
            store_f32(i, m, values);
            return;
        }
        Packed16 row[kN];
        KG_UNROLL
        for (uint32_t pair = 0; pair < kN; ++pair) {
            const Accumulator &low = values[2 * pair], &high = values[2 * pair + 1];
            row[pair] = {pack(low[0], low[1]), pack(low[2], low[3]), pack(high[0], high[1]), pack(high[2], high[3])};
            if constexpr (Config::kNorms) rounded_[i][m][pair] = row[pair];
        }
        if ((params_.flags & kConvOutput) != 0) store_row(output_, i, m, row);
    }

    KG_DEVICE static void keep_rows_after(Accumulator (&sums)[2][2][kM][kN], uint32_t i, uint32_t m) {
        KG_UNROLL
        for (uint32_t row = i * kM + m + 1; row < 2 * kM; ++row) {
            KG_UNROLL
            for (uint32_t tile = 0; tile < 2 * kN; ++tile)
                isa::amd::keep_accumulated(sums[row / kM][tile / kN][row % kM][tile % kN]);
        }
    }

    /// Between the rows of a tile: keeps the compiler from having the addresses and values of all rows in registers at
    /// once, which are then too few.
    KG_DEVICE void limit_registers() {
        isa::amd::forget(pixel_);
        isa::amd::forget(channel_);
        isa::amd::schedule_fence();
    }

    KG_DEVICE Lanes<uint32_t> pixel(uint32_t i, uint32_t m) const { return pixel_ + (i * (Config::kBM / 2) + m * 16); }
    KG_DEVICE Lanes<uint32_t> channel(uint32_t pair) const { return channel_ + pair * 32; }
    KG_DEVICE uint32_t channel_bytes() const { return (params_.c_out + 255) / 256 * 1024; }
    /// A lane's eight channels exist together, or none of them.
    KG_DEVICE bool wide() const { return !Config::kRagged || params_.c_out % 8 == 0; }

    /// Byte offset of channel + `further` of a pixel in its frame. Pixels past the last are out of range.
    template <uint32_t kBytes = 2>
    KG_DEVICE Lanes<uint32_t> offset(uint32_t i, uint32_t m, uint32_t pair, uint32_t further) const {
        const Lanes<uint32_t> c = channel(pair) + further;
        return isa::amd::select<uint32_t>((c < params_.c_out) & (pixel(i, m) < params_.pixels),
                                          (stored_pixel(i, m) * params_.c_out + c) * kBytes, isa::amd::kOutOfRange);
    }
    /// The pixel in its frame: of a doubled frame the tile walks every second one of every second row.
    KG_DEVICE Lanes<uint32_t> stored_pixel(uint32_t i, uint32_t m) const {
        const Lanes<uint32_t> at = pixel(i, m);
        if (params_.parities == 1) return at;
        const uint32_t width = params_.by_w_out.divisor;
        const Lanes<uint32_t> y = quotient(at, params_.by_w_out);
        return (y * 2u + parity_ / 2) * (2 * width) + (at - y * width) * 2u + parity_ % 2;
    }

    KG_DEVICE static Lanes<uint32_t> pack(const Lanes<float>& low, const Lanes<float>& high) {
        return kHalf ? isa::amd::pack_f16(low, high) : isa::amd::pack_bf16(low, high);
    }
    KG_DEVICE static Lanes<float> low(const Lanes<uint32_t>& packed) {
        return kHalf ? isa::amd::low_f16(packed) : isa::amd::low_bf16(packed);
    }
    KG_DEVICE static Lanes<float> high(const Lanes<uint32_t>& packed) {
        return kHalf ? isa::amd::high_f16(packed) : isa::amd::high_bf16(packed);
    }

    /// The source of half the rows: all its loads are in flight before the first is used.
    KG_DEVICE void load_source(uint32_t i) {
        const Buffer source = isa::amd::make_buffer(params_.source[frame_], params_.output_bytes);
        KG_UNROLL
        for (uint32_t m = 0; m < kM; ++m) {
            KG_UNROLL
            for (uint32_t pair = 0; pair < kN; ++pair) {
                if (wide()) {
                    source_[m][pair] = isa::amd::load_16(source, offset(i, m, pair, 0));
                    continue;
                }
                KG_UNROLL
                for (uint32_t word = 0; word < 4; ++word) {
                    source_[m][pair][word] = isa::amd::load_2(source, offset(i, m, pair, 2 * word)) |
                                             isa::amd::load_2(source, offset(i, m, pair, 2 * word + 1)) << 16u;
                }
            }
        }
    }

    /// From sums to the values to round. One branch a row for each part: with one for every four values the compiler
    /// takes the main loop's uniform offsets for divergent.
    KG_DEVICE void apply(Row& values, uint32_t i, uint32_t m) const {
        const bool scales_bias = Config::kFault == ConvFault::ScalesAfterBias;
        if (!scales_bias) apply_scales(values);
        if ((params_.flags & kConvBias) != 0) {
            const Buffer bias = isa::amd::make_buffer(params_.bias, channel_bytes());
            KG_UNROLL
            for (uint32_t tile = 0; tile < 2 * kN; ++tile) {
                const Packed16 added = isa::amd::load_16(bias, parameters_at(tile));
                KG_UNROLL
                for (uint32_t e = 0; e < 4; ++e) values[tile][e] = values[tile][e] + isa::amd::bits_as<float>(added[e]);
            }
        }
        if (scales_bias) apply_scales(values);
        if ((params_.flags & kConvSilu) != 0) {
            KG_UNROLL
            for (Accumulator& tile : values) {
                KG_UNROLL
                for (uint32_t e = 0; e < 4; ++e) tile[e] = isa::amd::silu(tile[e]);
            }
        }
        if ((params_.flags & kConvResidual) != 0) add_source(values, m);
        if ((params_.flags & kConvRelu) != 0) {
            KG_UNROLL
            for (Accumulator& tile : values) {
                KG_UNROLL
                for (uint32_t e = 0; e < 4; ++e) tile[e] = isa::amd::leaky_relu(tile[e], params_.negative_slope);
            }
        }
        KG_UNROLL
        for (uint32_t tile = 0; tile < 2 * kN; ++tile) {
            Observer::observe(params_, frame_, pixel(i, m), channel(tile / 2) + tile % 2 * 4, values[tile]);
        }
    }

    KG_DEVICE void apply_scales(Row& values) const {
        if (params_.scales == nullptr) return;
        const Buffer scales = isa::amd::make_buffer(params_.scales, channel_bytes());
        const uint32_t beyond = Config::kFault == ConvFault::ScalesOfNeighbour ? 16 : 0;
        KG_UNROLL
        for (uint32_t tile = 0; tile < 2 * kN; ++tile) {
            const Packed16 factors = isa::amd::load_16(scales, parameters_at(tile) + beyond);
            KG_UNROLL
            for (uint32_t e = 0; e < 4; ++e) values[tile][e] = values[tile][e] * isa::amd::bits_as<float>(factors[e]);
        }
    }

    KG_DEVICE void add_source(Row& values, uint32_t m) const {
        KG_UNROLL
        for (uint32_t tile = 0; tile < 2 * kN; ++tile) {
            KG_UNROLL
            for (uint32_t e = 0; e < 4; ++e) {
                const Lanes<uint32_t>& pair = source_[m][tile / 2][tile % 2 * 2 + e / 2];
                values[tile][e] = isa::amd::fma(e % 2 == 0 ? low(pair) : high(pair), params_.beta, values[tile][e]);
            }
        }
    }

    /// Byte offset of the lane's four channels of tile `tile` in a packed float32 parameter.
    KG_DEVICE Lanes<uint32_t> parameters_at(uint32_t tile) const { return (channel(tile / 2) + tile % 2 * 4) * 4u; }

    KG_DEVICE void store_f32(uint32_t i, uint32_t m, const Row& values) const {
        KG_UNROLL
        for (uint32_t tile = 0; tile < 2 * kN; ++tile) {
            Packed16 bits;
            KG_UNROLL
            for (uint32_t e = 0; e < 4; ++e) bits[e] = isa::amd::bits_as<uint32_t>(values[tile][e]);
            if (!Config::kRagged || params_.c_out % 4 == 0) {
                isa::amd::store_16(output_, offset<4>(i, m, tile / 2, tile % 2 * 4), bits);
                continue;
            }
            KG_UNROLL
            for (uint32_t e = 0; e < 4; ++e)
                isa::amd::store_4(output_, offset<4>(i, m, tile / 2, tile % 2 * 4 + e), bits[e]);
        }
    }

    KG_DEVICE void store_row(const Buffer& frame, uint32_t i, uint32_t m, const Packed16 (&row)[kN]) const {
        KG_UNROLL
        for (uint32_t pair = 0; pair < kN; ++pair) {
            if (wide()) {
                isa::amd::store_16(frame, offset(i, m, pair, 0), row[pair]);
                continue;
            }
            KG_UNROLL
            for (uint32_t word = 0; word < 4; ++word) {
                isa::amd::store_2(frame, offset(i, m, pair, 2 * word), row[pair][word]);
                isa::amd::store_2(frame, offset(i, m, pair, 2 * word + 1), row[pair][word] >> 16u);
            }
        }
    }

    /// rounded_ *= sqrt(c_out) / max(||rounded_||, 1e-12) * gamma over all channels of each pixel, then SiLU if wanted.
    KG_DEVICE void norm(LdsPlace lds) {
        const Buffer gamma = isa::amd::make_buffer(params_.gamma, channel_bytes());
        const Buffer normed = isa::amd::make_buffer(params_.normed[frame_], params_.output_bytes);
        Lanes<float> squares[2][kM];
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) squares[i][m] = sum_of_squares(i, m);
        }
        if constexpr (Config::kWavesN == 2 && Config::kFault != ConvFault::NormOfOneWave) add_other_half(squares, lds);
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {
                const Lanes<float> root = isa::amd::reciprocal_sqrt(squares[i][m]);
                scale_row(i, m, params_.sqrt_c_out * isa::amd::min<float>(root, 1e12f), gamma);
                store_row(normed, i, m, rounded_[i][m]);
                limit_registers();
            }
        }
    }

    /// Two waves have half the channels of a pixel each: adds the other's sums. LDS: [row][wave_n].
    KG_DEVICE void add_other_half(Lanes<float> (&squares)[2][kM], LdsPlace lds) const {
        const auto place = [&](uint32_t i, uint32_t m, uint32_t wave_n) {
            return (row_ + (i * (Config::kBM / 2) + m * 16)) * 8u + wave_n * 4u;
        };
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {  // all four groups of 16 lanes hold a row's sum
                isa::amd::write_lds_4(lds, place(i, m, wave_n_), isa::amd::bits_as<uint32_t>(squares[i][m]),
                                      isa::amd::lane_index() < 16u);
            }
        }
        if constexpr (Config::kFault != ConvFault::NormReadsEarly) isa::amd::sync_workgroup();
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {
                const auto other = isa::amd::read_lds_4(lds, place(i, m, 1u - wave_n_));
                squares[i][m] = squares[i][m] + isa::amd::bits_as<float>(other);
            }
        }
    }

    KG_DEVICE Lanes<float> sum_of_squares(uint32_t i, uint32_t m) const {
        Lanes<float> sum = 0.0f;
        KG_UNROLL
        for (uint32_t pair = 0; pair < kN; ++pair) {
            KG_UNROLL
            for (uint32_t word = 0; word < 4; ++word) {
                const Lanes<float> a = low(rounded_[i][m][pair][word]), b = high(rounded_[i][m][pair][word]);
                sum = isa::amd::fma(a, a, isa::amd::fma(b, b, sum));
            }
        }
        sum = sum + isa::amd::exchange<16>(sum);
        return sum + isa::amd::exchange<32>(sum);
    }

    KG_DEVICE void scale_row(uint32_t i, uint32_t m, const Lanes<float>& scale, const Buffer& gamma) {
        const auto activate = [&](const Lanes<float>& x) {
            return (params_.flags & kConvNormSilu) != 0 ? isa::amd::silu(x) : x;
        };
        const uint32_t beyond = Config::kFault == ConvFault::NormOfNeighbour ? 16 : 0;
        KG_UNROLL
        for (uint32_t pair = 0; pair < kN; ++pair) {
            KG_UNROLL
            for (uint32_t half = 0; half < 2; ++half) {
                const Packed16 factors = isa::amd::load_16(gamma, (channel(pair) + 4 * half) * 4u + beyond);
                KG_UNROLL
                for (uint32_t word = 0; word < 2; ++word) {
                    const Lanes<uint32_t> values = rounded_[i][m][pair][2 * half + word];
                    rounded_[i][m][pair][2 * half + word] =
                        pack(activate(low(values) * scale * isa::amd::bits_as<float>(factors[2 * word])),
                             activate(high(values) * scale * isa::amd::bits_as<float>(factors[2 * word + 1])));
                }
            }
        }
    }

    const FourWaveConvParams& params_;
    uint32_t frame_, parity_, wave_n_;
    Buffer output_;
    Lanes<uint32_t> row_, pixel_, channel_;  ///< of rows (0, 0), pair 0, value 0
    Packed16 source_[kM][kN];                ///< of the half of the rows in work
    Packed16 rounded_[2][kM][kN];
};

}  // namespace kinetograph::gfx950
