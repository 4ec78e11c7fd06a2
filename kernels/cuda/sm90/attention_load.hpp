#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_params.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_smem.hpp>
#include <kinetograph/kernels/cuda/sm90/ring.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// The loads: the queries once, then stages of keys and values in the order in which turns of attention_multiply.hpp
/// read them, issued by one thread; at the end, where it adds a sum, the rows of it, by one thread of each warpgroup.
/// Channels past the head's last and tokens past the frame's last are zeros.
namespace kinetograph::sm90 {

template <AttentionConfig kConfig, AttentionFault kFault>
class AttentionLoad {
  public:
    using Smem = AttentionSmem<kConfig>;
    static constexpr AttentionConfig c = kConfig;

    KG_DEVICE AttentionLoad(const AttentionParams& params, Smem& smem) : p_(params), smem_(smem) {}

    /// All queries, and a stage into every slot of the ring.
    KG_DEVICE void first() {
        for (uint32_t consumer = 0; consumer < kAttentionConsumers; ++consumer)
            rows(consumer, p_.query[isa::block_index().y]);
        for (uint32_t number = 0; number < attention_stages(c); ++number) stage(number, number);
    }

    /// The rows of a warpgroup's queries of a map, into their shared memory.
    KG_DEVICE void rows(uint32_t consumer, const isa::TensorMap& map) {
        const uint32_t token = isa::block_index().x * kQueryTile + consumer * kWarpgroupQueries;
        isa::mbarrier::Barrier& full = smem_.query_full[consumer];
        isa::mbarrier::arrive_expect(full, width_blocks(c) * kQueryBlockBytes);
        KG_ROLLED
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            isa::tma::load_tiled<2>(smem_.query[consumer][block], map, {{channel(block), static_cast<int32_t>(token)}},
                                    full);
        }
    }

    /// Loads stage `number` into `slot`, which is free. Stages in order: keys 0 | values 0, keys 1 | values 1, keys 2 |
    /// ...
    KG_DEVICE void stage(uint32_t number, uint32_t slot) {
        constexpr uint32_t kMissing = kFault == AttentionFault::ExpectsTooFewBytes ? kSpanBytes : 0;
        const uint32_t run = number / tile_stages(c), tile = run / 2;
        if (tile >= key_tiles(p_)) return;
        isa::mbarrier::Barrier& full = smem_.stage_full[slot];
        isa::mbarrier::arrive_expect(full, stage_bytes(c) - kMissing);
        for (uint32_t block = 0; block < stage_blocks(c); ++block) {
            isa::tma::load_tiled<3>(smem_.stage[slot] + block * kKeyBlockBytes, p_.key_value[isa::block_index().y],
                                    {{channel(number % tile_stages(c) * stage_blocks(c) + block),
                                      static_cast<int32_t>(run % 2), static_cast<int32_t>(tile * kKeyTile)}},
                                    full);
        }
    }

  private:
    KG_DEVICE static int32_t channel(uint32_t block) { return static_cast<int32_t>(block * kSpanChannels); }

    const AttentionParams& p_;
    Smem& smem_;
};

}  // namespace kinetograph::sm90
