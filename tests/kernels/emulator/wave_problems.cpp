/// Writes the problems of wave_instructions.hip into the folder on the command line.

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

#include "frames.hpp"
#include "wave_instructions.hpp"

namespace kinetograph::emulator {
namespace {

using host_model::Dim3;

/// The three buffers of every kernel of the file, filled with random words.
struct Memory {
    std::vector<uint32_t> a, b, d;

    explicit Memory(uint32_t bytes, uint32_t seed) : a(bytes / 4), b(bytes / 4), d(bytes / 4) {
        std::mt19937 random(seed);
        for (auto* words : {&a, &b, &d})
            for (uint32_t& word : *words) word = static_cast<uint32_t>(random());
    }
};

struct Comparison {
    Element element = Element::U32;
    double tolerance = 0;  ///< against the host model and the reference
    std::vector<double> reference;
};

void add(ProblemWriter& writer, const std::string& name, const std::string& kernel, Dim3 grid, uint32_t count,
         Memory memory, Comparison comparison = {}) {
    const Params params{memory.a.data(), memory.b.data(), memory.d.data(), static_cast<uint32_t>(memory.a.size() * 4),
                        count};
    writer.add({.name = name,
                .kernel = kernel,
                .grid = grid,
                .parameters = std::as_bytes(std::span(&params, 1)),
                .buffers = {{"a", std::as_writable_bytes(std::span(memory.a))},
                            {"b", std::as_writable_bytes(std::span(memory.b))},
                            {"d", std::as_writable_bytes(std::span(memory.d))}},
                .expectations = {{"d", comparison.element, comparison.tolerance, std::move(comparison.reference),
                                  comparison.tolerance}}});
}

uint32_t bf16_bits(float value) { return std::bit_cast<uint32_t>(value) >> 16; }

/// fp16 and fp8 E4M3 of a whole number from -8 to 8: exact in both.
uint32_t small_float_bits(int value, int exponent_bias, int mantissa_bits, int sign_bit) {
    if (value == 0) return 0;
    const int magnitude = std::abs(value), exponent = std::bit_width(static_cast<unsigned>(magnitude)) - 1;
    const int mantissa = (magnitude << mantissa_bits >> exponent) - (1 << mantissa_bits);
    return static_cast<uint32_t>((value < 0 ? 1 << sign_bit : 0) | ((exponent + exponent_bias) << mantissa_bits) |
                                 mantissa);
}

uint32_t element_bits(Element element, int value) {
    if (element == Element::BF16) return bf16_bits(static_cast<float>(value));
    return element == Element::F16 ? small_float_bits(value, 15, 10, 15) : small_float_bits(value, 7, 3, 7);
}

/// A sum of `steps` products of integers from -8 to 8, added to the contents of d; the reference is exact.
void add_matrix_product(ProblemWriter& writer, Element element, uint32_t steps, uint32_t seed) {
    const bool fp8 = element == Element::F8E4M3;
    const uint32_t k_step = fp8 ? 128 : 32, lane_elements = k_step / 4, element_bytes = fp8 ? 1 : 2;
    Memory memory(steps * 64 * lane_elements * element_bytes, seed);
    std::mt19937 random(seed + 1);
    std::vector<int> a(16 * k_step * steps), b(a.size()), c(256);  // [16][K], [16][K], [16][16]
    for (auto* matrix : {&a, &b, &c})
        for (int& value : *matrix) value = static_cast<int>(random() % 17) - 8;
    for (uint32_t step = 0; step < steps; ++step) {
        for (uint32_t lane = 0; lane < 64; ++lane) {
            for (uint32_t i = 0; i < lane_elements; ++i) {
                // mfma.hpp: eight elements from 8 * group; of fp8 sixteen from 16 * group and sixteen 64 further.
                const uint32_t group = lane / 16;
                const uint32_t k = fp8 ? i / 16 * 64 + group * 16 + i % 16 : group * 8 + i;
                const uint32_t from = lane % 16 * k_step * steps + step * k_step + k;
                const uint32_t at = ((step * 64 + lane) * lane_elements + i) * element_bytes;
                const auto put = [&](std::vector<uint32_t>& words, int value) {
                    const uint32_t shift = at % 4 * 8, mask = (fp8 ? 0xffu : 0xffffu) << shift;
                    words[at / 4] = (words[at / 4] & ~mask) | element_bits(element, value) << shift;
                };
                put(memory.a, a[from]);
                put(memory.b, b[from]);
            }
        }
    }
    Comparison comparison{.element = Element::F32, .reference = std::vector<double>(memory.d.size())};
    for (size_t word = 0; word < memory.d.size(); ++word) {
        if (word < 256) {
            const size_t lane = word / 4, row = lane / 16 * 4 + word % 4, column = lane % 16;
            double sum = c[row * 16 + column];
            for (size_t k = 0; k < k_step * steps; ++k)
                sum += a[row * k_step * steps + k] * b[column * k_step * steps + k];
            memory.d[word] = std::bit_cast<uint32_t>(static_cast<float>(c[row * 16 + column]));
            comparison.reference[word] = sum;
        } else {
            memory.d[word] = 0;
        }
    }
    const char* kernel = fp8                       ? "conform_mfma_f8e4m3"
                         : element == Element::F16 ? "conform_mfma_f16"
                                                   : "conform_mfma_bf16";
    add(writer, fmt::format("{} matrix products of whole numbers", steps), kernel, {1}, steps, std::move(memory),
        std::move(comparison));
}

/// Floats for every case of the conversions: both signs, ties, overflow, fp16's denormals, zero. Without denormals in
/// fp8: the emulator flushes them to zero.
Memory floats_to_convert(uint32_t seed) {
    Memory memory(4096, seed);
    std::mt19937 random(seed);
    for (uint32_t& word : memory.a) {
        const float mantissa = 1 + static_cast<float>(random() % 2048) / 2048;
        int exponent = static_cast<int>(random() % 36) - 20;
        if (exponent >= -11 && exponent < -6) exponent += 8;
        const float value = std::ldexp(mantissa, exponent);
        word = std::bit_cast<uint32_t>(random() % 2 != 0 ? value : -value);
    }
    const std::array<float, 8> special{0.0f, -0.0f, 1.0f, 448.0f, 464.0f, 500.0f, -1e30f, 65520.0f};
    for (size_t i = 0; i < special.size(); ++i) memory.a[i * 5] = std::bit_cast<uint32_t>(special[i]);
    return memory;
}

/// Moderate floats, for functions that are approximations.
Memory moderate_floats(uint32_t seed) {
    Memory memory(4096, seed);
    for (uint32_t& word : memory.a) {
        const float value = static_cast<float>(word % 4001) / 250 - 8;
        word = std::bit_cast<uint32_t>(value == 0 ? 1.0f : value);
    }
    memory.d.assign(memory.d.size(), 0);
    return memory;
}

std::vector<double> functions_reference(const Memory& memory, uint32_t workgroups) {
    std::vector<double> reference(memory.d.size(), 0.0);
    for (size_t i = 0; i < size_t{64} * workgroups; ++i) {
        const double x = std::bit_cast<float>(memory.a[i]);
        reference[4 * i] = std::exp2(x);
        reference[4 * i + 1] = 1 / x;
        reference[4 * i + 2] = 1 / std::sqrt(x * x + 0.25);
        reference[4 * i + 3] = x * x - 1.5;
    }
    return reference;
}

int write_problems(const char* path) {
    ProblemWriter writer(path);
    add(writer, "direct loads to LDS, halo lanes, three widths of reads", "conform_loads_to_lds", {1}, 0,
        Memory(8192, 1));
    add(writer, "direct loads to LDS in three workgroups", "conform_loads_to_lds", {3}, 0, Memory(24576, 2));
    add(writer, "direct loads to LDS beyond the buffer", "conform_loads_to_lds", {2}, 0, Memory(8192 + 1024, 3));
    add(writer, "LDS writes of some lanes", "conform_lds_writes", {1}, 0, Memory(4096, 4));
    add(writer, "LDS writes in two workgroups", "conform_lds_writes", {2}, 0, Memory(4096, 5));
    add(writer, "buffer loads and stores of every width", "conform_buffers", {1}, 0, Memory(4096, 6));
    for (const Element element : {Element::BF16, Element::F16, Element::F8E4M3})
        for (const uint32_t steps : {1u, 5u}) add_matrix_product(writer, element, steps, 7 + steps);
    add(writer, "conversions", "conform_conversions", {1}, 0, floats_to_convert(20));
    add(writer, "conversions in two workgroups", "conform_conversions", {2}, 0, floats_to_convert(21));
    const Memory floats = moderate_floats(22);
    add(writer, "functions, within 3 units in the last place", "conform_functions", {4}, 0, floats,
        {.element = Element::F32, .tolerance = 4e-7, .reference = functions_reference(floats, 4)});
    add(writer, "integers", "conform_integers", {1, 1, 1}, 7, Memory(32768, 23));
    add(writer, "integers in a grid of three axes", "conform_integers", {5, 3, 2}, 1000003, Memory(61440, 24));
    add(writer, "values that travel between lanes", "conform_lanes", {2}, 37, Memory(4096, 25));
    return writer.finish();
}

}  // namespace
}  // namespace kinetograph::emulator

int main(int argc, char** argv) {
    if (argc == 2) return kinetograph::emulator::write_problems(argv[1]);
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
}
