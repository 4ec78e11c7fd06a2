#include <kinetograph/compute/vae/recognition.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/media/frame_sink.hpp>
#include <kinetograph/tools/media/picture_names.hpp>

#include <filesystem>
#include <system_error>

namespace kinetograph::cli {
namespace {

using std::filesystem::path;

bool is_file(const NamedFile& file) {
    return !file.path.empty() && file.path != "-" && !file.path.starts_with("synthetic:");
}

/// Whether writing `output` would write to `file`.
bool writes(const NamedFile& output, const path& file) {
    const bool is_sequence =
        output.use == NamedFile::Use::Frames && media::output_kind(output.path) == media::OutputKind::Pictures;
    if (!is_sequence) return is_same_file(output.path, file);
    const auto names = media::PictureNames::parse(output.path);
    if (!names) return false;  // not a file name; its sink will report it
    std::error_code error;
    path place = std::filesystem::weakly_canonical(file, error);
    if (error) place = file;
    const path folder = names->folder().empty() ? path(".") : names->folder();
    const std::string name = place.filename().string();
    return (names->index_of(name) || name == names->only().filename()) && is_same_file(folder, place.parent_path());
}

}  // namespace

Result<void> check_distinct(std::span<const NamedFile> files) {
    for (const NamedFile& output : files) {
        if (output.use == NamedFile::Use::Read || !is_file(output)) continue;
        for (const NamedFile& other : files) {
            if (&other == &output || !is_file(other)) continue;
            if (writes(output, vae::split_prefix(other.path).first))
                return fail(ErrorCode::InvalidArgument, "{} {} would overwrite {} {}", output.role, output.path,
                            other.role, other.path);
        }
    }
    return {};
}

}  // namespace kinetograph::cli
