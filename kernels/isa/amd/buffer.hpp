#pragma once

#include <kinetograph/kernels/isa/amd/lds.hpp>

/// Global memory through raw buffer descriptors. A lane whose byte offset (`voffset`) is at or beyond the descriptor's
/// size reads zero and stores nothing: halo lanes, ragged edges and inactive lanes are expressed this way. The check
/// ignores `soffset`, which moves all lanes at once and must keep them inside. Sources: "CDNA3 Instruction Set
/// Architecture" (Buffer addressing, Range checking); LLVM, IntrinsicsAMDGPU.td (raw.ptr.buffer.*: "voffset ...
/// included in bounds checking", "soffset ... excluded").
namespace kinetograph::isa::amd {

/// A voffset that is out of range for every descriptor and access size.
inline constexpr uint32_t kOutOfRange = 0xfffffff0u;

#if KG_HOST_MODEL
using Buffer = host_model::BufferDescriptor;
#else
struct Buffer {
    __amdgpu_buffer_rsrc_t descriptor;
    uint32_t words __attribute__((ext_vector_type(4)));  ///< the same, for inline assembly
};
#endif

/// `bytes` bytes from `base` (less than 4 GiB - 16; 0: every access is out of range). Both uniform; `base` aligned
/// to 4.
KG_DEVICE Buffer make_buffer(const void* base, uint32_t bytes) {
#if KG_HOST_MODEL
    return {static_cast<const unsigned char*>(base), bytes};
#else
    constexpr uint32_t kFormat = 0x00027000;  // data_format 32 bits; LLVM's own word for raw buffers on gfx9
    const auto address = __builtin_bit_cast(uint64_t, base);
    return {__builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, static_cast<int>(bytes), kFormat),
            {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32) & 0xffffu, bytes, kFormat}};
#endif
}

