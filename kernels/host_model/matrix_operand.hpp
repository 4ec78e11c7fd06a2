#pragma once

#include <kinetograph/kernels/host_model/machine.hpp>
#include <kinetograph/kernels/isa/descriptors.hpp>
#include <variant>
#include <vector>

/// Operands of wgmma and tcgen05.mma in shared memory: the decoded descriptor, the bytes it covers, their values.
namespace kinetograph::host_model {

/// A decoded descriptor, and how the instruction reads it: K-major, where a row holds 32 bytes of K (one k step), or
/// MN-major, where each of the step's 16 k holds neighbouring rows.
struct MatrixOperand {
    uint32_t start;         ///< shared-memory address of row 0, k 0
    uint32_t group_stride;  ///< SBO, bytes
    uint32_t chunk_stride;  ///< LBO, bytes; read only without swizzle or if MN-major
    isa::Swizzle swizzle;
    isa::Major major = isa::Major::K;
};

inline constexpr uint32_t kStepBytes = 32;  ///< of K in one product: 16 elements of 16 bits or 32 of 8

/// The operand, or a sentence that says what is wrong with the descriptor.
std::variant<MatrixOperand, std::string> decode_wgmma(uint64_t descriptor);
std::variant<MatrixOperand, std::string> decode_tcgen05(uint64_t descriptor);

/// The operand; stops the run, naming the operand ("A", "B"), if the descriptor is wrong.
MatrixOperand operand_or_fault(const std::variant<MatrixOperand, std::string>& decoded, const char* name,
                               const Who& who, const Instruction& at);

/// What is wrong with an operand of `rows` rows (of M or N, whatever its major): a step past the row's end, overlapping
/// groups of rows, misalignment.
std::optional<std::string> broken_operand(const MatrixOperand& operand, uint32_t rows);

/// Shared-memory offsets of the operand's groups of 8 rows, as half-open ranges; adjacent groups are joined.
std::vector<std::pair<uint32_t, uint32_t>> operand_ranges(const MatrixOperand& operand, uint32_t rows);

/// Stops the run unless the operand is inside the CTA's memory, was written with its swizzle and is visible to the
/// async proxy. Then records its ranges as asynchronous reads.
std::vector<AccessPtr> track_operand(Cta& cta, const MatrixOperand& operand, uint32_t rows, const Who& who,
                                     const Instruction& at, const void* stream);

/// Element formats whose bits read_operand turns into values.
enum class Format : uint8_t { Float16, BFloat16, E4M3, E5M2, U8, I8 };
float to_float(Format format, uint32_t bits);

/// The operand's values, [k][rows]: k-major so that the product's inner loop runs over rows.
std::vector<float> read_operand(const Cta& cta, const MatrixOperand& operand, uint32_t rows, Format format);

/// d[m][n] (+)= sum over k of a[k][m] * b[k][n]; row m of D is at d + m * pitch.
/// Sum: float, or int32_t of values that are integers.
template <class Sum>
void multiply(Sum* d, size_t pitch, const std::vector<float>& a, const std::vector<float>& b, uint32_t m, uint32_t n,
              bool accumulate);

}  // namespace kinetograph::host_model
