#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <kinetograph/kernels/host_model/matrix_operand.hpp>
#include <limits>

namespace kinetograph::host_model {
namespace {

using isa::Swizzle;

uint64_t field(uint64_t bits, uint32_t first, uint32_t last) {
    return bits >> first & ((1ull << (last - first + 1)) - 1);
}

MatrixOperand common_fields(uint64_t descriptor, Swizzle swizzle) {
    return {.start = static_cast<uint32_t>(field(descriptor, 0, 13) << 4),
            .group_stride = static_cast<uint32_t>(field(descriptor, 32, 45) << 4),
            .chunk_stride = static_cast<uint32_t>(field(descriptor, 16, 29) << 4),
            .swizzle = swizzle};
}

/// Byte `byte` (0..31) of row `row` before the XOR.
uint32_t row_major(const MatrixOperand& operand, uint32_t row, uint32_t byte) {
    const uint32_t group = operand.start + row / 8 * operand.group_stride;
    if (operand.swizzle != Swizzle::None) return group + row % 8 * isa::span_bytes(operand.swizzle) + byte;
    return group + row % 8 * 16 + byte / 16 * operand.chunk_stride + byte % 16;
}

/// Offset before the XOR of element (k, row) of an MN-major operand of 16-bit elements: a swizzle span holds
/// neighbouring rows of one k, and spans are `chunk_stride` apart. PTX ISA, wgmma, MN-major canonical layouts.
uint32_t mn_major(const MatrixOperand& operand, uint32_t k, uint32_t row) {
    const uint32_t span = isa::span_bytes(operand.swizzle), elements = span / 2;
    return operand.start + row / elements * operand.chunk_stride + row % elements * 2 + k / 8 * operand.group_stride +
           k % 8 * span;
}

std::optional<std::string> broken_mn_operand(const MatrixOperand& operand, uint32_t rows) {
    const uint32_t span = isa::span_bytes(operand.swizzle), group = 8 * span;
    if (operand.swizzle == Swizzle::None) return "operands in rows of M or N are modelled with a swizzle only";
    if (operand.start % group != 0) {
        return "an operand in rows of M or N starts " + std::to_string(operand.start % group) +
               " bytes into a group of 8 rows";
    }
    if (operand.group_stride < group || operand.group_stride % group != 0) {
        return "group stride (SBO) " + std::to_string(operand.group_stride) + " is no multiple of 8 rows of " +
               std::to_string(span) + " bytes";
    }
    if (rows * 2 > span && (operand.chunk_stride < group || operand.chunk_stride % group != 0)) {
        return "chunk stride (LBO) " + std::to_string(operand.chunk_stride) + " is no multiple of 8 rows of " +
               std::to_string(span) + " bytes";
    }
    return std::nullopt;
}

float from_small_float(uint32_t bits, uint32_t exponent_bits, uint32_t mantissa_bits) {
    const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    const uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const float sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1.0f : 1.0f;
    const auto scale = static_cast<float>(1u << mantissa_bits);
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa) / scale, 1 - bias);
    return sign * std::ldexp(1.0f + static_cast<float>(mantissa) / scale, static_cast<int>(exponent) - bias);
}

}  // namespace

std::variant<MatrixOperand, std::string> decode_wgmma(uint64_t descriptor) {
    constexpr Swizzle kLayouts[] = {Swizzle::None, Swizzle::Span128, Swizzle::Span64, Swizzle::Span32};
    if (field(descriptor, 49, 51) != 0) {
        return "the descriptor's base_offset is " + std::to_string(field(descriptor, 49, 51)) +
               "; the XOR is taken from the absolute address, so it must be 0";
    }
    if (field(descriptor, 46, 48) != 0 || field(descriptor, 52, 61) != 0) {
        return std::string("the descriptor sets bits that a wgmma descriptor does not have (46-48, 52-61)");
    }
    return common_fields(descriptor, kLayouts[field(descriptor, 62, 63)]);
}

