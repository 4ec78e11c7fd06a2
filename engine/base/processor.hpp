// The instructions that this process uses of its processor. KINETOGRAPH_CPU allows fewer than there are, so that any
// machine can test what a lesser one does.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace kinetograph {

/// Sets of instructions that loops are compiled for; each contains those before it.
enum class InstructionSet : std::uint8_t {
    Baseline,    ///< what every processor of the architecture has
    Avx2,        ///< AVX2, FMA, BMI1 and BMI2
    Avx512,      ///< AVX-512 F, BW, CD, DQ and VL
    Avx512Bf16,  ///< AVX512_BF16
    Amx,         ///< AMX's tiles, of bf16 and int8, enabled by the system; only oneDNN generates them
};
/// As KINETOGRAPH_CPU spells it: "baseline", "avx2", "avx512", "avx512_bf16", "amx".
std::string_view to_string(InstructionSet set);

struct Processor {
    InstructionSet has = InstructionSet::Baseline;   ///< the largest set
    std::optional<InstructionSet> cap = {};          ///< KINETOGRAPH_CPU
    InstructionSet uses = InstructionSet::Baseline;  ///< the smaller of both
    std::string features = {};  ///< that are used: "avx2 avx_vnni avx512f avx512_vnni avx512_bf16 amx_tile ..."
    std::string unused = {};    ///< that the cap leaves out
    std::string lacking = {};   ///< that the processor, or the system for it, does not have
    std::int64_t cache_bytes = 1 << 20;  ///< of a core's second-level cache; 1 MiB if the system does not tell
};

/// The processor if `cap` is KINETOGRAPH_CPU's value; empty: no cap. Errors: InvalidArgument (no set is called so; the
/// sentence lists those that there are).
Result<Processor> inspect_processor(std::string_view cap);

/// The processor of this process, inspected once, without a cap if the variable's value is none.
const Processor& processor();
/// Errors: InvalidArgument, if KINETOGRAPH_CPU has been set to what is no instruction set.
Result<void> check_processor_cap();

}  // namespace kinetograph
