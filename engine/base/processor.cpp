#include <kinetograph/engine/base/processor.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace kinetograph {
namespace {

constexpr std::array<std::string_view, 4> kNames{"baseline", "avx2", "avx512", "avx512_bf16"};
constexpr const char* kVariable = "KINETOGRAPH_CPU";

struct Feature {
    std::string_view name;
    bool present = false;
    InstructionSet within = InstructionSet::Baseline;  ///< the set that permits its use
};

struct Found {
    InstructionSet has = InstructionSet::Baseline;
    std::array<Feature, 4> features;
};

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
    found.has = bf16     ? InstructionSet::Avx512Bf16
                : avx512 ? InstructionSet::Avx512
                : avx2   ? InstructionSet::Avx2
                         : InstructionSet::Baseline;
    found.features = {{{"avx2", avx2, InstructionSet::Avx2},
                       {"avx512f", avx512, InstructionSet::Avx512},
                       {"avx512_vnni", vnni, InstructionSet::Avx512},
                       {"avx512_bf16", bf16, InstructionSet::Avx512Bf16}}};
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
    if (!cap.empty()) {
        KG_TRY(result.cap, instruction_set(cap));
        result.uses = std::min(found.has, *result.cap);
    }
    for (const Feature& feature : found.features) {
        if (!feature.present) continue;
        std::string& list = feature.within <= result.uses ? result.features : result.unused;
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
