#pragma once

#include <kinetograph/kernels/isa/amd/wave.hpp>

/// The local data share: 160 KiB a compute unit, in 64 banks of 4 bytes, addressed by bytes from the workgroup's base.
/// Sources: "CDNA4 Instruction Set Architecture" (Data share); LLVM, "User Guide for AMDGPU Backend", address space 3.
namespace kinetograph::isa::amd {

#if KG_HOST_MODEL
/// A uniform address in the workgroup's LDS; place + bytes is a place.
struct LdsPlace {
    uint32_t offset;
    friend LdsPlace operator+(LdsPlace place, uint32_t bytes) { return {place.offset + bytes}; }
};
#else
using LdsPlace = __attribute__((address_space(3))) unsigned char*;
#endif

/// The first of `kBytes` bytes of LDS, shared by the workgroup's waves; contents undefined. Call it once per kernel.
template <uint32_t kBytes>
KG_DEVICE LdsPlace allocate_lds(KG_SITE_ONLY) {
    static_assert(kBytes <= 160 * 1024, "a workgroup has at most 160 KiB of LDS");
#if KG_HOST_MODEL
    host_model::allocate_lds(kBytes, KG_AT("LDS"));
    return {0};
#else
    static __attribute__((shared, aligned(1024))) unsigned char memory[kBytes];
    return (LdsPlace)memory;
#endif
}

#if !KG_HOST_MODEL
namespace detail {
template <class Value>
KG_DEVICE Value read(LdsPlace base, uint32_t offset) {
    using Aliasing = Value __attribute__((may_alias));
    return *(const __attribute__((address_space(3))) Aliasing*)(base + offset);
}
template <class Value>
KG_DEVICE void write(LdsPlace base, uint32_t offset, Value value) {
    using Aliasing = Value __attribute__((may_alias));
    *(__attribute__((address_space(3))) Aliasing*)(base + offset) = value;
}
}  // namespace detail
#endif

/// 16, 8 or 4 bytes a lane from base + offset, aligned to their size. ds_read_b128, _b64, _b32; the compiler waits for
/// the registers.
KG_DEVICE Packed16 read_lds_16(LdsPlace base, const Lanes<uint32_t>& offset KG_SITE) {
#if KG_HOST_MODEL
    Packed16 value;
    host_model::read_lds(value.words[0].lane, 4, base.offset, offset.lane, KG_AT("ds_read_b128"));
    return value;
#else
    return detail::read<Packed16>(base, offset);
#endif
}
KG_DEVICE Packed8 read_lds_8(LdsPlace base, const Lanes<uint32_t>& offset KG_SITE) {
#if KG_HOST_MODEL
    Packed8 value;
    host_model::read_lds(value.words[0].lane, 2, base.offset, offset.lane, KG_AT("ds_read_b64"));
    return value;
#else
    return detail::read<Packed8>(base, offset);
#endif
}
KG_DEVICE Lanes<uint32_t> read_lds_4(LdsPlace base, const Lanes<uint32_t>& offset KG_SITE) {
#if KG_HOST_MODEL
    Lanes<uint32_t> value;
    host_model::read_lds(value.lane, 1, base.offset, offset.lane, KG_AT("ds_read_b32"));
    return value;
#else
    return detail::read<uint32_t>(base, offset);
#endif
}

/// 16, 8 or 4 bytes a lane to base + offset, aligned to their size, in lanes where `active` holds. ds_write_b128, _b64,
/// _b32.
KG_DEVICE void write_lds_16(LdsPlace base, const Lanes<uint32_t>& offset, const Packed16& value,
                            const Lanes<bool>& active = true KG_SITE) {
#if KG_HOST_MODEL
    host_model::write_lds(value.words[0].lane, 4, base.offset, offset.lane, active.lane, KG_AT("ds_write_b128"));
#else
    if (active) detail::write<Packed16>(base, offset, value);
#endif
}
KG_DEVICE void write_lds_8(LdsPlace base, const Lanes<uint32_t>& offset, const Packed8& value,
                           const Lanes<bool>& active = true KG_SITE) {
#if KG_HOST_MODEL
    host_model::write_lds(value.words[0].lane, 2, base.offset, offset.lane, active.lane, KG_AT("ds_write_b64"));
#else
    if (active) detail::write<Packed8>(base, offset, value);
#endif
}
KG_DEVICE void write_lds_4(LdsPlace base, const Lanes<uint32_t>& offset, const Lanes<uint32_t>& value,
                           const Lanes<bool>& active = true KG_SITE) {
#if KG_HOST_MODEL
    host_model::write_lds(value.lane, 1, base.offset, offset.lane, active.lane, KG_AT("ds_write_b32"));
#else
    if (active) detail::write<uint32_t>(base, offset, value);
#endif
}

}  // namespace kinetograph::isa::amd
