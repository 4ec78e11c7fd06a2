#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/latent_statistics.hpp>
#include <kinetograph/compute/vae/recognition.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace kinetograph::vae {

namespace {

/// Tensors that only another model has, for the error about a file of the wrong kind.
struct Stranger {
    std::string_view marker;  ///< part of a key
    std::string_view name;
};

constexpr std::array<Stranger, 9> kStrangers = {
    {{"decoder.conv_in.conv.weight", "another video VAE (HunyuanVideo, LTX or CogVideoX)"},
     {"decoder.conv_in.conv_s.weight", "another video VAE (Cosmos)"},
     {"decoder.temp_conv_in.weight", "another video VAE (Allegro)"},
     {"decoder.time_conv_out.weight", "another video VAE (Stable Video Diffusion)"},
     {"decoder.mid.attn_1.q.weight", "an image VAE of other stages than those of Stable Diffusion and FLUX.1"},
     {"decoder.mid_block.attentions.0.to_q.weight",
      "an image VAE of other stages than those of Stable Diffusion and FLUX.1"},
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

bool is_vowel(std::string_view name) { return name.find_first_of("AEIOU") == 0; }

/// Whether the latents have as many channels as those of the family's published checkpoint: what distinguishes families
/// that share their names.
bool has_width(const formats::TensorSource& file, const KeyScheme& scheme) {
    const families::WidthIn& width = scheme.family->z_dim;
    const tensor::TensorView* tensor = file.find(scheme.key(width.tensor));
    return tensor != nullptr && width.axis < tensor->shape.size() &&
           tensor->shape[width.axis] == scheme.family->published.z_dim;
}

std::string without_dot(const std::string& prefix) {
    return prefix.ends_with('.') ? prefix.substr(0, prefix.size() - 1) : prefix;
}

/// "conv2.weight" and "ema.conv2.weight", quoted: `parameter` under each of the schemes.
std::string begins_of(std::span<const KeyScheme> schemes, const std::string& parameter) {
    std::vector<std::string> keys;
    for (const KeyScheme& scheme : schemes) keys.push_back(tensor::quoted_name(scheme.key(parameter)));
    return fmt::format("{}", fmt::join(keys, " and "));
}

/// Those of the candidates with the most parameters.
std::vector<KeyScheme> best_of(std::span<const Candidate> candidates) {
    std::vector<KeyScheme> best;
    std::size_t most = 0;
    for (const Candidate& candidate : candidates) {
        if (candidate.count > most) best.clear();
        if (candidate.count >= most) best.push_back(candidate.scheme);
        most = std::max(most, candidate.count);
    }
    return best;
}

/// Sets the width that a tensor's shape tells; leaves it if the file lacks the tensor. Shapes are checked as a whole
/// once the widths are known.
Result<void> read_width(const formats::TensorSource& file, const KeyScheme& scheme, const families::WidthIn& in,
                        std::int64_t& width) {
    const std::string key = scheme.key(in.tensor);
    const tensor::TensorView* tensor = file.find(key);
    if (tensor == nullptr) return {};
    const tensor::Shape& shape = tensor->shape;
    if (in.axis >= shape.size() || shape[in.axis] < 1 || shape[in.axis] > kLargestDim)
        return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" has shape {}: no decoder has that", file.name(), key,
                    tensor::to_string(shape));
    width = shape[in.axis];
    return {};
}

std::vector<nn::Parameter> parameters_of(const families::Family& family, const families::Widths& widths) {
    return nn::parameters(family.decoder(widths));
}

/// How many of the parameters the file has in their shape.
std::ptrdiff_t count_fitting(const formats::TensorSource& file, const KeyScheme& scheme,
                             const std::vector<nn::Parameter>& parameters) {
    return std::ranges::count_if(parameters, [&](const nn::Parameter& parameter) {
        const tensor::TensorView* tensor = file.find(scheme.key(parameter.name));
        return tensor != nullptr && is_of_shape(tensor->shape, parameter.shape);
    });
}

/// Whether the file has the convolution `key` of 1x1; not of a family without one.
bool has_quantiser(const formats::TensorSource& file, const KeyScheme& scheme, const std::string& key) {
    return !key.empty() && file.find(scheme.key(key + ".weight")) != nullptr;
}

/// The widths, the last layer, the first one and whether filters have a time axis, by the file's shapes.
Result<families::Widths> widths_in(const formats::TensorSource& file, const KeyScheme& scheme) {
    const families::Family& family = *scheme.family;
    families::Widths widths = family.published;
    KG_CHECK(read_width(file, scheme, family.dim, widths.dim));
    KG_CHECK(read_width(file, scheme, family.z_dim, widths.z_dim));
    const std::string end = family.end + ".weight";
    const std::vector<nn::Parameter> published = parameters_of(family, family.published);
    const std::int64_t own = std::ranges::find(published, end, &nn::Parameter::name)->shape.front();
    std::int64_t rows = own;
    KG_CHECK(read_width(file, scheme, {end, 0}, rows));
    if (rows != own && families::end_of(rows, own)) widths.end = rows;
    widths.quantiser = has_quantiser(file, scheme, family.quantiser);
    families::Widths of_pictures = widths;
    of_pictures.pictures = family.is_causal;
    const auto fitting = [&](const families::Widths& each) {
        return count_fitting(file, scheme, parameters_of(family, each));
    };
    return fitting(of_pictures) > fitting(widths) ? of_pictures : widths;
}

/// "; in their place there are ...": tensors of a decoder of that prefix that are none of the family's. Empty if there
/// are none.
std::string strangers_beside(const formats::TensorSource& file, const KeyScheme& scheme,
                             std::span<const nn::Parameter> parameters) {
    std::unordered_set<std::string> known;
    for (const nn::Parameter& parameter : parameters) known.insert(scheme.key(parameter.name));
    std::vector<std::string> others;
    for (const tensor::NamedTensor& tensor : file.tensors())
        if (tensor.name.starts_with(scheme.prefix + "decoder.") && !known.contains(tensor.name))
            others.push_back(tensor::quoted_name(tensor.name) + " " + tensor::to_string(tensor.view.shape));
    return others.empty() ? "" : "; in their place there are " + tensor::first_ten(others);
}

/// The family's scheme under which the whole decoder is in `file`.
Result<Recognised> whole_decoder(const formats::TensorSource& file, std::span<const Candidate> candidates) {
    const std::vector<KeyScheme> best = best_of(candidates);
    Recognised recognised{best.front(), {}};
    KG_TRY(recognised.widths, widths_in(file, best.front()));
    const families::Family& family = *best.front().family;
    const std::vector<nn::Parameter> parameters = parameters_of(family, recognised.widths);
    const std::vector<std::string> missing = missing_keys(file, parameters, best.front());
    if (!missing.empty()) {
        return fail(ErrorCode::NotFound, "{}: {} of the {} decoder's {} tensors are missing: {}{}", file.name(),
                    missing.size(), family.title, parameters.size(), tensor::first_ten(missing),
                    strangers_beside(file, best.front(), parameters));
    }
    if (best.size() > 1) {
        std::vector<std::string> names;
        names.reserve(best.size());
        for (const KeyScheme& scheme : best) names.push_back(file.name() + ":" + without_dot(scheme.prefix));
        return fail(ErrorCode::InvalidArgument, "{}: {} whole decoders, {}: --weights {} takes one of them",
                    file.name(), best.size() == 2 ? "two" : std::to_string(best.size()),
                    begins_of(best, parameters.front().name), fmt::join(names, " or "));
    }
    return recognised;
}

/// In lower case, without '_' and '-'; of a file that has the name of all of diffusers', its folder's.
std::string file_name_of(const formats::TensorSource& file) {
    const std::filesystem::path path(file.name());
    std::string name = path.filename().string();
    if (name.starts_with("diffusion_pytorch_model")) name = path.parent_path().filename().string();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
    return name;
}

/// The one of `own` and its relatives whose latents are scaled as the file's metadata say; null: they say nothing, or
/// nothing that tells them apart.
const families::Family* relative_by_scale(const formats::TensorSource& file, const families::Family& own) {
    if (!file.metadata().contains("scaling_factor")) return nullptr;
    const auto stated = statistics_from_metadata(file.metadata(), own.published.z_dim, file.name());
    if (!stated || stated->std.empty()) return nullptr;
    const families::Family* found = nullptr;
    for (const families::Family& family : families::all()) {
        if (&family != &own && family.relative_of != own.name) continue;
        const float theirs = family.statistics.std.front();
        if (std::abs(theirs - stated->std.front()) > 1e-3F * theirs) continue;
        if (found != nullptr) return nullptr;
        found = &family;
    }
    return found;
}

/// The relative of the scheme's family whose file this is, by the file's name or its width; else the scheme's family. A
/// class does not tell them apart: relatives without one of their own are saved under that of the family.
const families::Family& relative_in(const formats::TensorSource& file, const families::Family& own, std::int64_t dim) {
    const std::string file_name = file_name_of(file);
    const auto found = std::ranges::find_if(families::all(), [&](const families::Family& family) {
        if (family.relative_of != own.name || !family.diffusers_class.empty()) return false;
        if (!family.in_file_name.empty()) return file_name.find(family.in_file_name) != std::string::npos;
        return family.published.dim == dim && own.published.dim != dim;
    });
    return found == families::all().end() ? own : *found;
}

/// Says so if only the file's name tells `family` from others with the same tensors.
void note_guess(Recognised& recognised, const formats::TensorSource& file, const families::Family& own) {
    const families::Family& family = *recognised.scheme.family;
    std::vector<std::string> others;
    for (const families::Family& other : families::all())
        if (&other != &family && (&other == &own || (other.relative_of == own.name && !other.in_file_name.empty())))
            others.push_back(other.name);
    const bool is_guess = std::ranges::any_of(families::all(), [&](const families::Family& other) {
        return other.relative_of == own.name && !other.in_file_name.empty();
    });
    if (!is_guess) return;
    recognised.notes.push_back(
        {LogLevel::Info, fmt::format("{}: taken for {} ({}) by the file's name alone; --family {} takes the same "
                                     "tensors for another's",
                                     file.name(), family.title, family.name, fmt::join(others, " or "))});
}

void note_alpha(Recognised& recognised, const formats::TensorSource& file) {
    const families::Widths& widths = recognised.widths;
    const auto end = families::end_of(widths.end, 3);
    if (widths.end != 0 && end && widths.end != end->channels())
        recognised.notes.push_back(
            {LogLevel::Warning,
             fmt::format("{}: a decoder of four channels: red, green and blue are decoded, its alpha "
                         "is not",
                         file.name())});
}

/// The class among the families' that is `said`, or that `said` is a variant of: AutoencoderKLQwenImage of
/// AutoencoderKLQwenImage2D, but AutoencoderKL not of AutoencoderKLMochi. Empty if there is none.
std::string_view known_class(std::string_view said) {
    std::string_view best;
    for (const families::Family& family : families::all()) {
        const std::string_view known = family.diffusers_class;
        if (known.size() <= best.size() || !said.starts_with(known)) continue;
        if (said.size() == known.size() || std::isalpha(static_cast<unsigned char>(said[known.size()])) == 0)
            best = known;
    }
    return best;
}

constexpr std::array<std::string_view, 6> kWrappers{"_orig_mod", "module",      "_fsdp_wrapped_module",
                                                    "_modules",  "_parameters", "_checkpoint_wrapped_module"};

/// Names of an attention's parts before diffusers 0.17, and since.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFormerNames{
    {{"query", "to_q"}, {"key", "to_k"}, {"value", "to_v"}, {"proj_attn", "to_out.0"}}};
constexpr std::string_view kOfAttention = "mid_block.attentions.0.";

/// The convolutions beside the networks, which FLUX.2's authors have within them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kBesideNetworks{
    {{"decoder.post_quant_conv.", "post_quant_conv."}, {"encoder.quant_conv.", "quant_conv."}}};

