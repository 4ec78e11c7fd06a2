#include <kinetograph/engine/base/processor.hpp>

#include <fmt/ranges.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>

namespace kinetograph {
namespace {

constexpr std::array<std::string_view, 5> kNames{"baseline", "avx2", "avx512", "avx512_bf16", "amx"};
constexpr const char* kVariable = "KINETOGRAPH_CPU";

struct Feature {
    std::string_view name;
    bool present = false;
    InstructionSet within = InstructionSet::Baseline;  ///< the set that permits its use
};

struct Found {
    InstructionSet has = InstructionSet::Baseline;
    std::array<Feature, 8> features;
};

#if defined(__x86_64__)
/// What the compilers' __builtin_cpu_supports() does not know. Source: Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 2A, CPUID, leaf 7; volume 1, 13.3 (XCR0: 17 and 18 are the tiles' state).
struct Leaf7 {
    bool avx_vnni = false, amx_tile = false, amx_bf16 = false, amx_int8 = false;
};

Leaf7 read_leaf7() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0) return {};
    unsigned enabled = 0, high = 0;
    __asm__("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    constexpr unsigned kTileState = 3U << 17U;
    Leaf7 found;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return found;
    const unsigned subleaves = eax;
    if ((enabled & kTileState) == kTileState) {
        found.amx_bf16 = (edx >> 22U & 1U) != 0;
        found.amx_tile = (edx >> 24U & 1U) != 0;
        found.amx_int8 = (edx >> 25U & 1U) != 0;
    }
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) found.avx_vnni = (eax >> 4U & 1U) != 0;
    return found;
}
#endif

Found find_instructions() {
    Found found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
    const Leaf7 leaf = read_leaf7();
    const bool amx = bf16 && leaf.amx_tile && leaf.amx_bf16 && leaf.amx_int8;
    found.has = amx      ? InstructionSet::Amx
                : bf16   ? InstructionSet::Avx512Bf16
                : avx512 ? InstructionSet::Avx512
                : avx2   ? InstructionSet::Avx2
                         : InstructionSet::Baseline;
    found.features = {{{"avx2", avx2, InstructionSet::Avx2},
                       {"avx_vnni", avx2 && leaf.avx_vnni, InstructionSet::Avx2},
                       {"avx512f", avx512, InstructionSet::Avx512},
                       {"avx512_vnni", vnni, InstructionSet::Avx512},
                       {"avx512_bf16", bf16, InstructionSet::Avx512Bf16},
                       {"amx_tile", amx, InstructionSet::Amx},
                       {"amx_bf16", amx, InstructionSet::Amx},
                       {"amx_int8", amx, InstructionSet::Amx}}};
#endif
    return found;
}

Result<InstructionSet> instruction_set(std::string_view name) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end())
        return fail(ErrorCode::InvalidArgument, "\"{}\" is no set of instructions; there are {}", name,
                    fmt::join(kNames, ", "));
    return static_cast<InstructionSet>(found - kNames.begin());
}

std::string_view cap_of_environment() {
    const char* value = std::getenv(kVariable);
    return value == nullptr ? "" : value;
}

const Result<Processor>& inspected() {
    static const Result<Processor> result = inspect_processor(cap_of_environment());
    return result;
}

}  // namespace

std::string_view to_string(InstructionSet set) { return kNames[static_cast<std::size_t>(set)]; }

Result<Processor> inspect_processor(std::string_view cap) {
    const Found found = find_instructions();
    Processor result{.has = found.has, .uses = found.has};
    if (const std::int64_t bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) result.cache_bytes = bytes;
    if (!cap.empty()) {
        KG_TRY(result.cap, instruction_set(cap));
        result.uses = std::min(found.has, *result.cap);
    }
    for (const Feature& feature : found.features) {
        std::string& list = !feature.present                ? result.lacking
                            : feature.within <= result.uses ? result.features
                                                            : result.unused;
        list.append(list.empty() ? "" : " ").append(feature.name);
    }
    return result;
}

const Processor& processor() {
    static const Processor result = inspected() ? *inspected() : *inspect_processor("");
    return result;
}

Result<void> check_processor_cap() {
    if (!inspected()) return fail(inspected().error(), kVariable);
    return {};
}

}  // namespace kinetograph
