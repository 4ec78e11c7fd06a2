#pragma once

#include <kinetograph/kernels/isa/convert.hpp>

/// Arithmetic on the two 16-bit numbers of a word, each result rounded to nearest even; sums of bf16 from sm_90 on. PTX
/// ISA, add.bf16x2, sub.f16x2, fma.rn.bf16x2.
namespace kinetograph::isa {

#if KG_HOST_MODEL
template <Element kValue, class Operation>
uint32_t on_values(uint32_t a, uint32_t b, const Operation& operation) {
    float x[2], y[2];
    unpack_word<kValue>(a, x);
    unpack_word<kValue>(b, y);
    const float results[2] = {operation(x[0], y[0]), operation(x[1], y[1])};
    return pack_word<kValue>(results);
}
#endif

/// a + b.
template <Element kValue>
KG_DEVICE uint32_t add_values(uint32_t a, uint32_t b) {
    static_assert(kValue == Element::BF16 || kValue == Element::F16, "two numbers to a word");
#if KG_HOST_MODEL
    return on_values<kValue>(a, b, [](float x, float y) { return x + y; });
#else
    uint32_t sum = 0;
    if constexpr (kValue == Element::BF16) asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    if constexpr (kValue == Element::F16) asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
#endif
}

/// a - b.
template <Element kValue>
KG_DEVICE uint32_t subtract_values(uint32_t a, uint32_t b) {
    static_assert(kValue == Element::BF16 || kValue == Element::F16, "two numbers to a word");
#if KG_HOST_MODEL
    return on_values<kValue>(a, b, [](float x, float y) { return x - y; });
#else
    uint32_t difference = 0;
    if constexpr (kValue == Element::BF16) asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    if constexpr (kValue == Element::F16) asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
#endif
}

/// a * b + c, rounded once. From sm_80 on.
template <Element kValue>
KG_DEVICE uint32_t multiply_add_values(uint32_t a, uint32_t b, uint32_t c) {
    static_assert(kValue == Element::BF16 || kValue == Element::F16, "two numbers to a word");
#if KG_HOST_MODEL
    float x[2], y[2], z[2];
    unpack_word<kValue>(a, x);
    unpack_word<kValue>(b, y);
    unpack_word<kValue>(c, z);
    const float results[2] = {x[0] * y[0] + z[0], x[1] * y[1] + z[1]};
    return pack_word<kValue>(results);
#else
    uint32_t sum = 0;
    if constexpr (kValue == Element::BF16) asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    if constexpr (kValue == Element::F16) asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
#endif
}

}  // namespace kinetograph::isa
