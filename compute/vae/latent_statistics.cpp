#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/latent_statistics.hpp>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

namespace kinetograph::vae {

namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<float> parse_float(std::string_view text) {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

Result<std::vector<float>> parse_list(std::string_view text, std::string_view key, std::int64_t z_dim,
                                      std::string_view file) {
    std::string_view rest = trimmed(text);
    if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
    std::vector<float> values;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        more = comma != std::string_view::npos;
        const std::string_view item = trimmed(rest.substr(0, comma));
        const auto value = parse_float(item);
        if (!value) {
            return fail(ErrorCode::InvalidArgument, "{}: metadata {}: {} is not a finite number", file, key,
                        tensor::quoted_name(item));
        }
        values.push_back(*value);
        rest.remove_prefix(more ? comma + 1 : rest.size());
    }
    if (std::ssize(values) != z_dim) {
        return fail(ErrorCode::InvalidArgument, "{}: metadata {} has {} numbers, the decoder has {} latent channels",
                    file, key, values.size(), z_dim);
    }
    return values;
}

using Fields = std::map<std::string, std::string>;

/// The entry `key`; the end if there is none, or null.
Fields::const_iterator entry_of(const Fields& metadata, const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() || found->second == "null" ? metadata.end() : found;
}

/// The number under `key`, or `absent`.
Result<float> parse_number(const Fields& metadata, const std::string& key, float absent, std::string_view file) {
    const auto text = entry_of(metadata, key);
    if (text == metadata.end()) return absent;
    const auto value = parse_float(trimmed(text->second));
    if (value) return *value;
    return fail(ErrorCode::InvalidArgument, "{}: metadata {}: {} is not a finite number", file, key,
                tensor::quoted_name(text->second));
}

/// `channels` finite values of a tensor.
Result<std::vector<float>> values_of_norm(const formats::TensorSource& file, const std::string& key,
                                          std::int64_t channels) {
    const tensor::TensorView* stored = file.find(key);
    if (stored == nullptr) return fail(ErrorCode::InvalidArgument, "{}: tensor {} is missing", file.name(), key);
    if (stored->shape != tensor::Shape{channels})
        return fail(ErrorCode::InvalidArgument, "{}: tensor {} has the shape {}, latents in patches have {} channels",
                    file.name(), key, tensor::to_string(stored->shape), channels);
    KG_TRY_IN(file.name(), auto values, tensor::to_f32(*stored, key));
    for (const float value : values)
        if (!std::isfinite(value))
            return fail(ErrorCode::InvalidArgument, "{}: tensor {} holds a value that is not finite", file.name(), key);
    return values;
}

}  // namespace

Result<families::LatentStatistics> statistics_from_metadata(const std::map<std::string, std::string>& metadata,
                                                            std::int64_t z_dim, std::string_view file) {
    const auto mean_text = entry_of(metadata, "latents_mean"), std_text = entry_of(metadata, "latents_std");
    const bool has_mean = mean_text != metadata.end();
    const bool has_std = std_text != metadata.end();
    KG_TRY(const float scale, parse_number(metadata, "scaling_factor", 1, file));
    KG_TRY(const float shift, parse_number(metadata, "shift_factor", 0, file));
    if (scale <= 0)
        return fail(ErrorCode::InvalidArgument, "{}: metadata scaling_factor: {} is not above 0", file, scale);
    if (!has_mean && !has_std) {
        if (entry_of(metadata, "scaling_factor") == metadata.end()) return families::LatentStatistics{};
        const auto channels = static_cast<std::size_t>(z_dim);
        return families::LatentStatistics{std::vector<float>(channels, shift), std::vector<float>(channels, 1 / scale)};
    }
    if (!has_mean || !has_std) {
        return fail(ErrorCode::InvalidArgument, "{}: metadata has {} but not {}", file,
                    has_mean ? "latents_mean" : "latents_std", has_mean ? "latents_std" : "latents_mean");
    }
    KG_TRY(auto mean, parse_list(mean_text->second, "latents_mean", z_dim, file));
    KG_TRY(auto std, parse_list(std_text->second, "latents_std", z_dim, file));
    for (float& value : std) {
        if (value <= 0)
            return fail(ErrorCode::InvalidArgument, "{}: metadata latents_std: {} is not above 0", file, value);
        value /= scale;
    }
    return families::LatentStatistics{std::move(mean), std::move(std)};
}

Result<families::LatentStatistics> statistics_of_batch_norm(const formats::TensorSource& file,
                                                            const std::string& prefix, std::int64_t channels) {
    constexpr float kEpsilon = 1e-4F;
    const std::string mean = prefix + "bn.running_mean", variance = prefix + "bn.running_var";
    if (file.find(mean) == nullptr && file.find(variance) == nullptr) return families::LatentStatistics{};
    families::LatentStatistics made;
    KG_TRY(made.mean, values_of_norm(file, mean, channels));
    KG_TRY(made.std, values_of_norm(file, variance, channels));
    KG_TRY(const float epsilon, parse_number(file.metadata(), "batch_norm_eps", kEpsilon, file.name()));
    for (float& value : made.std) {
        if (!(value + epsilon > 0))
            return fail(ErrorCode::InvalidArgument, "{}: tensor {} holds {}, a variance is not below 0", file.name(),
                        variance, value);
        value = std::sqrt(value + epsilon);
    }
    return made;
}

families::LatentStatistics no_statistics(std::int64_t z_dim) {
    const auto channels = static_cast<std::size_t>(z_dim);
    return {.mean = std::vector<float>(channels, 0.0F), .std = std::vector<float>(channels, 1.0F)};
}

Result<families::LatentStatistics> chosen_statistics(const std::string& choice, std::int64_t z_dim,
                                                     const CallLimits& limits) {
    if (choice == "none") return no_statistics(z_dim);
    if (const families::Family* family = families::find(choice)) {
        if (family->statistics.patch > 1)
            return fail(ErrorCode::InvalidArgument,
                        "statistics {}: each of its checkpoints has its own; wanted none or a JSON file with "
                        "latents_mean and latents_std",
                        choice);
        if (family->published.z_dim != z_dim)
            return fail(ErrorCode::InvalidArgument, "statistics {}: of {} latent channels, the decoder has {}", choice,
                        family->published.z_dim, z_dim);
        return family->statistics;
    }
    std::error_code ignored;
    if (!std::filesystem::exists(choice, ignored))
        return fail(ErrorCode::InvalidArgument,
                    "statistics {}: wanted none, a JSON file with latents_mean and latents_std, or one of {}", choice,
                    families::any_of(&families::Family::name, z_dim));
    KG_TRY(const auto fields, formats::read_object(choice, limits));
    KG_TRY(auto stated, statistics_from_metadata(fields, z_dim, choice));
    if (stated.mean.empty())
        return fail(ErrorCode::InvalidArgument, "{}: neither latents_mean nor latents_std is in it", choice);
    return stated;
}

}  // namespace kinetograph::vae
