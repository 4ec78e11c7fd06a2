#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_config.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>

/// acc -> + bias -> SiLU -> + beta * source -> round -> store -> RMS norm -> SiLU -> store, for one workgroup's tile.
namespace kinetograph::gfx950 {

/// x / (1 + e^-x).
KG_DEVICE Lanes<float> silu(const Lanes<float>& x) {
    constexpr float kLog2E = 1.44269504f;
    return x * isa::amd::reciprocal(1.0f + isa::amd::exp2(x * -kLog2E));
}

/// Receives the values before they are rounded. This one ignores them; tests pass their own.
struct NoObserver {
    /// values[i]: channel + i of the pixel, for channels 0 ... 3; also called for lanes outside the problem.
    KG_DEVICE static void observe(const FourWaveConvParams&, uint32_t, const Lanes<uint32_t>&, const Lanes<uint32_t>&,
                                  const Accumulator&) {}
};

/// A wave's share of the tile: in each quadrant (half i of the rows, half j of the channels) kTilesM x kTilesN products
/// of 16 x 16. The products are transposed, so that a lane holds four neighbouring channels of one pixel: 8 bytes.
template <class Config, class Observer = NoObserver>
class FourWaveConvEpilogue {
  public:
    static constexpr uint32_t kM = Config::kTilesM, kN = Config::kTilesN;

    KG_DEVICE FourWaveConvEpilogue(const FourWaveConvParams& params, uint32_t frame, uint32_t tile_m, uint32_t tile_n)
        : params_(params), frame_(frame) {
        const Lanes<uint32_t> lane = isa::amd::lane_index();
        const uint32_t wave = isa::amd::wave_index();
        wave_m_ = wave / 2;
        wave_n_ = wave % 2;
        row_ = lane % 16u + wave_m_ * (Config::kBM / 4);
        pixel_ = row_ + tile_m * Config::kBM;
        channel_ = lane / 16u * 4u + (wave_n_ * (Config::kBN / 4) + tile_n * Config::kBN);
    }

    /// Issues the loads of the source values long before finish() needs them.
    KG_DEVICE void prefetch() {
        if ((params_.flags & kConvResidual) == 0) return;
        const Buffer source = isa::amd::make_buffer(params_.source[frame_], params_.output_bytes);
        each_place([&](uint32_t i, uint32_t j, uint32_t m, uint32_t n) {
            if (params_.c_out % 4 == 0) {
                source_[i][j][m][n] = isa::amd::load_8(source, offset(i, j, m, n, 0));
                return;
            }
            KG_UNROLL
            for (uint32_t word = 0; word < 2; ++word) {
                source_[i][j][m][n][word] = isa::amd::load_2(source, offset(i, j, m, n, 2 * word)) |
                                            isa::amd::load_2(source, offset(i, j, m, n, 2 * word + 1)) << 16u;
            }
        });
    }

    /// `sums`: this wave's accumulators. `lds`: 8 * kBM bytes that are no longer in use.
    KG_DEVICE void finish(Accumulator (&sums)[2][2][kM][kN], LdsPlace lds) {
        const Buffer bias = isa::amd::make_buffer(params_.bias, (params_.flags & kConvBias) != 0 ? channel_bytes() : 0);
        each_place([&](uint32_t i, uint32_t j, uint32_t m, uint32_t n) {
            const Accumulator value = value_of(sums[i][j][m][n], source_[i][j][m][n], bias, j, n);
            Observer::observe(params_, frame_, pixel(i, m), channel(j, n), value);
            if ((params_.flags & kConvFloat32) != 0) {
                store_f32(i, j, m, n, value);
                return;
            }
            rounded_[i][j][m][n][0] = pack(value[0], value[1]);
            rounded_[i][j][m][n][1] = pack(value[2], value[3]);
        });
        if ((params_.flags & (kConvOutput | kConvFloat32)) == kConvOutput) store(params_.output[frame_]);
        if ((params_.flags & kConvNorm) != 0) {
            norm(lds);
            store(params_.normed[frame_]);
        }
    }

  private:
    static constexpr bool kHalf = Config::kType == Element::F16;  ///< of the output: else bf16

