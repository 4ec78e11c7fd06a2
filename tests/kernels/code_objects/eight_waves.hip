#include <kinetograph/kernels/hip/gfx950/four_wave_conv.hpp>

// FourWaveConv's schedule with eight waves in a workgroup, to count its cycles: docs/kernels-gfx950.md. No plan has
// them.
namespace kinetograph::gfx950 {

#define KG_EIGHT_WAVES(BM, BN, BK)                                                                      \
    using Conv_##BM##x##BN##x##BK =                                                                     \
        FourWaveConvConfig<Element::BF16, BM, BN, BK, ConvLoader::Uniform, ConvFault::None, 8>;         \
    KG_KERNEL(kg_eight_waves_##BM##x##BN##x##BK, FourWaveConvParams, Conv_##BM##x##BN##x##BK::kThreads, \
              Conv_##BM##x##BN##x##BK::kWavesPerSimd) {                                                 \
        FourWaveConv<Conv_##BM##x##BN##x##BK>::run(params);                                             \
    }
KG_EIGHT_WAVES(256, 192, 64)
KG_EIGHT_WAVES(256, 256, 64)

}  // namespace kinetograph::gfx950
