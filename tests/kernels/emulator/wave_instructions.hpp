#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/amd/mfma.hpp>

namespace kinetograph::emulator {

/// The parameters of every kernel in wave_instructions.hip.
struct Params {
    const void* a;
    const void* b;
    void* d;
    uint32_t bytes;  ///< of each of the three
    uint32_t count;  ///< of k-steps, or another number that the kernel needs
};

/// The bits of a load or store as four floats per lane.
KG_DEVICE isa::amd::Accumulator bits_as_accumulator(const isa::amd::Packed16& words) {
    isa::amd::Accumulator sum;
    KG_UNROLL for (uint32_t i = 0; i < 4; ++i) sum[i] = isa::amd::bits_as<float>(isa::amd::Lanes<uint32_t>(words[i]));
    return sum;
}
KG_DEVICE isa::amd::Packed16 bits_as_words(const isa::amd::Accumulator& sum) {
    isa::amd::Packed16 words;
    KG_UNROLL for (uint32_t i = 0; i < 4; ++i) words[i] = isa::amd::bits_as<uint32_t>(isa::amd::Lanes<float>(sum[i]));
    return words;
}

}  // namespace kinetograph::emulator
