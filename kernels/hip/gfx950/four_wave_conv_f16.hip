#include <kinetograph/kernels/hip/gfx950/four_wave_conv.hpp>

// Implicit-GEMM convolutions of fp16 activations and filters.
namespace kinetograph::gfx950 {

#define KG_CONV_16(BM, BN, BK, loader, name)                                                                   \
    using Conv_##BM##x##BN##x##BK##_##name = FourWaveConvConfig<Element::F16, BM, BN, BK, ConvLoader::loader>; \
    KG_KERNEL(kg_conv_f16_##BM##x##BN##x##BK##_##name, FourWaveConvParams, 256,                                \
              Conv_##BM##x##BN##x##BK##_##name::kWavesPerSimd) {                                               \
        FourWaveConv<Conv_##BM##x##BN##x##BK##_##name>::run(params);                                           \
    }
#define KG_CONV_8(BM, BN, BK, loader, name)
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_kernels.inc>

}  // namespace kinetograph::gfx950
