#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// Plain loads and stores of global memory: a T of 1, 2, 4, 8 or 16 bytes, naturally aligned. PTX ISA, ld and st.
namespace kinetograph::isa {

/// Words that move as one: 8 or 16 bytes.
template <uint32_t kCount>
struct alignas(4 * kCount) Words {
    uint32_t at[kCount];
};

template <class T>
KG_DEVICE T load_global(const void* source KG_SITE) {
#if KG_HOST_MODEL
    host_model::check_global(source, sizeof(T), KG_AT("ld.global"));
#endif
    return *static_cast<const T*>(source);
}

template <class T>
KG_DEVICE void store_global(void* destination, const T& value KG_SITE) {
#if KG_HOST_MODEL
    host_model::check_global(destination, sizeof(T), KG_AT("st.global"));
#endif
    *static_cast<T*>(destination) = value;
}

}  // namespace kinetograph::isa