    template <class Function>
    KG_DEVICE static void each_place(const Function& function) {
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t j = 0; j < 2; ++j) {
                KG_UNROLL
                for (uint32_t m = 0; m < kM; ++m) {
                    KG_UNROLL
                    for (uint32_t n = 0; n < kN; ++n) function(i, j, m, n);
                }
            }
        }
    }

    KG_DEVICE Lanes<uint32_t> pixel(uint32_t i, uint32_t m) const { return pixel_ + (i * (Config::kBM / 2) + m * 16); }
    KG_DEVICE Lanes<uint32_t> channel(uint32_t j, uint32_t n) const {
        return channel_ + (j * (Config::kBN / 2) + n * 16);
    }
    KG_DEVICE uint32_t channel_bytes() const { return (params_.c_out + 255) / 256 * 1024; }

    /// Byte offset of channel + `further` of a pixel in its frame. Pixels past the last are out of range.
    template <uint32_t kBytes = 2>
    KG_DEVICE Lanes<uint32_t> offset(uint32_t i, uint32_t j, uint32_t m, uint32_t n, uint32_t further) const {
        const Lanes<uint32_t> c = channel(j, n) + further;
        return isa::amd::select<uint32_t>((c < params_.c_out) & (pixel(i, m) < params_.pixels),
                                          (pixel(i, m) * params_.c_out + c) * kBytes, isa::amd::kOutOfRange);
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

    KG_DEVICE Accumulator value_of(const Accumulator& sum, const Packed8& source, const Buffer& bias, uint32_t j,
                                   uint32_t n) const {
        Accumulator value = sum;
        const Packed16 added = isa::amd::load_16(bias, channel(j, n) * 4u);
        KG_UNROLL
        for (uint32_t e = 0; e < 4; ++e) value[e] = value[e] + isa::amd::bits_as<float>(added[e]);
        if ((params_.flags & kConvSilu) != 0) {
            KG_UNROLL
            for (uint32_t e = 0; e < 4; ++e) value[e] = silu(value[e]);
        }
        if ((params_.flags & kConvResidual) != 0) {
            KG_UNROLL
            for (uint32_t word = 0; word < 2; ++word) {
                value[2 * word] = isa::amd::fma(low(source[word]), params_.beta, value[2 * word]);
                value[2 * word + 1] = isa::amd::fma(high(source[word]), params_.beta, value[2 * word + 1]);
            }
        }
        return value;
    }

    KG_DEVICE void store_f32(uint32_t i, uint32_t j, uint32_t m, uint32_t n, const Accumulator& value) const {
        const Buffer output = isa::amd::make_buffer(params_.output[frame_], params_.output_bytes);
        Packed16 values;
        KG_UNROLL
        for (uint32_t e = 0; e < 4; ++e) values[e] = isa::amd::bits_as<uint32_t>(value[e]);
        if (params_.c_out % 4 == 0) {
            isa::amd::store_16(output, offset<4>(i, j, m, n, 0), values);
            return;
        }
        KG_UNROLL
        for (uint32_t e = 0; e < 4; ++e) isa::amd::store_4(output, offset<4>(i, j, m, n, e), values[e]);
    }

    KG_DEVICE void store(void* frame) const {
        const Buffer output = isa::amd::make_buffer(frame, params_.output_bytes);
        each_place([&](uint32_t i, uint32_t j, uint32_t m, uint32_t n) {
            const Packed8& values = rounded_[i][j][m][n];
            if (params_.c_out % 4 == 0) {
                isa::amd::store_8(output, offset(i, j, m, n, 0), values);
                return;
            }
            KG_UNROLL
            for (uint32_t word = 0; word < 2; ++word) {
                isa::amd::store_2(output, offset(i, j, m, n, 2 * word), values[word]);
                isa::amd::store_2(output, offset(i, j, m, n, 2 * word + 1), values[word] >> 16u);
            }
        });
    }

    /// rounded_ *= sqrt(c_out) / max(||rounded_||, 1e-12) * gamma over all channels of each pixel, then SiLU if wanted.
    KG_DEVICE void norm(LdsPlace lds) {
        const Buffer gamma = isa::amd::make_buffer(params_.gamma, channel_bytes());
        Lanes<float> squares[2][kM];
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {
                squares[i][m] = sum_of_squares(i, m);
                // [row][wave_n]; all four groups of 16 lanes hold a row's sum
                isa::amd::write_lds_4(lds, (row_ + (i * (Config::kBM / 2) + m * 16)) * 8u + wave_n_ * 4u,
                                      isa::amd::bits_as<uint32_t>(squares[i][m]), isa::amd::lane_index() < 16u);
            }
        }
        isa::amd::sync_workgroup();
        KG_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
            KG_UNROLL
            for (uint32_t m = 0; m < kM; ++m) {
                const Lanes<uint32_t> place = (row_ + (i * (Config::kBM / 2) + m * 16)) * 8u + (1u - wave_n_) * 4u;
                const Lanes<float> sum = squares[i][m] + isa::amd::bits_as<float>(isa::amd::read_lds_4(lds, place));
                scale_row(i, m, params_.sqrt_c_out * isa::amd::min<float>(isa::amd::reciprocal_sqrt(sum), 1e12f),
                          gamma);
            }
        }
    }

    KG_DEVICE Lanes<float> sum_of_squares(uint32_t i, uint32_t m) const {
        Lanes<float> sum = 0.0f;
        KG_UNROLL
        for (uint32_t j = 0; j < 2; ++j) {
            KG_UNROLL
            for (uint32_t n = 0; n < kN; ++n) {
                KG_UNROLL
                for (uint32_t word = 0; word < 2; ++word) {
                    const Lanes<float> a = low(rounded_[i][j][m][n][word]), b = high(rounded_[i][j][m][n][word]);
                    sum = isa::amd::fma(a, a, isa::amd::fma(b, b, sum));
                }
            }
        }
        sum = sum + isa::amd::exchange<16>(sum);
        return sum + isa::amd::exchange<32>(sum);
    }

    KG_DEVICE void scale_row(uint32_t i, uint32_t m, const Lanes<float>& scale, const Buffer& gamma) {
        const auto activate = [&](const Lanes<float>& x) { return (params_.flags & kConvNormSilu) != 0 ? silu(x) : x; };
        KG_UNROLL
        for (uint32_t j = 0; j < 2; ++j) {
            KG_UNROLL
            for (uint32_t n = 0; n < kN; ++n) {
                const Packed16 factors = isa::amd::load_16(gamma, channel(j, n) * 4u);
                KG_UNROLL
                for (uint32_t word = 0; word < 2; ++word) {
                    const Lanes<uint32_t> values = rounded_[i][j][m][n][word];
                    rounded_[i][j][m][n][word] =
                        pack(activate(low(values) * scale * isa::amd::bits_as<float>(factors[2 * word])),
                             activate(high(values) * scale * isa::amd::bits_as<float>(factors[2 * word + 1])));
                }
            }
        }
    }

    const FourWaveConvParams& params_;
    uint32_t frame_, wave_m_, wave_n_;
    Lanes<uint32_t> row_, pixel_, channel_;  ///< of quadrant (0, 0), product (0, 0), value 0
    Packed8 source_[2][2][kM][kN];
    Packed8 rounded_[2][2][kM][kN];
};

}  // namespace kinetograph::gfx950
