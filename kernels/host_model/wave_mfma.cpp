#include <array>
#include <bit>
#include <kinetograph/kernels/host_model/wave_machine.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>

// Most of the model's time goes into these products, so they are compiled for several CPUs and chosen at load time. Not
// under the sanitizers, whose runtime is not initialised when the loader chooses.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KG_CPU_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KG_CPU_CLONES
#endif

/// MFMA by its documented lane layouts. Registers are [word][64], so 16 neighbouring lanes of a register are 16 columns
/// of B or of D: one vector of the host.
namespace kinetograph::host_model {
namespace {

constexpr uint32_t kTile = 16;

/// d[row][column] += sum over k of a[k][row] * b[k][column].
template <uint32_t kDepth>
inline __attribute__((always_inline)) void multiply_tile(float* accumulators, const float* a, const float* b) {
    for (uint32_t row = 0; row < kTile; ++row) {
        float* const d = accumulators + (row % 4) * kWaveLanes + (row / 4) * kTile;
        float sums[kTile];
        for (uint32_t i = 0; i < kTile; ++i) sums[i] = d[i];
        for (uint32_t k = 0; k < kDepth; ++k) {
            const float x = a[k * kTile + row];
            for (uint32_t i = 0; i < kTile; ++i) sums[i] += x * b[k * kTile + i];
        }
        for (uint32_t i = 0; i < kTile; ++i) d[i] = sums[i];
    }
}

/// values[k][16] of an operand with 8 elements a lane: k = 8 * (lane / 16) + 0..7.
inline __attribute__((always_inline)) void unpack_bf16(float* values, const uint32_t* operand) {
    for (uint32_t group = 0; group < 4; ++group) {
        for (uint32_t word = 0; word < 4; ++word) {
            const uint32_t* const packed = operand + word * kWaveLanes + group * kTile;
            float* const low = values + (group * 8 + word * 2) * kTile;
            for (uint32_t i = 0; i < kTile; ++i) {
                low[i] = std::bit_cast<float>(packed[i] << 16);
                low[kTile + i] = std::bit_cast<float>(packed[i] & 0xffff0000u);
            }
        }
    }
}

const std::array<float, 65536>& f16_values() {
    static const auto values = [] {
        auto table = std::make_unique<std::array<float, 65536>>();
        for (uint32_t bits = 0; bits < table->size(); ++bits) (*table)[bits] = isa::amd::from_f16(bits);
        return table;
    }();
    return *values;
}

const std::array<float, 256>& f8e4m3_values() {
    static const auto values = [] {
        std::array<float, 256> table;
        for (uint32_t bits = 0; bits < table.size(); ++bits) table[bits] = isa::amd::from_f8e4m3(bits);
        return table;
    }();
    return values;
}

void unpack_f16(float* values, const uint32_t* operand) {
    const auto& table = f16_values();
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        for (uint32_t element = 0; element < 8; ++element) {
            const uint32_t word = operand[element / 2 * kWaveLanes + lane];
            values[(lane / kTile * 8 + element) * kTile + lane % kTile] = table[word >> element % 2 * 16 & 0xffff];
        }
    }
}

/// values[k][16] of an operand with 32 elements a lane in two chunks: k = 16 * (lane / 16) + 0..15, and the same + 64.
void unpack_f8e4m3(float* values, const uint32_t* operand) {
    const auto& table = f8e4m3_values();
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        for (uint32_t element = 0; element < 32; ++element) {
            const uint32_t word = operand[element / 4 * kWaveLanes + lane];
            const uint32_t k = element / 16 * 64 + lane / kTile * 16 + element % 16;
            values[k * kTile + lane % kTile] = table[word >> element % 4 * 8 & 0xff];
        }
    }
}

KG_CPU_CLONES void multiply_bf16(float* accumulators, const uint32_t* a, const uint32_t* b) {
    alignas(64) float left[32 * kTile], right[32 * kTile];
    unpack_bf16(left, a);
    unpack_bf16(right, b);
    multiply_tile<32>(accumulators, left, right);
}

KG_CPU_CLONES void multiply_32(float* accumulators, const float* a, const float* b) {
    multiply_tile<32>(accumulators, a, b);
}

KG_CPU_CLONES void multiply_128(float* accumulators, const float* a, const float* b) {
    multiply_tile<128>(accumulators, a, b);
}

}  // namespace

void mfma_16x16x32(float* accumulators, const uint32_t* a, const uint32_t* b, bool bfloat16) {
    WaveMachine::current().count_product();
    if (bfloat16) return multiply_bf16(accumulators, a, b);
    alignas(64) float left[32 * kTile], right[32 * kTile];
    unpack_f16(left, a);
    unpack_f16(right, b);
    multiply_32(accumulators, left, right);
}

void mfma_16x16x4_f32(float* accumulators, const float* a, const float* b) {
    WaveMachine::current().count_product();
    multiply_tile<4>(accumulators, a, b);
}

void mfma_16x16x128_f8e4m3(float* accumulators, const uint32_t* a, const uint32_t* b) {
    WaveMachine::current().count_product();
    alignas(64) float left[128 * kTile], right[128 * kTile];
    unpack_f8e4m3(left, a);
    unpack_f8e4m3(right, b);
    multiply_128(accumulators, left, right);
}

}  // namespace kinetograph::host_model
