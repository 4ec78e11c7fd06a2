#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/latent_statistics.hpp>

#include <charconv>
#include <cmath>
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

}  // namespace

LatentStatistics LatentStatistics::identity(std::int64_t z_dim) {
    const auto channels = static_cast<std::size_t>(z_dim);
    return {.mean = std::vector<float>(channels, 0.0F), .std = std::vector<float>(channels, 1.0F)};
}

LatentStatistics LatentStatistics::wan21() {
    return {.mean = {-0.7571F, -0.7089F, -0.9113F, 0.1075F, -0.1745F, 0.9653F, -0.1517F, 1.5508F, 0.4134F, -0.0715F,
                     0.5517F, -0.3632F, -0.1922F, -0.9497F, 0.2503F, -0.2921F},
            .std = {2.8184F, 1.4541F, 2.3275F, 2.6558F, 1.2196F, 1.7708F, 2.6052F, 2.0743F, 3.2687F, 2.1526F, 2.8652F,
                    1.5579F, 1.6382F, 1.1253F, 2.8251F, 1.9160F}};
}

Result<LatentStatistics> statistics_from_metadata(const std::map<std::string, std::string>& metadata,
                                                  std::int64_t z_dim, std::string_view file) {
    const auto mean_text = metadata.find("latents_mean");
    const auto std_text = metadata.find("latents_std");
    const bool has_mean = mean_text != metadata.end();
    const bool has_std = std_text != metadata.end();
    if (!has_mean && !has_std) return LatentStatistics{};
    if (!has_mean || !has_std) {
        return fail(ErrorCode::InvalidArgument, "{}: metadata has {} but not {}", file,
                    has_mean ? "latents_mean" : "latents_std", has_mean ? "latents_std" : "latents_mean");
    }
    auto mean = parse_list(mean_text->second, "latents_mean", z_dim, file);
    if (!mean) return fail(std::move(mean).error());
    auto std = parse_list(std_text->second, "latents_std", z_dim, file);
    if (!std) return fail(std::move(std).error());
    for (const float value : *std) {
        if (value > 0) continue;
        return fail(ErrorCode::InvalidArgument, "{}: metadata latents_std: {} is not above 0", file, value);
    }
    return LatentStatistics{*std::move(mean), *std::move(std)};
}

}  // namespace kinetograph::vae
