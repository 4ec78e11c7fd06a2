#include <kinetograph/kernels/hip/gfx950/four_wave_conv.hpp>

// Implicit-GEMM convolutions of fp8 E4M3 activations and filters.
namespace kinetograph::gfx950 {

#define KG_CONV_8(BM, BN, BK, loader, name)                                                                       \
    using Conv_##BM##x##BN##x##BK##_##name = FourWaveConvConfig<Element::F8E4M3, BM, BN, BK, ConvLoader::loader>; \
    KG_KERNEL(kg_conv_f8_##BM##x##BN##x##BK##_##name, FourWaveConvParams, 256,                                    \
              Conv_##BM##x##BN##x##BK##_##name::kWavesPerSimd) {                                                  \
        FourWaveConv<Conv_##BM##x##BN##x##BK##_##name>::run(params);                                              \
    }
#define KG_CONV_16(BM, BN, BK, loader, name)
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_kernels.inc>

}  // namespace kinetograph::gfx950