std::string without_wrappers(std::string_view name) {
    std::string kept;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.size(), name.find('.', begin));
        const std::string_view part = name.substr(begin, end - begin);
        if (std::ranges::find(kWrappers, part) == kWrappers.end()) kept.append(kept.empty() ? "" : ".").append(part);
        begin = end + 1;
    }
    for (const auto& [within, beside] : kBesideNetworks)
        if (const std::size_t at = kept.find(within); at != std::string::npos && (at == 0 || kept[at - 1] == '.'))
            return kept.replace(at, within.size(), beside);
    const std::size_t attention = kept.find(kOfAttention);
    if (attention == std::string::npos) return kept;
    const std::size_t begin = attention + kOfAttention.size();
    for (const auto& [former, since] : kFormerNames)
        if (kept.compare(begin, former.size() + 1, std::string(former) + '.') == 0)
            return kept.replace(begin, former.size(), since);
    return kept;
}

}  // namespace

std::string KeyScheme::key(std::string_view original) const {
    return prefix + (naming == KeyNaming::Original ? std::string(original) : family->diffusers_name(original));
}

Result<families::Widths> encoder_widths(const formats::TensorSource& file, const KeyScheme& scheme,
                                        const families::Widths& widths) {
    const families::Family& family = *scheme.family;
    families::Widths own{.dim = widths.dim,
                         .z_dim = widths.z_dim,
                         .end = widths.end,
                         .quantiser = has_quantiser(file, scheme, family.encoder_quantiser)};
    KG_CHECK(read_width(file, scheme, family.encoder_dim, own.dim));
    families::Widths of_pictures = own;
    of_pictures.pictures = family.is_causal;
    const auto parameters = [&](const families::Widths& each) { return nn::parameters(family.encoder(each)); };
    const auto fitting = [&](const families::Widths& each) { return count_fitting(file, scheme, parameters(each)); };
    if (fitting(of_pictures) > fitting(own)) own = of_pictures;
    const std::vector<nn::Parameter> wanted = parameters(own);
    const std::vector<std::string> missing = missing_keys(file, wanted, scheme);
    if (missing.empty()) return own;
    if (missing.size() == wanted.size())
        return fail(ErrorCode::NotFound,
                    "{}: it holds a decoder alone, no encoder: tensor {} and the encoder's other {} are missing; to "
                    "encode, take a file with both, as the authors of {} publish it",
                    file.name(), missing.front(), missing.size() - 1, family.title);
    return fail(ErrorCode::NotFound, "{}: {} of the {} encoder's {} tensors are missing: {}", file.name(),
                missing.size(), family.title, wanted.size(), tensor::first_ten(missing));
}