/// 16, 8, 4, 2 or 1 bytes a lane from voffset + soffset; 2 and 1 are zero-extended. Aligned to 4 bytes or their size,
/// whichever is less. buffer_load_dwordx4, x2, dword, ushort, ubyte; the compiler waits for the registers.
KG_DEVICE Packed16 load_16(Buffer buffer, const Lanes<uint32_t>& voffset, uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    Packed16 value;
    host_model::buffer_load(value.words[0].lane, 16, buffer, voffset.lane, soffset, KG_AT("buffer_load_dwordx4"));
    return value;
#else
    return __builtin_amdgcn_raw_buffer_load_b128(buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE Packed8 load_8(Buffer buffer, const Lanes<uint32_t>& voffset, uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    Packed8 value;
    host_model::buffer_load(value.words[0].lane, 8, buffer, voffset.lane, soffset, KG_AT("buffer_load_dwordx2"));
    return value;
#else
    return __builtin_amdgcn_raw_buffer_load_b64(buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE Lanes<uint32_t> load_4(Buffer buffer, const Lanes<uint32_t>& voffset, uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    Lanes<uint32_t> value;
    host_model::buffer_load(value.lane, 4, buffer, voffset.lane, soffset, KG_AT("buffer_load_dword"));
    return value;
#else
    return __builtin_amdgcn_raw_buffer_load_b32(buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE Lanes<uint32_t> load_2(Buffer buffer, const Lanes<uint32_t>& voffset, uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    Lanes<uint32_t> value;
    host_model::buffer_load(value.lane, 2, buffer, voffset.lane, soffset, KG_AT("buffer_load_ushort"));
    return value;
#else
    return __builtin_amdgcn_raw_buffer_load_b16(buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE Lanes<uint32_t> load_1(Buffer buffer, const Lanes<uint32_t>& voffset, uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    Lanes<uint32_t> value;
    host_model::buffer_load(value.lane, 1, buffer, voffset.lane, soffset, KG_AT("buffer_load_ubyte"));
    return value;
#else
    return __builtin_amdgcn_raw_buffer_load_b8(buffer.descriptor, voffset, soffset, 0);
#endif
}

/// Waits for the load that produces `value`. Needed before a loop that uses it: otherwise the compiler waits in every
/// iteration, for this load and for all others then in flight. s_waitcnt vmcnt, placed by the compiler.
KG_DEVICE void await(Packed16& value) {
#if KG_HOST_MODEL
    static_cast<void>(value);
#else
    asm volatile("" : "+v"(value));
#endif
}

/// Copies 16 bytes per lane from voffset + soffset to LDS at place + 16 * lane (1 KiB, place aligned to 16);
/// out-of-range lanes write zeros. `place` and `soffset` are uniform. No register is involved: this wave knows that the
/// data has landed only after wait_vector_memory, other waves after a barrier that follows. buffer_load_dwordx4 ...
/// lds.
KG_DEVICE void load_16_to_lds(Buffer buffer, LdsPlace place, const Lanes<uint32_t>& voffset,
                              uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    host_model::buffer_load_to_lds(place.offset, buffer, voffset.lane, soffset, KG_AT("buffer_load_dwordx4 lds"));
#else
    // Inline assembly, because after the built-in LLVM waits for vmcnt(0) before any read of LDS. The place is an
    // operand, so that the compiler treats LDS as written; waits and barriers, which reads are never moved across,
    // order the accesses. One instruction must lie between the write of m0 and the load (manually inserted wait state).
    asm volatile("s_nop 0\n\tbuffer_load_dwordx4 %1, %2, %3 offen lds"
                 :
                 : "{m0}"(place), "v"(voffset), "s"(buffer.words), "s"(soffset));
#endif
}

/// 16, 8, 4, 2 or 1 bytes a lane (of 2 and 1 the low bits) to voffset + soffset. Aligned as the loads are.
/// buffer_store_dwordx4, x2, dword, short, byte.
KG_DEVICE void store_16(Buffer buffer, const Lanes<uint32_t>& voffset, const Packed16& value,
                        uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    host_model::buffer_store(value.words[0].lane, 16, buffer, voffset.lane, soffset, KG_AT("buffer_store_dwordx4"));
#else
    __builtin_amdgcn_raw_buffer_store_b128(value, buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE void store_8(Buffer buffer, const Lanes<uint32_t>& voffset, const Packed8& value,
                       uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    host_model::buffer_store(value.words[0].lane, 8, buffer, voffset.lane, soffset, KG_AT("buffer_store_dwordx2"));
#else
    __builtin_amdgcn_raw_buffer_store_b64(value, buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE void store_4(Buffer buffer, const Lanes<uint32_t>& voffset, const Lanes<uint32_t>& value,
                       uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    host_model::buffer_store(value.lane, 4, buffer, voffset.lane, soffset, KG_AT("buffer_store_dword"));
#else
    __builtin_amdgcn_raw_buffer_store_b32(value, buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE void store_2(Buffer buffer, const Lanes<uint32_t>& voffset, const Lanes<uint32_t>& value,
                       uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    host_model::buffer_store(value.lane, 2, buffer, voffset.lane, soffset, KG_AT("buffer_store_short"));
#else
    __builtin_amdgcn_raw_buffer_store_b16(static_cast<unsigned short>(value), buffer.descriptor, voffset, soffset, 0);
#endif
}
KG_DEVICE void store_1(Buffer buffer, const Lanes<uint32_t>& voffset, const Lanes<uint32_t>& value,
                       uint32_t soffset = 0 KG_SITE) {
#if KG_HOST_MODEL
    host_model::buffer_store(value.lane, 1, buffer, voffset.lane, soffset, KG_AT("buffer_store_byte"));
#else
    __builtin_amdgcn_raw_buffer_store_b8(static_cast<unsigned char>(value), buffer.descriptor, voffset, soffset, 0);
#endif
}

}  // namespace kinetograph::isa::amd
