#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/recognition.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kinetograph::vae {

namespace {

/// Tensors that only another model has, for the error about a file of the wrong kind.
struct Stranger {
    std::string_view marker;  ///< part of a key
    std::string_view name;
};

constexpr std::array<Stranger, 6> kStrangers = {
    {{"decoder.mid.attn_1.q.weight", "an image VAE (Stable Diffusion, Flux and the like)"},
     {"decoder.mid_block.attentions.0.to_q.weight", "an image VAE (Stable Diffusion, Flux and the like)"},
     {"decoder.conv_in.conv.weight", "another video VAE (HunyuanVideo, LTX or CogVideoX)"},
     {"blocks.0.self_attn.q.weight", "a Wan diffusion transformer, not a VAE"},
     {"blocks.0.attn1.to_q.weight", "a diffusion transformer, not a VAE"},
     {"encoder.block.0.layer.0.", "a T5 text encoder, not a VAE"}}};

std::optional<std::string_view> stranger_in(const formats::TensorSource& file) {
    for (const Stranger& stranger : kStrangers) {
        if (std::ranges::any_of(file.tensors(), [&](const auto& tensor) {
                return tensor.name.find(stranger.marker) != std::string::npos;
            })) {
            return stranger.name;
        }
    }
    return std::nullopt;
}

/// A naming and prefix, and how many of the family's parameters the file has under them.
struct Candidate {
    KeyScheme scheme;
    std::size_t count = 0;
};

/// One for every prefix and naming of the family that occurs in `file`.
std::vector<Candidate> count_candidates(const formats::TensorSource& file, const families::Family& family,
                                        std::span<const nn::Parameter> parameters) {
    std::unordered_map<std::string, KeyNaming> known;
    std::size_t longest = 0;
    for (const nn::Parameter& parameter : parameters) {
        for (const KeyNaming naming : {KeyNaming::Original, KeyNaming::Diffusers}) {
            const std::string key = KeyScheme{&family, naming, ""}.key(parameter.name);
            longest = std::max(longest, key.size());
            known.emplace(key, naming);
        }
    }
    std::map<std::pair<std::string, KeyNaming>, std::size_t> counts;
    std::vector<std::string_view> names;
    for (const tensor::NamedTensor& tensor : file.tensors()) names.push_back(tensor.name);
    for (const auto& [name, type] : file.unreadable()) names.push_back(name);
    for (const std::string_view name : names) {
        const std::size_t first = name.size() > longest ? name.size() - longest : 0;
        for (std::size_t start = first; start < name.size(); ++start) {
            if (start != 0 && name[start - 1] != '.') continue;
            const auto found = known.find(std::string(name.substr(start)));
            if (found != known.end()) ++counts[{std::string(name.substr(0, start)), found->second}];
        }
    }
    std::vector<Candidate> candidates;
    candidates.reserve(counts.size());
    for (const auto& [candidate, count] : counts)
        candidates.push_back({{&family, candidate.second, candidate.first}, count});
    return candidates;
}

std::vector<std::string> missing_keys(const formats::TensorSource& file, std::span<const nn::Parameter> parameters,
                                      const KeyScheme& scheme) {
    std::vector<std::string> missing;
    for (const nn::Parameter& parameter : parameters) {
        const std::string key = scheme.key(parameter.name);
        if (file.find(key) != nullptr) continue;
        const auto unreadable = file.unreadable().find(key);
        missing.push_back(tensor::quoted_name(key) + (unreadable == file.unreadable().end()
                                                          ? ""
                                                          : " (" + unreadable->second + ", which cannot be read)"));
    }
    return missing;
}

/// The model's class by the file's metadata: "AutoencoderKLWan"; empty if they have none.
std::string class_of(const formats::TensorSource& file) {
    const auto found = file.metadata().find("_class_name");
    return found == file.metadata().end() ? "" : found->second;
}

Error not_ours(const formats::TensorSource& file, std::string_view what) {
    return {ErrorCode::InvalidArgument,
            fmt::format("{}: this is {}; `kinetograph families` lists what can be decoded", file.name(), what)};
}

/// Whether the latents have as many channels as those of the family's published checkpoint: what distinguishes families
/// that share their names.
bool has_width(const formats::TensorSource& file, const KeyScheme& scheme) {
    const families::WidthIn& width = scheme.family->z_dim;
    const tensor::TensorView* tensor = file.find(scheme.key(width.tensor));
    return tensor != nullptr && width.axis < tensor->shape.size() &&
           tensor->shape[width.axis] == scheme.family->published.z_dim;
}

/// The family's scheme under which the whole decoder is in `file`.
Result<KeyScheme> whole_decoder(const formats::TensorSource& file, const families::Family& family,
                                std::span<const Candidate> candidates, std::span<const nn::Parameter> parameters) {
    std::vector<KeyScheme> best;
    std::size_t most = 0;
    for (const Candidate& candidate : candidates) {
        if (candidate.count > most) best.clear();
        if (candidate.count >= most) best.push_back(candidate.scheme);
        most = std::max(most, candidate.count);
    }
    const std::vector<std::string> missing = missing_keys(file, parameters, best.front());
    if (!missing.empty()) {
        return fail(ErrorCode::NotFound, "{}: {} of the {} decoder's {} tensors are missing: {}", file.name(),
                    missing.size(), family.title, parameters.size(), first_ten(missing));
    }
    if (best.size() > 1) {
        return fail(ErrorCode::InvalidArgument, "{}: two whole decoders, {} and {}: which one is meant?", file.name(),
                    tensor::quoted_name(best[0].key(parameters.front().name)),
                    tensor::quoted_name(best[1].key(parameters.front().name)));
    }
    return best.front();
}

/// In lower case.
std::string file_name_of(const formats::TensorSource& file) {
    std::string name = std::filesystem::path(file.name()).filename().string();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

/// The relative of the scheme's family whose file this is, by the file's name or its width; else the scheme's family. A
/// class does not tell them apart: relatives without one of their own are saved under that of the family.
const families::Family& relative_in(const formats::TensorSource& file, const KeyScheme& scheme) {
    const families::Family& own = *scheme.family;
    const tensor::Shape& shape = file.find(scheme.key(own.dim.tensor))->shape;
    const std::int64_t dim = own.dim.axis < shape.size() ? shape[own.dim.axis] : 0;
    const std::string file_name = file_name_of(file);
    const auto found = std::ranges::find_if(families::all(), [&](const families::Family& family) {
        if (family.relative_of != own.name || !family.diffusers_class.empty()) return false;
        if (!family.in_file_name.empty()) return file_name.find(family.in_file_name) != std::string::npos;
        return family.published.dim == dim && own.published.dim != dim;
    });
    return found == families::all().end() ? own : *found;
}

}  // namespace

std::string KeyScheme::key(std::string_view original) const {
    return prefix + (naming == KeyNaming::Original ? std::string(original) : family->diffusers_name(original));
}

std::string first_ten(std::span<const std::string> items) {
    constexpr std::size_t kMost = 10;
    if (items.size() <= kMost) return fmt::format("{}", fmt::join(items, ", "));
    return fmt::format("{} and {} more", fmt::join(items.first(kMost), ", "), items.size() - kMost);
}

Result<KeyScheme> recognise(const formats::TensorSource& file) {
    struct Fit {
        const families::Family* family = nullptr;
        std::vector<nn::Parameter> parameters;
        std::vector<Candidate> candidates;
        std::size_t most = 0;
        bool of_its_width = false;  ///< the latents have as many channels as the published ones
    };
    Fit best;
    const std::string said = class_of(file);
    if (!said.empty() &&
        std::ranges::find(families::all(), said, &families::Family::diffusers_class) == families::all().end()) {
        return fail(not_ours(file, "an " + said + " by its metadata"));
    }
    for (const families::Family& family : families::all()) {
        if (said.empty() ? !family.relative_of.empty() : family.diffusers_class != said) continue;
        Fit fit{&family, nn::parameters(family.decoder(family.published)), {}, 0, false};
        fit.candidates = count_candidates(file, family, fit.parameters);
        for (const Candidate& candidate : fit.candidates) {
            fit.most = std::max(fit.most, candidate.count);
            fit.of_its_width = fit.of_its_width || has_width(file, candidate.scheme);
        }
        if (std::pair(fit.most, fit.of_its_width) > std::pair(best.most, best.of_its_width)) best = std::move(fit);
    }
    if (best.most < best.parameters.size() || best.family == nullptr) {
        if (const auto stranger = stranger_in(file)) return fail(not_ours(file, *stranger));
    }
    if (best.family != nullptr) {
        KG_TRY(auto scheme, whole_decoder(file, *best.family, best.candidates, best.parameters));
        scheme.family = &relative_in(file, scheme);
        return scheme;
    }
    return fail(
        ErrorCode::NotFound,
        "{}: no tensor of any decoder is in it ({} tensor{}, the first {}); `kinetograph families` lists what can "
        "be decoded",
        file.name(), file.tensors().size(), file.tensors().size() == 1 ? "" : "s",
        file.tensors().empty() ? "absent" : tensor::quoted_name(file.tensors().front().name));
}

}  // namespace kinetograph::vae
