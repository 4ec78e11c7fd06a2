// Sums: which summation methods convolutions may take.
#pragma once

#include <cstdint>

namespace kinetograph::conv {

/// Which summation methods dispatch may choose.
enum class Sums : std::uint8_t {
    Exact,  ///< products of the operands as given, summed in float32 and rounded once; the bits of a frame do not
            ///< depend on how many frames a call computes
    Fast,   ///< also Winograd's, whose error is about a quarter larger (Rounding::Operands)
    Int8,   ///< exact; a model's byte layers (nn::ByteLayer) multiply 8-bit integers
};

}  // namespace kinetograph::conv