std::variant<MatrixOperand, std::string> decode_tcgen05(uint64_t descriptor) {
    if (field(descriptor, 46, 48) != 1) return std::string("bits 46-48 of the descriptor are not the constant 0b001");
    if (field(descriptor, 49, 51) != 0) {
        return "the descriptor's base_offset is " + std::to_string(field(descriptor, 49, 51)) +
               "; the XOR is taken from the absolute address, so it must be 0";
    }
    if (field(descriptor, 52, 60) != 0) return std::string("the descriptor sets reserved bits 52-60");
    switch (field(descriptor, 61, 63)) {
        case 0:
            return common_fields(descriptor, Swizzle::None);
        case 2:
            return common_fields(descriptor, Swizzle::Span128);
        case 4:
            return common_fields(descriptor, Swizzle::Span64);
        case 6:
            return common_fields(descriptor, Swizzle::Span32);
        default:
            return "layout code " + std::to_string(field(descriptor, 61, 63)) +
                   " is none of 0 (no swizzle), 2 (128B), 4 (64B), 6 (32B); wgmma's codes differ";
    }
}

MatrixOperand operand_or_fault(const std::variant<MatrixOperand, std::string>& decoded, const char* name,
                               const Who& who, const Instruction& at) {
    if (const auto* broken = std::get_if<std::string>(&decoded)) {
        Machine::lane().cta->machine.fail(who, at, std::string(name) + ": " + *broken);
    }
    return std::get<MatrixOperand>(decoded);
}

std::optional<std::string> broken_operand(const MatrixOperand& operand, uint32_t rows) {
    if (operand.major == isa::Major::MN) return broken_mn_operand(operand, rows);
    const uint32_t span = isa::span_bytes(operand.swizzle);
    if (operand.swizzle == Swizzle::None) {
        if (rows > 8 && operand.group_stride < 128) {
            return "group stride (SBO) " + std::to_string(operand.group_stride) +
                   " is less than a core matrix of 128 bytes";
        }
        if (operand.chunk_stride < 128) {
            return "chunk stride (LBO) " + std::to_string(operand.chunk_stride) +
                   " is less than a core matrix of 128 bytes";
        }
        return std::nullopt;
    }
    if (operand.start % span + kStepBytes > span) {
        return "a k step that starts at byte " + std::to_string(operand.start % span) + " of a row of " +
               std::to_string(span) + " bytes runs over its end";
    }
    if (rows > 8 && operand.group_stride < 8 * span) {
        return "group stride (SBO) " + std::to_string(operand.group_stride) + " makes groups of 8 rows of " +
               std::to_string(span) + " bytes overlap";
    }
    if (operand.group_stride % span != 0) {
        return "group stride (SBO) " + std::to_string(operand.group_stride) + " is no multiple of the row of " +
               std::to_string(span) + " bytes";
    }
    return std::nullopt;
}

std::vector<std::pair<uint32_t, uint32_t>> operand_ranges(const MatrixOperand& operand, uint32_t rows) {
    std::vector<std::pair<uint32_t, uint32_t>> ranges;
    const auto add = [&ranges](uint32_t begin, uint32_t bytes) {
        if (!ranges.empty() && ranges.back().second == begin) {
            ranges.back().second += bytes;
        } else {
            ranges.emplace_back(begin, begin + bytes);
        }
    };
    const uint32_t span = isa::span_bytes(operand.swizzle);
    if (operand.major == isa::Major::MN) {
        for (uint32_t first = 0; first < rows; first += span / 2) {
            for (uint32_t k = 0; k < kStepBytes / 2; k += 8) add(mn_major(operand, k, first) - kSharedBase, 8 * span);
        }
        return ranges;
    }
    for (uint32_t group = 0; group < rows / 8; ++group) {
        const uint32_t start = operand.start + group * operand.group_stride - kSharedBase;
        if (operand.swizzle != Swizzle::None) {
            add(start / span * span, 8 * span);
        } else {
            add(start, 128);
            add(start + operand.chunk_stride, 128);
        }
    }
    return ranges;
}

