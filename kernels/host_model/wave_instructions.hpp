#pragma once

#include <cstdint>
#include <kinetograph/kernels/host_model/instructions.hpp>

/// What kernels/isa/amd calls on the host: one function per instruction of a wave of 64 lanes, for the wave (fiber)
/// that is running. A lane's 32-bit registers are [word][64].
namespace kinetograph::host_model {

inline constexpr uint32_t kWaveLanes = 64;

/// A raw buffer descriptor: `bytes` is its num_records.
struct BufferDescriptor {
    const unsigned char* base;
    uint32_t bytes;
};

// Identity of the running wave, and its waits: wave.hpp
Dim3 wave_workgroup();
uint32_t wave_in_workgroup();
void wait_vector_memory(uint32_t pending, const Instruction& at);
void wait_lds(const Instruction& at);
void wave_barrier(const Instruction& at);

// lds.hpp
void allocate_lds(uint32_t bytes, const Instruction& at);
void read_lds(uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets, const Instruction& at);
void write_lds(const uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets, const bool* active,
               const Instruction& at);

// buffer.hpp
void buffer_load(uint32_t* registers, uint32_t bytes, const BufferDescriptor& buffer, const uint32_t* voffsets,
                 uint32_t soffset, const Instruction& at);
void buffer_load_to_lds(uint32_t place, const BufferDescriptor& buffer, const uint32_t* voffsets, uint32_t soffset,
                        const Instruction& at);
void buffer_store(const uint32_t* registers, uint32_t bytes, const BufferDescriptor& buffer, const uint32_t* voffsets,
                  uint32_t soffset, const Instruction& at);

// mfma.hpp: accumulators[4][64] += a[16 x K] * b[K x 16]
void mfma_16x16x32(float* accumulators, const uint32_t* a, const uint32_t* b, bool bfloat16);
void mfma_16x16x4_f32(float* accumulators, const float* a, const float* b);
void mfma_16x16x128_f8e4m3(float* accumulators, const uint32_t* a, const uint32_t* b);

}  // namespace kinetograph::host_model
