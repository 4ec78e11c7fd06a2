#include <kinetograph/compute/vae/decode_queue.hpp>
#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/tools/media/pending_folder.hpp>
#include <kinetograph/tools/media/png_sequence_sink.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace kinetograph::media {
namespace {

class PngSequenceSink final : public FrameSink {
  public:
    PngSequenceSink(std::string pattern, PendingFolder folder, const ClipFormat& format)
        : pattern_(std::move(pattern)),
          folder_(std::move(folder)),
          format_(format),
          rgba_(static_cast<std::size_t>(4 * format.width * format.height)) {}

    Result<void> write(std::span<const float> hwc) override {
        vae::to_rgba8(hwc, rgba_);
        const std::filesystem::path path = pending(written_++);
        return present::write_png(
            path, {static_cast<std::uint32_t>(format_.width), static_cast<std::uint32_t>(format_.height), rgba_});
    }

    Result<void> finish() override {
        std::vector<std::filesystem::path> moved;
        for (std::int64_t index = 0; index < written_; ++index) {
            const std::filesystem::path target = *png_frame_path(pattern_, index);
            std::error_code error;
            std::filesystem::rename(pending(index), target, error);
            if (error) {
                for (const auto& path : moved) std::filesystem::remove(path, error);
                return fail(ErrorCode::Io, "{}: cannot be put in place: {}", target.string(), error.message());
            }
            moved.push_back(target);
        }
        return {};
    }

  private:
    std::filesystem::path pending(std::int64_t index) const { return folder_.path() / fmt::format("{}.png", index); }

    std::string pattern_;
    PendingFolder folder_;
    ClipFormat format_;
    std::int64_t written_ = 0;
    std::vector<std::uint8_t> rgba_;  // [height, width, 4]
};

}  // namespace

Result<std::filesystem::path> png_frame_path(std::string_view pattern, std::int64_t index) {
    const std::filesystem::path path(pattern);
    std::string name = path.filename().string();
    if (name.find('%') == std::string::npos) name = path.stem().string() + "-%05d" + path.extension().string();
    const std::size_t begin = name.find('%');
    const bool padded =
        name.size() > begin + 3 && name[begin + 1] == '0' && name[begin + 2] >= '1' && name[begin + 2] <= '9';
    const std::size_t end = begin + (padded ? 3 : 1);  // of the 'd'
    if (name[end] != 'd' || name.find('%', end) != std::string::npos ||
        path.parent_path().string().find('%') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    "output {}: the file name must hold one number, as in frames/%05d.png, and no other %", pattern);
    }
    const int digits = padded ? name[begin + 2] - '0' : 1;
    return path.parent_path() / fmt::format("{}{:0{}}{}", name.substr(0, begin), index, digits, name.substr(end + 1));
}

Result<std::unique_ptr<FrameSink>> create_png_sequence_sink(std::string_view pattern, const ClipFormat& format) {
    KG_TRY(auto first, png_frame_path(pattern, 0));
    KG_TRY(auto folder, PendingFolder::create_beside(first));
    return std::make_unique<PngSequenceSink>(std::string(pattern), std::move(folder), format);
}

}  // namespace kinetograph::media
