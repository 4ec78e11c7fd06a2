#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/key_naming.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kinetograph::vae {

namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

constexpr std::array<Renaming, 8> kModules = {{{"conv2.", "post_quant_conv."},
                                               {"decoder.conv1.", "decoder.conv_in."},
                                               {"decoder.middle.0.", "decoder.mid_block.resnets.0."},
                                               {"decoder.middle.1.", "decoder.mid_block.attentions.0."},
                                               {"decoder.middle.2.", "decoder.mid_block.resnets.1."},
                                               {"decoder.head.0.", "decoder.norm_out."},
                                               {"decoder.head.2.", "decoder.conv_out."},
                                               {"decoder.upsamples.", "decoder.up_blocks."}}};

constexpr std::array<Renaming, 5> kInResidualBlock = {{{"residual.0.", "norm1."},
                                                       {"residual.2.", "conv1."},
                                                       {"residual.3.", "norm2."},
                                                       {"residual.6.", "conv2."},
                                                       {"shortcut.", "conv_shortcut."}}};

/// `text` with the first prefix of `renamings` that it starts with replaced.
template <std::size_t N>
std::string renamed(std::string_view text, const std::array<Renaming, N>& renamings) {
    for (const auto& [from, to] : renamings) {
        if (text.starts_with(from)) return std::string(to).append(text.substr(from.size()));
    }
    return std::string(text);
}

/// Tensors that only another model has: how a person who picked the wrong file finds out.
struct Family {
    std::string_view marker;  ///< part of a key
    std::string_view name;
};

constexpr std::array<Family, 9> kOtherFamilies = {
    {{"decoder.upsamples.0.upsamples.0.", "a Wan 2.2 VAE (z_dim 48, nested up blocks)"},
     {"decoder.up_blocks.0.upsampler.", "a Wan 2.2 VAE (z_dim 48, nested up blocks)"},
     {"decoder.7.conv.weight", "a TAEHV VAE (TAEW2.1, TAEHV and the like)"},
     {"decoder.mid.attn_1.q.weight", "an image VAE (Stable Diffusion, Flux and the like)"},
     {"decoder.mid_block.attentions.0.to_q.weight", "an image VAE (Stable Diffusion, Flux and the like)"},
     {"decoder.conv_in.conv.weight", "another video VAE (HunyuanVideo, LTX or CogVideoX)"},
     {"blocks.0.self_attn.q.weight", "a Wan diffusion transformer, not a VAE"},
     {"blocks.0.attn1.to_q.weight", "a diffusion transformer, not a VAE"},
     {"encoder.block.0.layer.0.", "a T5 text encoder, not a VAE"}}};

std::optional<std::string_view> other_family(const tensor::SafetensorsFile& file) {
    for (const Family& family : kOtherFamilies) {
        if (std::ranges::any_of(file.tensors(), [&](const auto& tensor) {
                return tensor.name.find(family.marker) != std::string::npos;
            })) {
            return family.name;
        }
    }
    return std::nullopt;
}

using Candidates = std::map<std::pair<std::string, KeyNaming>, std::size_t>;

/// For every prefix and naming that occurs in `file`: how many of `parameters` it names.
Candidates count_candidates(const tensor::SafetensorsFile& file, std::span<const Parameter> parameters) {
    std::unordered_map<std::string, KeyNaming> known;
    std::size_t longest = 0;
    for (const Parameter& parameter : parameters) {
        for (const KeyNaming naming : {KeyNaming::Original, KeyNaming::Diffusers}) {
            const std::string key = KeyScheme{naming, ""}.key(parameter.name);
            longest = std::max(longest, key.size());
            known.emplace(key, naming);
        }
    }
    Candidates candidates;
    for (const tensor::NamedTensor& tensor : file.tensors()) {
        const std::string& name = tensor.name;
        const std::size_t first = name.size() > longest ? name.size() - longest : 0;
        for (std::size_t start = first; start < name.size(); ++start) {
            if (start != 0 && name[start - 1] != '.') continue;
            const auto found = known.find(name.substr(start));
            if (found != known.end()) ++candidates[{name.substr(0, start), found->second}];
        }
    }
    return candidates;
}

