// AVX-512's intrinsics, and the attributes of the functions that use them.
#pragma once

// GCC 12 warns of the deliberately undefined operands of its own AVX-512 header (GCC bug 105593).
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

// For functions of intrinsics; plain loops have cpu_clones.hpp.
#define KINETOGRAPH_AVX512 [[gnu::target("avx512f,avx512vl,avx512bw,avx512bf16,avx512vnni,avx2,fma")]]
#define KINETOGRAPH_AVX512_INLINE KINETOGRAPH_AVX512 [[gnu::always_inline]] inline
