#include <kinetograph/engine/accel/vulkan/spirv.hpp>

#include <algorithm>
#include <map>

namespace kinetograph::accel::vulkan {
namespace {

constexpr std::uint32_t kMagic = 0x07230203, kHeaderWords = 5;
enum class Op : std::uint32_t {
    EntryPoint = 15,
    ExecutionMode = 16,
    Capability = 17,
    Constant = 43,
    ConstantComposite = 44,
    SpecConstant = 50,
    SpecConstantComposite = 51,
    FunctionEnd = 56,
    Decorate = 71,
    ExecutionModeId = 331,
};
constexpr std::uint32_t kGlCompute = 5, kLocalSize = 17, kLocalSizeId = 38;  // execution models and modes
constexpr std::uint32_t kSpecId = 1, kBuiltIn = 11, kWorkgroupSize = 25;     // decorations

/// What of the instructions matters, by the ids of their results.
struct Facts {
    SpirvKernel kernel;
    std::size_t entry_points = 0;
    std::map<std::uint32_t, std::uint32_t> constants, spec_ids;
    std::map<std::uint32_t, std::array<std::uint32_t, 3>> composites;
    std::optional<std::uint32_t> workgroup_size;             ///< the composite that overrides all else
    std::optional<std::array<std::uint32_t, 3>> size_ids{};  ///< of LocalSizeId

    void read(Op op, std::span<const std::uint32_t> operands);
    void settle_size();
};

/// A literal string: bytes of words, the lowest first, up to a zero.
std::string text_of(std::span<const std::uint32_t> words) {
    std::string text;
    for (const std::uint32_t word : words)
        for (std::uint32_t shift = 0; shift < 32; shift += 8) {
            const char letter = static_cast<char>(word >> shift & 0xFFU);
            if (letter == 0) return text;
            text += letter;
        }
    return text;
}

void Facts::read(Op op, std::span<const std::uint32_t> operands) {
    const auto at = [&](std::size_t index) { return index < operands.size() ? operands[index] : 0; };
    const auto three = [&](std::size_t first) { return std::array{at(first), at(first + 1), at(first + 2)}; };
    switch (op) {
        case Op::Capability:
            kernel.capabilities.push_back(at(0));
            break;
        case Op::EntryPoint:
            if (at(0) != kGlCompute || operands.size() < 3) break;
            ++entry_points;
            kernel.entry_point = text_of(operands.subspan(2));
            break;
        case Op::ExecutionMode:
            if (at(1) == kLocalSize) kernel.local_size = three(2);
            break;
        case Op::ExecutionModeId:
            if (at(1) == kLocalSizeId) size_ids = three(2);
            break;
        case Op::Decorate:
            if (at(1) == kSpecId) spec_ids[at(0)] = at(2);
            if (at(1) == kBuiltIn && at(2) == kWorkgroupSize) workgroup_size = at(0);
            break;
        case Op::Constant:
        case Op::SpecConstant:
            constants[at(1)] = at(2);
            break;
        case Op::ConstantComposite:
        case Op::SpecConstantComposite:
            composites[at(1)] = three(2);
            break;
        default:
            break;
    }
}

void Facts::settle_size() {
    if (workgroup_size && composites.contains(*workgroup_size)) size_ids = composites[*workgroup_size];
    if (!size_ids) return;
    for (std::size_t i = 0; i < size_ids->size(); ++i) {
        const std::uint32_t id = (*size_ids)[i];
        kernel.local_size[i] = constants[id];
        if (const auto found = spec_ids.find(id); found != spec_ids.end()) kernel.local_size_ids[i] = found->second;
    }
}

}  // namespace

Result<SpirvKernel> read_spirv(std::span<const std::uint32_t> words) {
    if (words.size() < kHeaderWords || words[0] != kMagic)
        return fail(ErrorCode::Corrupt, "it does not begin with SPIR-V's number {:#x}", kMagic);
    Facts facts;
    Op newest{};
    for (std::size_t at = kHeaderWords; at < words.size();) {
        const std::size_t count = words[at] >> 16U;
        if (count == 0 || count > words.size() - at)
            return fail(ErrorCode::Corrupt, "the instruction at word {} has {} of the {} words that are left", at,
                        count, words.size() - at);
        newest = static_cast<Op>(words[at] & 0xFFFFU);
        facts.read(newest, words.subspan(at + 1, count - 1));
        at += count;
    }
    if (newest != Op::FunctionEnd) return fail(ErrorCode::Corrupt, "it does not end with the end of a function");
    if (facts.entry_points != 1)
        return fail(ErrorCode::Corrupt, "it has {} entry points for compute, not one", facts.entry_points);
    facts.settle_size();
    return std::move(facts.kernel);
}

}  // namespace kinetograph::accel::vulkan
