#include <kinetograph/compute/vae/recognition.hpp>
#include <kinetograph/engine/base/partial_names.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/media/frame_sink.hpp>
#include <kinetograph/tools/media/picture_names.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace kinetograph::cli {
namespace {

using std::filesystem::path;

/// A name of the regular file that a descriptor is open on; empty if it is on none.
path file_of(int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return fmt::format("/proc/self/fd/{}", descriptor);
}

/// Empty for what is no file.
path file_of(const NamedFile& file) {
    if (file.path.starts_with("synthetic:")) return {};
    if (file.path == "-") return file_of(file.use == NamedFile::Use::Read ? STDIN_FILENO : STDOUT_FILENO);
    return vae::split_prefix(file.path).first;
}

/// Whether writing `output` would write to `file`.
bool writes(const NamedFile& output, const path& file) {
    const bool is_sequence =
        output.use == NamedFile::Use::FileAClip ||
        (output.use == NamedFile::Use::Frames && media::output_kind(output.path) == media::OutputKind::Pictures);
    if (!is_sequence) return is_same_file(file_of(output), file);
    const auto names = media::PictureNames::parse(output.path);
    if (!names) return false;  // not a file name; its sink will report it
    // The file has perhaps two names, of which one is a link: either may be a picture's.
    std::error_code error;
    const path canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
    return std::ranges::any_of(std::array{file, error ? file : canonical}, [&](const path& place) {
        const std::string name = place.filename().string();
        return (names->index_of(name) || name == names->only().filename()) &&
               is_same_file(folder_of(names->path(0)), folder_of(place));
    });
}

}  // namespace

Result<void> check_distinct(std::span<const NamedFile> files) {
    // Messages and tables go to these also where no option says so.
    const std::array streams{std::pair("standard output", file_of(STDOUT_FILENO)),
                             std::pair("standard error", file_of(STDERR_FILENO))};
    for (const NamedFile& read : files) {
        const path file = file_of(read);
        if (read.use != NamedFile::Use::Read || file.empty()) continue;
        for (const auto& [role, open] : streams)
            if (!open.empty() && is_same_file(open, file))
                return fail(ErrorCode::InvalidArgument, "{} would overwrite {} {}", role, read.role, read.path);
    }
    for (const NamedFile& output : files) {
        if (output.use == NamedFile::Use::Read || file_of(output).empty()) continue;
        for (const NamedFile& other : files) {
            const path file = file_of(other);
            if (&other == &output || file.empty()) continue;
            if (writes(output, file))
                return fail(ErrorCode::InvalidArgument, "{} {} would overwrite {} {}", output.role, output.path,
                            other.role, other.path);
        }
    }
    return {};
}

}  // namespace kinetograph::cli
