#include <kinetograph/tools/media/output_kind.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

namespace kinetograph::media {
namespace {

struct Suffix {
    std::string_view text;
    OutputKind kind;
};

constexpr std::array<Suffix, 10> kSuffixes{{{".mp4", OutputKind::Video},
                                            {".mov", OutputKind::Video},
                                            {".mkv", OutputKind::Video},
                                            {".webm", OutputKind::Video},
                                            {".gif", OutputKind::Video},
                                            {".webp", OutputKind::Video},
                                            {".png", OutputKind::Pictures},
                                            {".jpg", OutputKind::Pictures},
                                            {".jpeg", OutputKind::Pictures},
                                            {".safetensors", OutputKind::Safetensors}}};

}  // namespace

std::string suffix_of(std::string_view out) {
    std::string suffix = std::filesystem::path(out).extension().string();  // none for ".mp4", a hidden file
    std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return suffix;
}

std::optional<OutputKind> output_kind(std::string_view out) {
    if (out == "-") return OutputKind::RawRgb;
    const auto* found = std::ranges::find(kSuffixes, suffix_of(out), &Suffix::text);
    return found == kSuffixes.end() ? std::nullopt : std::optional(found->kind);
}

std::string output_kinds() {
    std::string text = "must be a name that ends in ";
    for (const Suffix& suffix : kSuffixes) text.append(&suffix == kSuffixes.begin() ? "" : ", ").append(suffix.text);
    return text + ", or -";
}

}  // namespace kinetograph::media