std::pair<std::string, std::optional<std::string>> split_prefix(std::string_view spec) {
    std::error_code ignored;
    const std::size_t colon = spec.rfind(':');
    if (colon == std::string_view::npos || std::filesystem::exists(spec, ignored) ||
        !std::filesystem::exists(spec.substr(0, colon), ignored))
        return {std::string(spec), std::nullopt};
    return {std::string(spec.substr(0, colon)), std::string(spec.substr(colon + 1))};
}

bool is_of_shape(const tensor::Shape& stored, const tensor::Shape& wanted) {
    if (stored == wanted) return true;
    const auto without_ones = [](tensor::Shape shape) {
        std::erase(shape, 1);
        return shape;
    };
    if (without_ones(stored) == without_ones(wanted)) return true;
    constexpr std::size_t kConv3d = 5;
    return wanted.size() == kConv3d && stored.size() + 1 == kConv3d && stored[0] == wanted[0] * wanted[1] &&
           std::equal(stored.begin() + 1, stored.end(), wanted.begin() + 2);
}

formats::TensorSource without_wrappers(formats::TensorSource file) {
    std::unordered_set<std::string> names;
    for (const tensor::NamedTensor& tensor : file.tensors()) names.insert(tensor.name);
    std::vector<tensor::NamedTensor> tensors = file.tensors();
    bool changed = false;
    for (tensor::NamedTensor& tensor : tensors) {
        std::string name = without_wrappers(tensor.name);
        if (name == tensor.name || name.empty() || !names.insert(name).second) continue;
        tensor.name = std::move(name);
        changed = true;
    }
    if (!changed) return file;
    const auto kept = std::make_shared<const formats::TensorSource>(std::move(file));
    return formats::TensorSource({.name = kept->name(),
                                  .tensors = std::move(tensors),
                                  .metadata = kept->metadata(),
                                  .files = kept->files(),
                                  .owners = {kept},
                                  .unreadable = kept->unreadable()});
}

