#pragma once

#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/shared_memory.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// The passes around the two matrix products of products-sm90, which stores the scores of a block of queries.
namespace kinetograph::sm90 {

inline constexpr uint32_t kScoreThreads = 256;
inline constexpr uint32_t kTransposedTile = 32;  ///< tokens and channels of a CTA

struct TransposeParams {
    const void* values;  ///< of token 0, the next token's `pitch` elements of 16 bits further
    void* transposed;    ///< [channels][tokens]
    uint32_t tokens, channels, pitch;
};

/// Grid: tiles of tokens, tiles of channels.
struct TransposeKernel {
    struct Smem {
        uint16_t tile[kTransposedTile][kTransposedTile + 2];  ///< a column's rows lie in different banks
    };
    KG_DEVICE static void run(const TransposeParams& params) {
        auto& smem = isa::shared_as<Smem>();
        const uint32_t token = isa::block_index().x * kTransposedTile, channel = isa::block_index().y * kTransposedTile;
        const uint32_t column = isa::thread_index() % kTransposedTile;
        for (uint32_t row = isa::thread_index() / kTransposedTile; row < kTransposedTile; row += kRows) {
            if (token + row >= params.tokens || channel + column >= params.channels) continue;
            const size_t at = static_cast<size_t>(token + row) * params.pitch + channel + column;
            isa::store_shared(&smem.tile[row][column],
                              isa::load_global<uint16_t>(static_cast<const uint16_t*>(params.values) + at));
        }
        isa::sync_cta();
        for (uint32_t row = isa::thread_index() / kTransposedTile; row < kTransposedTile; row += kRows) {
            if (token + column >= params.tokens || channel + row >= params.channels) continue;
            const size_t at = static_cast<size_t>(channel + row) * params.tokens + token + column;
            isa::store_global(static_cast<uint16_t*>(params.transposed) + at,
                              isa::load_shared(&smem.tile[column][row]));
        }
    }
    static constexpr uint32_t kRows = kScoreThreads / kTransposedTile;
};

struct SoftmaxParams {
    const float* scores;  ///< [queries][tokens]
    void* weights;        ///< [queries][tokens] in bf16
    uint32_t tokens;      ///< a multiple of 4
    float scale;          ///< log2(e) / sqrt(channels): weights are powers of two
};

/// Grid: queries. A row is read twice: for its highest score and the sum of its weights, then for the weights.
struct SoftmaxKernel {
    struct Smem {
        float parts[2][kScoreThreads / 32];  ///< [highest, sum][warp]
    };
    KG_DEVICE static void run(const SoftmaxParams& params) {
        auto& smem = isa::shared_as<Smem>();
        const size_t row = static_cast<size_t>(isa::block_index().x) * params.tokens;
        const float* scores = params.scores + row;
        float own = -kHuge, sum = 0;  // the highest of this thread's so far, and the sum of weights relative to it
        for (uint32_t i = isa::thread_index() * 4; i < params.tokens; i += kScoreThreads * 4) {
            const Four four = isa::load_global<Four>(scores + i);
            const float before = own;
            KG_UNROLL
            for (const float score : four.at) own = larger(own, score);
            sum *= isa::power_of_two((before - own) * params.scale);
            KG_UNROLL
            for (const float score : four.at) sum += isa::power_of_two((score - own) * params.scale);
        }
        const float highest = gathered(smem.parts[0], own, larger, -kHuge);
        sum *= isa::power_of_two((own - highest) * params.scale);
        const float inverse = 1 / gathered(
                                      smem.parts[1], sum, [](float a, float b) { return a + b; }, 0.0f);
        for (uint32_t i = isa::thread_index() * 4; i < params.tokens; i += kScoreThreads * 4) {
            Four four = isa::load_global<Four>(scores + i);
            KG_UNROLL
            for (float& score : four.at) score = isa::power_of_two((score - highest) * params.scale) * inverse;
            isa::store_global(
                static_cast<uint16_t*>(params.weights) + row + i,
                isa::Words<2>{{isa::pack_word<Element::BF16>(four.at), isa::pack_word<Element::BF16>(four.at + 2)}});
        }
    }

  private:
    static constexpr float kHuge = 3e38f;
    KG_DEVICE static float larger(float a, float b) { return a < b ? b : a; }
    struct alignas(16) Four {
        float at[4];
    };

    /// The operation over the values of all threads, in all of them.
    template <class Operation>
    KG_DEVICE static float gathered(float* parts, float value, const Operation& operation, float neutral) {
        KG_UNROLL
        for (uint32_t mask = 16; mask > 0; mask /= 2) value = operation(value, isa::shuffle_xor(value, mask));
        const uint32_t own = isa::warp_index();
        if (isa::lane_index() == 0) isa::store_shared(parts + own, value);
        isa::sync_cta();
        float all = neutral;
        for (uint32_t warp = 0; warp < kScoreThreads / 32; ++warp) all = operation(all, isa::load_shared(parts + warp));
        return all;
    }
};

}  // namespace kinetograph::sm90