std::vector<std::string> missing_keys(const tensor::SafetensorsFile& file, std::span<const Parameter> parameters,
                                      const KeyScheme& scheme) {
    std::vector<std::string> missing;
    for (const Parameter& parameter : parameters) {
        const std::string key = scheme.key(parameter.name);
        if (file.find(key) == nullptr) missing.push_back(tensor::quoted_name(key));
    }
    return missing;
}

}  // namespace

std::string diffusers_name(std::string_view original) {
    constexpr std::string_view kUpsamples = "decoder.upsamples.";
    if (!original.starts_with(kUpsamples)) {
        const std::size_t leaf =
            original.starts_with("decoder.middle.") ? std::string_view("decoder.middle.0.").size() : 0;
        if (leaf == 0) return renamed(original, kModules);
        return renamed(original.substr(0, leaf), kModules) + renamed(original.substr(leaf), kInResidualBlock);
    }
    // The original counts blocks of all stages in one row, three residual blocks and an upsampler to a stage.
    int index = 0;
    const char* digits = original.data() + kUpsamples.size();
    const char* dot = std::from_chars(digits, original.data() + original.size(), index).ptr;
    const std::string_view leaf = original.substr(static_cast<std::size_t>(dot + 1 - original.data()));
    const int block = index / 4;
    const int position = index % 4;
    if (position == 3) return fmt::format("decoder.up_blocks.{}.upsamplers.0.{}", block, leaf);
    return fmt::format("decoder.up_blocks.{}.resnets.{}.{}", block, position, renamed(leaf, kInResidualBlock));
}

std::string KeyScheme::key(std::string_view original) const {
    return prefix + (naming == KeyNaming::Original ? std::string(original) : diffusers_name(original));
}

std::string first_ten(std::span<const std::string> items) {
    constexpr std::size_t kMost = 10;
    if (items.size() <= kMost) return fmt::format("{}", fmt::join(items, ", "));
    return fmt::format("{} and {} more", fmt::join(items.first(kMost), ", "), items.size() - kMost);
}

Result<KeyScheme> find_key_scheme(const tensor::SafetensorsFile& file, std::span<const Parameter> parameters) {
    const Candidates candidates = count_candidates(file, parameters);
    std::vector<KeyScheme> best;
    std::size_t most = 0;
    for (const auto& [candidate, count] : candidates) {
        if (count > most) best.clear();
        if (count >= most) best.push_back({.naming = candidate.second, .prefix = candidate.first});
        most = std::max(most, count);
    }
    if (most < parameters.size()) {
        if (const auto family = other_family(file)) {
            return fail(ErrorCode::InvalidArgument, "{}: this is {}; a Wan 2.1 VAE is wanted", file.name(), *family);
        }
    }
    if (best.empty()) {
        return fail(ErrorCode::NotFound,
                    "{}: none of the Wan 2.1 decoder's {} tensors is in it ({} tensors, the first {})", file.name(),
                    parameters.size(), file.tensors().size(),
                    file.tensors().empty() ? "absent" : tensor::quoted_name(file.tensors().front().name));
    }
    const std::vector<std::string> missing = missing_keys(file, parameters, best.front());
    if (!missing.empty()) {
        return fail(ErrorCode::NotFound, "{}: {} of the Wan 2.1 decoder's {} tensors are missing: {}", file.name(),
                    missing.size(), parameters.size(), first_ten(missing));
    }
    if (best.size() > 1) {
        return fail(ErrorCode::InvalidArgument, "{}: two whole decoders, {} and {}: which one is meant?", file.name(),
                    tensor::quoted_name(best[0].key(parameters.front().name)),
                    tensor::quoted_name(best[1].key(parameters.front().name)));
    }
    return best.front();
}

}  // namespace kinetograph::vae