Result<Recognised> recognise(const formats::TensorSource& file, const std::string& asked,
                             const std::optional<std::string>& prefix) {
    struct Fit {
        const families::Family* family = nullptr;
        std::vector<Candidate> candidates;
        std::size_t most = 0, all = 0;
        bool of_its_width = false;  ///< the latents have as many channels as the published ones
    };
    if (!asked.empty() && families::find(asked) == nullptr)
        return fail(ErrorCode::InvalidArgument, "{}: family {}: wanted {}", file.name(), asked,
                    families::any_of(&families::Family::name));
    Fit best;
    const std::string said = class_of(file);
    const std::string_view known = known_class(said);
    std::set<std::string> prefixes;
    for (const families::Family& family : families::all()) {
        const bool may_be = !asked.empty() ? family.name == asked
                            : said.empty() ? family.relative_of.empty()
                                           : !known.empty() && family.diffusers_class == known;
        if (!may_be) continue;
        families::Widths all_of_it = family.published;
        all_of_it.quantiser = !family.quantiser.empty();
        const std::vector<nn::Parameter> parameters = parameters_of(family, all_of_it);
        Fit fit{&family, count_candidates(file, family, parameters), 0, parameters.size(), false};
        for (const Candidate& candidate : fit.candidates) prefixes.insert(without_dot(candidate.scheme.prefix));
        if (prefix)
            std::erase_if(fit.candidates, [&](const Candidate& each) {
                return without_dot(each.scheme.prefix) != without_dot(*prefix);
            });
        for (const Candidate& candidate : fit.candidates) {
            fit.most = std::max(fit.most, candidate.count);
            fit.of_its_width = fit.of_its_width || has_width(file, candidate.scheme);
        }
        if (std::pair(fit.most, fit.of_its_width) > std::pair(best.most, best.of_its_width)) best = std::move(fit);
    }
    if (prefix && best.family == nullptr && !prefixes.empty())
        return fail(ErrorCode::NotFound, "{}: no tensor of a decoder begins with {}; there {} \"{}\"", file.name(),
                    tensor::quoted_name(*prefix), prefixes.size() == 1 ? "is" : "are", fmt::join(prefixes, "\", \""));
    const std::string of_class = (is_vowel(said) ? "an " : "a ") + said + " by its metadata";
    if (!said.empty() && known.empty() && asked.empty()) return fail(not_ours(file, of_class));
    if (best.most < best.all || best.family == nullptr) {
        const auto stranger = stranger_in(file);
        // A variant lacks a few tensors of the family's, another model has a few of them.
        if (stranger && 2 * best.most <= best.all) return fail(not_ours(file, *stranger));
        constexpr std::size_t kFewer = 10;  // less than a tenth, among more others, is a chance
        if (best.family != nullptr && kFewer * best.most < best.all && 2 * best.most < file.tensors().size())
            return fail(
                not_ours(file, fmt::format("no decoder that is known: {} of the {} tensors of {} are among its {}",
                                           best.most, best.all, best.family->title, file.tensors().size())));
    }
    if (best.family != nullptr) {
        auto whole = whole_decoder(file, best.candidates);
        // A class that is called after ours is a variant, or another one.
        if (!whole && whole.error().code == ErrorCode::NotFound && said != known && asked.empty())
            return fail(not_ours(file, of_class));
        KG_TRY(auto recognised, std::move(whole));
        const families::Family* const by_scale = relative_by_scale(file, *best.family);
        if (asked.empty() && by_scale != nullptr) recognised.scheme.family = by_scale;
        if (asked.empty() && by_scale == nullptr) {
            recognised.scheme.family = &relative_in(file, *best.family, recognised.widths.dim);
            note_guess(recognised, file, *best.family);
        }
        note_alpha(recognised, file);
        return recognised;
    }
    return fail(
        ErrorCode::NotFound,
        "{}: no tensor of any decoder is in it ({} tensor{}, the first {}); `kinetograph families` lists what can "
        "be decoded",
        file.name(), file.tensors().size(), file.tensors().size() == 1 ? "" : "s",
        file.tensors().empty() ? "absent" : tensor::quoted_name(file.tensors().front().name));
}

}  // namespace kinetograph::vae
