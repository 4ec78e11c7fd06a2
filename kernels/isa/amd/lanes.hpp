#pragma once

#include <kinetograph/kernels/isa/target.hpp>
#if KG_HOST_MODEL
#include <kinetograph/kernels/host_model/wave_instructions.hpp>
#endif

/// The values of a wave of 64 lanes. A kernel for CDNA is written for one wave: a plain integer is the same in every
/// lane (a scalar register), Lanes<T> holds one T per lane (a vector register), and the two mix as scalars mix with
/// vectors. There is no divergent control flow: a condition that differs by lane is a Lanes<bool>, which select()
/// accepts and `if` does not. So the host's compiler checks what is uniform, every instruction runs with all lanes
/// active, and the host model executes 64 lanes at once.
///
/// On the device Lanes<T> is T and LaneVector<T, N> a vector of N registers; on the host they are arrays of 64.
namespace kinetograph::isa::amd {

inline constexpr uint32_t kWaveLanes = 64;

#if KG_HOST_MODEL

/// The same index in every lane picks a register: vector[1] is Lanes<T>.
template <class T>
struct Lanes {
    alignas(64) T lane[kWaveLanes];

    Lanes() = default;
    Lanes(T uniform) {  // NOLINT(google-explicit-constructor): a scalar operand is broadcast
        for (T& value : lane) value = uniform;
    }
    template <class From>
    explicit Lanes(const Lanes<From>& from) {
        for (uint32_t i = 0; i < kWaveLanes; ++i) lane[i] = static_cast<T>(from.lane[i]);
    }

#define KG_LANES_OPERATOR(sign)                                                                              \
    friend Lanes operator sign(const Lanes& a, const Lanes& b) {                                             \
        Lanes result;                                                                                        \
        for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = static_cast<T>(a.lane[i] sign b.lane[i]); \
        return result;                                                                                       \
    }                                                                                                        \
    Lanes& operator sign##=(const Lanes& other) { return *this = *this sign other; }
    KG_LANES_OPERATOR(+)
    KG_LANES_OPERATOR(-)
    KG_LANES_OPERATOR(*)
    KG_LANES_OPERATOR(/)
    KG_LANES_OPERATOR(%)
    KG_LANES_OPERATOR(&)
    KG_LANES_OPERATOR(|)
    KG_LANES_OPERATOR(^)
    KG_LANES_OPERATOR(<<)
    KG_LANES_OPERATOR(>>)
#undef KG_LANES_OPERATOR

#define KG_LANES_COMPARISON(sign)                                                            \
    friend Lanes<bool> operator sign(const Lanes& a, const Lanes& b) {                       \
        Lanes<bool> result;                                                                  \
        for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = a.lane[i] sign b.lane[i]; \
        return result;                                                                       \
    }
    KG_LANES_COMPARISON(<)
    KG_LANES_COMPARISON(<=)
    KG_LANES_COMPARISON(>)
    KG_LANES_COMPARISON(>=)
    KG_LANES_COMPARISON(==)
    KG_LANES_COMPARISON(!=)
#undef KG_LANES_COMPARISON

    Lanes operator-() const { return Lanes(T{}) - *this; }
    Lanes operator!() const { return *this == Lanes(T{}); }
};

template <class T, uint32_t kCount>
struct LaneVector {
    Lanes<T> words[kCount];
    Lanes<T>& operator[](uint32_t i) { return words[i]; }
    const Lanes<T>& operator[](uint32_t i) const { return words[i]; }
};

#else

template <class T>
using Lanes = T;
template <class T, uint32_t kCount>
using LaneVector = T __attribute__((ext_vector_type(kCount)));

#endif

/// Eight 16-bit or sixteen 8-bit elements of each lane: the result of one 16-byte load.
using Packed16 = LaneVector<uint32_t, 4>;
using Packed8 = LaneVector<uint32_t, 2>;

/// The value of `yes` in lanes where `condition` holds, of `no` elsewhere. v_cndmask_b32.
template <class T>
KG_DEVICE Lanes<T> select(Lanes<bool> condition, Lanes<T> yes, Lanes<T> no) {
#if KG_HOST_MODEL
    Lanes<T> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = condition.lane[i] ? yes.lane[i] : no.lane[i];
    return result;
#else
    return condition ? yes : no;
#endif
}

/// Makes the compiler recompute what is derived from `value`, instead of keeping it in registers from its last use.
KG_DEVICE void forget(Lanes<uint32_t>& value) {
#if KG_HOST_MODEL
    static_cast<void>(value);
#else
    asm volatile("" : "+v"(value));
#endif
}

/// The same bits as another type of equal size.
template <class To, class From>
KG_DEVICE Lanes<To> bits_as(const Lanes<From>& from) {
    static_assert(sizeof(To) == sizeof(From));
#if KG_HOST_MODEL
    Lanes<To> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = __builtin_bit_cast(To, from.lane[i]);
    return result;
#else
    return __builtin_bit_cast(To, from);
#endif
}

}  // namespace kinetograph::isa::amd
