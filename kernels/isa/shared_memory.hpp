#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// The CTA's dynamic shared memory and its addresses in instructions.
///
/// Data that the async proxy (TMA, wgmma, tcgen05) also accesses is read and written by threads through `load_shared`
/// and `store_shared`: plain ld/st on the chip; on the host they let the model check proxy fences and races.
namespace kinetograph::isa {

/// A shared::cluster address: names a byte of any CTA of the cluster. Bits 24 and up are the CTA's rank.
struct ClusterAddress {
    uint32_t value;
};

#if !KG_HOST_MODEL
extern __shared__ __align__(1024) uint8_t kg_dynamic_shared[];
#endif

/// The kernel's shared-memory struct at a 1024-byte aligned base (the period of the 128-byte swizzle).
template <class T>
KG_DEVICE T& shared_as(KG_SITE_ONLY) {
    static_assert(alignof(T) <= 1024, "dynamic shared memory starts on a 1024-byte boundary");
#if KG_HOST_MODEL
    return *static_cast<T*>(host_model::dynamic_shared(sizeof(T), KG_AT("shared memory")));
#else
    return *reinterpret_cast<T*>(kg_dynamic_shared);
#endif
}

/// The 32-bit address that instructions and descriptors take. PTX ISA, cvta.to.shared.
KG_DEVICE uint32_t shared_address(const void* pointer KG_SITE) {
#if KG_HOST_MODEL
    return host_model::shared_address(pointer, KG_AT("cvta.to.shared"));
#else
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
#endif
}

/// Reads a T of 1, 2, 4, 8 or 16 bytes from shared memory, naturally aligned. PTX ISA, ld.shared.
template <class T>
KG_DEVICE T load_shared(const T* source KG_SITE) {
#if KG_HOST_MODEL
    host_model::check_shared_load(source, sizeof(T), KG_AT("ld.shared"));
#endif
    return *source;
}

/// Writes a T of 1, 2, 4, 8 or 16 bytes to shared memory, naturally aligned. PTX ISA, st.shared.
template <class T>
KG_DEVICE void store_shared(T* destination, const T& value KG_SITE) {
#if KG_HOST_MODEL
    host_model::check_shared_store(destination, sizeof(T), KG_AT("st.shared"));
#endif
    *destination = value;
}

/// Writes a T of 2, 4, 8 or 16 bytes to a shared-memory address. PTX ISA, st.shared.
template <class T>
KG_DEVICE void store_shared_at(uint32_t address, const T& value KG_SITE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
#if KG_HOST_MODEL
    T* destination = static_cast<T*>(host_model::shared_pointer(address, sizeof(T), KG_AT("st.shared")));
    host_model::check_shared_store(destination, sizeof(T), KG_AT("st.shared"));
    *destination = value;
#else
    *reinterpret_cast<T*>(__cvta_shared_to_generic(address)) = value;
#endif
}

}  // namespace kinetograph::isa
