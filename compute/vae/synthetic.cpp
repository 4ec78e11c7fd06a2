// Synthetic tensors: every value is a hash of the tensor's name and the flat index, so that any program in any language
// makes the same checkpoint. Each floating-point operation must round once, on its own: this file is compiled with
// -ffp-contract=off, or gamma's 1 + 0.1 u would become a fused multiply-add on some machines.
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <cmath>

namespace kinetograph::vae {

namespace {

/// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
}

/// splitmix64's output function at state hash + index * golden gamma; the upper 24 bits, in [-1, 1).
float uniform(std::uint64_t hash, std::uint64_t index) {
    std::uint64_t z = hash + index * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
    return static_cast<float>(static_cast<std::int32_t>(z >> 40U)) * 0x1p-23F - 1.0F;
}

/// Values are offset + scale * u.
struct Rule {
    float scale, offset;
};

Result<Rule> rule_of(std::string_view name, const tensor::Shape& shape) {
    const std::string_view kind = name.substr(name.rfind('.') + 1);
    if (kind == "weight" && shape.size() == 1) return Rule{0.1F, 1};  // a norm's
    if (kind == "weight") {
        double fan_in = 1;
        for (std::size_t axis = 1; axis < shape.size(); ++axis) fan_in *= static_cast<double>(shape[axis]);
        return Rule{static_cast<float>(std::sqrt(3.0 / fan_in)), 0};
    }
    if (kind == "bias") return Rule{0.1F, 0};
    if (kind == "gamma") return Rule{0.1F, 1};
    if (kind == "latents") return Rule{1.7F, 0};
    return fail(ErrorCode::InvalidArgument, "synthetic tensor \"{}\": there is no rule for \"{}\"", name, kind);
}

}  // namespace

Result<std::vector<float>> synthetic_tensor(std::string_view name, const tensor::Shape& shape) {
    KG_TRY(const Rule rule, rule_of(name, shape));
    KG_TRY(const std::int64_t count, tensor::element_count(shape));
    const std::uint64_t hash = hash_of(name);
    std::vector<float> values(static_cast<std::size_t>(count));
    constexpr std::int64_t kValues = 65536;  // of a task
    for_blocks(count, kValues, [&](std::int64_t first, std::int64_t block) {
        for (std::int64_t i = first; i < first + block; ++i) {
            const float scaled = rule.scale * uniform(hash, static_cast<std::uint64_t>(i));
            values[static_cast<std::size_t>(i)] = rule.offset + scaled;  // u is never -0: adding 0 is exact
        }
    });
    return values;
}

}  // namespace kinetograph::vae
