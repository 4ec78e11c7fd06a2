#include <unistd.h>
#include <kinetograph/tools/media/frame_reader.hpp>
#include <kinetograph/tools/media/picture_names.hpp>
#include <kinetograph/tools/media/raw_rgb_reader.hpp>
#include <kinetograph/tools/media/video_reader.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>

namespace kinetograph::media {
namespace {

bool is_sequence(const std::string& in) {
    return std::filesystem::path(in).filename().string().find('%') != std::string::npos;
}

/// Those of the pattern, by number.
Result<std::vector<std::filesystem::path>> pictures_of(const std::string& pattern) {
    KG_TRY(const auto names, PictureNames::parse(pattern));
    const std::filesystem::path folder = names.folder().empty() ? "." : names.folder();
    std::map<std::int64_t, std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (const auto index = names.index_of(entry->path().filename().string()))
            found[*index] = names.folder() / entry->path().filename();
    if (error) return fail(ErrorCode::Io, "{}: {}: {}", pattern, folder.string(), error.message());
    if (found.empty()) return fail(ErrorCode::NotFound, "{}: no file in {} has such a name", pattern, folder.string());
    std::vector<std::filesystem::path> files;
    for (std::int64_t index = found.begin()->first; const auto& [number, path] : found) {
        if (number != index++)
            return fail(ErrorCode::InvalidArgument, "{}: {} is missing; there are pictures from {} to {}", pattern,
                        names.path(index - 1).string(), found.begin()->second.filename().string(),
                        found.rbegin()->second.filename().string());
        files.push_back(path);
    }
    return files;
}

/// Pictures in a file each.
class SequenceReader final : public FrameReader {
  public:
    static Result<std::unique_ptr<FrameReader>> open(const std::string& pattern) {
        KG_TRY(auto files, pictures_of(pattern));
        KG_TRY(const auto first, open_video(files.front()));
        std::unique_ptr<SequenceReader> made(new SequenceReader);
        made->facts_ = {.size = first->facts().size, .fps = 0, .frames = std::ssize(files)};
        made->framing_ = {made->facts_.size, made->facts_.size};
        made->name_ = pattern;
        made->files_ = std::move(files);
        return made;
    }

    const std::string& name() const override { return name_; }
    const ReaderFacts& facts() const override { return facts_; }
    Result<void> set_framing(const Framing& framing) override {
        framing_ = framing;
        return {};
    }
    Result<bool> next(std::vector<std::uint8_t>& rgb) override {
        if (next_ == files_.size()) return false;
        const std::filesystem::path& file = files_[next_++];
        KG_TRY(const auto picture, open_video(file));
        const PixelSize size = picture->facts().size, first = facts_.size;
        if (size != first)
            return fail(ErrorCode::InvalidArgument, "{}: {}x{} pixels, the first picture of {} has {}x{}",
                        file.string(), size.width, size.height, name_, first.width, first.height);
        KG_CHECK(picture->set_framing(framing_));
        return picture->next(rgb);
    }

  private:
    SequenceReader() = default;
    std::string name_;
    std::vector<std::filesystem::path> files_;
    std::size_t next_ = 0;
    ReaderFacts facts_;
    Framing framing_;
};

}  // namespace

Result<Framing> framing_of(PixelSize source, std::optional<PixelSize> wanted, std::int64_t multiple) {
    const auto cut = [&](std::int64_t side) { return side / multiple * multiple; };
    if (!wanted) {
        if (source.width < multiple || source.height < multiple)
            return fail(ErrorCode::InvalidArgument, "pictures of {}x{} pixels: each side has at least {}", source.width,
                        source.height, multiple);
        return Framing{.scaled = source, .cut = {cut(source.width), cut(source.height)}};
    }
    if (cut(wanted->width) != wanted->width || cut(wanted->height) != wanted->height)
        return fail(ErrorCode::InvalidArgument, "pictures of {}x{} pixels: each side is a multiple of {}",
                    wanted->width, wanted->height, multiple);
    const double scale = std::max(static_cast<double>(wanted->width) / static_cast<double>(source.width),
                                  static_cast<double>(wanted->height) / static_cast<double>(source.height));
    const auto scaled = [&](std::int64_t side, std::int64_t least) {
        return std::max<std::int64_t>(least, std::llround(static_cast<double>(side) * scale));
    };
    return Framing{.scaled = {scaled(source.width, wanted->width), scaled(source.height, wanted->height)},
                   .cut = *wanted};
}

Result<std::vector<std::filesystem::path>> files_of(const std::string& in) {
    if (in == "-") return std::vector<std::filesystem::path>{};
    if (is_sequence(in)) return pictures_of(in);
    return std::vector<std::filesystem::path>{in};
}

Result<std::unique_ptr<FrameReader>> open_reader(const std::string& in, std::optional<PixelSize> piped) {
    if (in != "-") return is_sequence(in) ? SequenceReader::open(in) : open_video(in);
    if (!piped)
        return fail(ErrorCode::InvalidArgument, "standard input: raw rgb24 says no size: --size WIDTHxHEIGHT does");
    return open_raw_rgb(STDIN_FILENO, *piped);
}

}  // namespace kinetograph::media