std::vector<AccessPtr> track_operand(Cta& cta, const MatrixOperand& operand, uint32_t rows, const Who& who,
                                     const Instruction& at, const void* stream) {
    if (const auto broken = broken_operand(operand, rows)) cta.machine.fail(who, at, *broken);
    std::vector<AccessPtr> reads;
    const auto expected = static_cast<uint8_t>(kSwizzledBase + static_cast<uint8_t>(operand.swizzle));
    for (const auto& [begin, end] : operand_ranges(operand, rows)) {
        if (operand.start < kSharedBase || end > cta.bytes) {
            cta.machine.fail(who, at,
                             "the operand at address " + std::to_string(operand.start) + " reaches to shared+" +
                                 std::to_string(end) + ", outside the CTA's " + std::to_string(cta.bytes) + " bytes");
        }
        reads.push_back(track({.cta = &cta, .begin = begin, .end = end, .who = who, .at = at, .stream = stream}));
        check_async_read(cta, begin, end, who, at);
        for (uint32_t granule = begin / 16; granule < end / 16; ++granule) {
            const uint8_t layout = cta.layout[granule];
            if (layout == kPlain || layout == expected) continue;
            const auto written = static_cast<Swizzle>(layout - kSwizzledBase);
            cta.machine.fail(who, at,
                             "the descriptor says swizzle " + std::to_string(isa::span_bytes(operand.swizzle)) +
                                 ", shared+" + std::to_string(granule * 16) + " was written by TMA with swizzle " +
                                 std::to_string(isa::span_bytes(written)) + " (16 means none)");
        }
    }
    return reads;
}

float to_float(Format format, uint32_t bits) {
    switch (format) {
        case Format::BFloat16:
            return std::bit_cast<float>(bits << 16);
        case Format::Float16:
            if ((bits & 0x7c00u) == 0x7c00u) {
                const float special = (bits & 0x3ffu) != 0 ? std::numeric_limits<float>::quiet_NaN()
                                                           : std::numeric_limits<float>::infinity();
                return (bits & 0x8000u) != 0 ? -special : special;
            }
            return from_small_float(bits, 5, 10);
        case Format::E4M3:  // no infinities; only all ones is NaN
            return (bits & 0x7fu) == 0x7fu ? std::numeric_limits<float>::quiet_NaN() : from_small_float(bits, 4, 3);
        case Format::E5M2:
            return to_float(Format::Float16, bits << 8);
        case Format::U8:
            return static_cast<float>(bits);
        case Format::I8:
            return static_cast<float>(static_cast<int8_t>(bits));
    }
    return 0.0f;
}

std::vector<float> read_operand(const Cta& cta, const MatrixOperand& operand, uint32_t rows, Format format) {
    const uint32_t size = format == Format::Float16 || format == Format::BFloat16 ? 2 : 1;
    const uint32_t steps = kStepBytes / size;
    std::vector<float> values(static_cast<size_t>(steps) * rows);
    if (operand.major == isa::Major::MN) {
        for (uint32_t i = 0; i < steps * rows; ++i) {
            uint16_t bits = 0;
            const uint32_t place = isa::swizzled(operand.swizzle, mn_major(operand, i / rows, i % rows)) - kSharedBase;
            std::memcpy(&bits, cta.memory + place, sizeof(bits));
            values[i] = to_float(format, bits);
        }
        return values;
    }
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t byte = 0; byte < kStepBytes; byte += 16) {
            uint8_t chunk[16];
            const uint32_t place = isa::swizzled(operand.swizzle, row_major(operand, row, byte)) - kSharedBase;
            std::memcpy(chunk, cta.memory + place, sizeof(chunk));
            for (uint32_t i = 0; i < 16; i += size) {
                const uint32_t bits = size == 2 ? chunk[i] | static_cast<uint32_t>(chunk[i + 1]) << 8 : chunk[i];
                values[(byte + i) / size * rows + row] = to_float(format, bits);
            }
        }
    }
    return values;
}

template <class Sum>
void multiply(Sum* d, size_t pitch, const std::vector<float>& a, const std::vector<float>& b, uint32_t m, uint32_t n,
              bool accumulate) {
    const auto steps = static_cast<uint32_t>(a.size() / m);
    for (uint32_t row = 0; row < m; ++row) {
        Sum* sums = d + row * pitch;
        if (!accumulate) std::fill(sums, sums + n, Sum{});
        for (uint32_t k = 0; k < steps; ++k) {
            const auto left = static_cast<Sum>(a[static_cast<size_t>(k) * m + row]);
            const float* right = b.data() + static_cast<size_t>(k) * n;
            for (uint32_t column = 0; column < n; ++column) sums[column] += left * static_cast<Sum>(right[column]);
        }
    }
}
template void multiply(float*, size_t, const std::vector<float>&, const std::vector<float>&, uint32_t, uint32_t, bool);
template void multiply(int32_t*, size_t, const std::vector<float>&, const std::vector<float>&, uint32_t, uint32_t,
                       bool);

}  // namespace kinetograph::host_model
