#include <kinetograph/tools/media/output_kind.hpp>

#include <filesystem>

namespace kinetograph::media {

std::optional<OutputKind> output_kind(std::string_view out) {
    if (out == "-") return OutputKind::RawRgb;
    const std::filesystem::path extension = std::filesystem::path(out).extension();  // none for ".mp4", a hidden file
    if (extension == ".mp4") return OutputKind::Mp4;
    if (extension == ".png") return OutputKind::PngSequence;
    if (extension == ".safetensors") return OutputKind::Safetensors;
    return std::nullopt;
}

}  // namespace kinetograph::media
