#pragma once

#include <kinetograph/kernels/isa/amd/math.hpp>

#if KG_HOST_MODEL
#include <algorithm>
#include <iterator>
#endif

/// Exchange of values between the lanes of a wave.
namespace kinetograph::isa::amd {

/// In every lane, the value that lane `from % 64` holds. ds_bpermute_b32.
template <class T>
KG_DEVICE Lanes<T> permute(const Lanes<T>& value, const Lanes<uint32_t>& from) {
    static_assert(sizeof(T) == 4);
#if KG_HOST_MODEL
    Lanes<T> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = value.lane[from.lane[i] % kWaveLanes];
    return result;
#else
    return __builtin_bit_cast(T,
                              __builtin_amdgcn_ds_bpermute(static_cast<int>(from * 4), __builtin_bit_cast(int, value)));
#endif
}

/// In every lane, the value of the lane whose index differs in the bits of `kBits`.
template <uint32_t kBits, class T>
KG_DEVICE Lanes<T> exchange(const Lanes<T>& value) {
    static_assert(sizeof(T) == 4 && kBits < kWaveLanes);
#if KG_HOST_MODEL
    Lanes<T> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = value.lane[i ^ kBits];
    return result;
#else
    if constexpr (kBits < 32) {  // ds_swizzle_b32, bit-mask mode: xor in bits 10..14, and-mask 31
        return __builtin_bit_cast(T, __builtin_amdgcn_ds_swizzle(__builtin_bit_cast(int, value), (kBits << 10) | 31));
    } else {
        const uint32_t from = (__builtin_amdgcn_workitem_id_x() % kWaveLanes) ^ kBits;
        return __builtin_bit_cast(
            T, __builtin_amdgcn_ds_bpermute(static_cast<int>(from * 4), __builtin_bit_cast(int, value)));
    }
#endif
}

/// The value of lane `lane`, as a scalar. v_readlane_b32.
template <class T>
KG_DEVICE T read_lane(const Lanes<T>& value, uint32_t lane) {
    static_assert(sizeof(T) == 4);
#if KG_HOST_MODEL
    return value.lane[lane % kWaveLanes];
#else
    return __builtin_bit_cast(
        T, __builtin_amdgcn_readlane(__builtin_bit_cast(int, value), static_cast<int>(lane % kWaveLanes)));
#endif
}

/// Whether a condition holds in any lane: uniform, so `if` takes it. v_cmp, and a test of its mask.
KG_DEVICE bool any(const Lanes<bool>& condition) {
#if KG_HOST_MODEL
    return std::any_of(std::begin(condition.lane), std::end(condition.lane), [](bool lane) { return lane; });
#else
    return __builtin_amdgcn_ballot_w64(condition) != 0;
#endif
}

/// The sum, or the maximum, over each group of `kGroup` consecutive lanes, in all of its lanes.
template <uint32_t kGroup = kWaveLanes>
KG_DEVICE Lanes<float> sum_lanes(Lanes<float> value) {
    if constexpr (kGroup >= 2) value = value + exchange<1>(value);
    if constexpr (kGroup >= 4) value = value + exchange<2>(value);
    if constexpr (kGroup >= 8) value = value + exchange<4>(value);
    if constexpr (kGroup >= 16) value = value + exchange<8>(value);
    if constexpr (kGroup >= 32) value = value + exchange<16>(value);
    if constexpr (kGroup >= 64) value = value + exchange<32>(value);
    return value;
}
template <uint32_t kGroup = kWaveLanes>
KG_DEVICE Lanes<float> max_lanes(Lanes<float> value) {
    if constexpr (kGroup >= 2) value = max(value, exchange<1>(value));
    if constexpr (kGroup >= 4) value = max(value, exchange<2>(value));
    if constexpr (kGroup >= 8) value = max(value, exchange<4>(value));
    if constexpr (kGroup >= 16) value = max(value, exchange<8>(value));
    if constexpr (kGroup >= 32) value = max(value, exchange<16>(value));
    if constexpr (kGroup >= 64) value = max(value, exchange<32>(value));
    return value;
}

}  // namespace kinetograph::isa::amd
