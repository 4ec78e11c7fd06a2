#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>
#include <kinetograph/kernels/isa/clc.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>

/// Shared memory of one CTA. Every swizzled tile starts on a multiple of its pattern; the word that receives the
/// tensor-memory address is separate from everything TMA writes.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig>
struct Conv2dSmem {
    static constexpr Conv2dConfig c = CheckedConfig<kConfig>::c;
    static constexpr uint32_t kSourceTiles = source_tiles(c);
    static constexpr uint32_t kWarpTileBytes = output_tile_bytes(c) / kEpilogueWarps;

    alignas(1024) uint8_t activation[c.stages][c.k_group][activation_tile_bytes(c)];
    alignas(1024) uint8_t filter[c.stages][c.k_group][filter_tile_bytes(c)];
    alignas(1024) uint8_t output[kEpilogueWarps][c.output_stages][kWarpTileBytes];
    alignas(1024) uint8_t source[kSourceTiles > 0 ? kSourceTiles : 1][kSourceTiles > 0 ? source_tile_bytes(c) : 16];

    isa::clc::Response answers[c.scheduler_stages];
    isa::mbarrier::Barrier full[c.stages], empty[c.stages];    // main ring: load -> MMA -> load
    isa::mbarrier::Barrier accumulated[c.accumulator_stages];  // MMA -> epilogue
    isa::mbarrier::Barrier drained[c.accumulator_stages];      // epilogue -> MMA
    isa::mbarrier::Barrier answered[c.scheduler_stages],
        heard[c.scheduler_stages];                                             // launch control -> all -> scheduler
    isa::mbarrier::Barrier source_full[kSourceTiles > 0 ? kSourceTiles : 1];   // epilogue load -> epilogue
    isa::mbarrier::Barrier source_empty[kSourceTiles > 0 ? kSourceTiles : 1];  // epilogue -> epilogue load
    isa::mbarrier::Barrier throttle;    // load -> scheduler: this tile has begun, ask for the next
    isa::mbarrier::Barrier load_order;  // load -> epilogue load: the first main loads are issued
    isa::mbarrier::Barrier deallocate;  // epilogue (of both CTAs of a pair) -> MMA: tensor memory may be freed
    uint32_t tensor_address;
};

}  // namespace kinetograph::sm100
