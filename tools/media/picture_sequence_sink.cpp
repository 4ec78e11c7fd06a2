#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/tools/media/jpeg.hpp>
#include <kinetograph/tools/media/pending_folder.hpp>
#include <kinetograph/tools/media/picture_names.hpp>
#include <kinetograph/tools/media/picture_placement.hpp>
#include <kinetograph/tools/media/picture_sequence_sink.hpp>
#include <kinetograph/tools/media/rgb24.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

namespace kinetograph::media {
namespace {

/// Fails if a picture cannot be put in place, or an existing file would continue the sequence after its `frames`
/// pictures. `frames` 0: not known beforehand, and picture 0 must not exist. The one picture of a plain name is no
/// sequence.
Result<void> check_names(const PictureNames& names, std::int64_t frames) {
    if (frames == 1) KG_CHECK(check_replaceable(names.only()));
    if (frames == 1 && names.is_plain()) return {};
    for (std::int64_t index = 0; index < std::max<std::int64_t>(frames, 1); ++index)
        KG_CHECK(check_replaceable(names.path(index)));
    const std::filesystem::path next = names.path(frames);
    std::error_code ignored;
    if (std::filesystem::symlink_status(next, ignored).type() == std::filesystem::file_type::not_found) return {};
    if (frames == 0)
        return fail(ErrorCode::InvalidArgument,
                    "{} is there, and it is not known beforehand how many pictures would be replaced; remove the older "
                    "ones or choose another name",
                    next.string());
    return fail(ErrorCode::InvalidArgument,
                "{} is there: it would go on after this clip, {} frame{} long; remove the older pictures or choose "
                "another name",
                next.string(), frames, frames == 1 ? "" : "s");
}

/// [pixels, 3] float32 into [pixels, 4] of 8 bits, opaque.
void to_rgba8(std::span<const float> rgb, std::span<std::uint8_t> rgba) {
    for (std::size_t pixel = 0; pixel < rgb.size() / 3; ++pixel) {
        for (std::size_t c = 0; c < 3; ++c) rgba[4 * pixel + c] = nn::to_unorm8(rgb[3 * pixel + c]);
        rgba[4 * pixel + 3] = 255;
    }
}

class PictureSequenceSink final : public FrameSink {
  public:
    PictureSequenceSink(PictureNames names, PendingFolder folder, const ClipFormat& format, bool is_jpeg)
        : is_jpeg_(is_jpeg),
          names_(std::move(names)),
          folder_(std::move(folder)),
          format_(format),
          rgba_(static_cast<std::size_t>(4 * format.width * format.height)) {}

    Result<void> write(std::span<const float> hwc) override {
        const std::filesystem::path path = PicturePlacement::pending(folder_.path(), written_++);
        if (is_jpeg_) {
            to_rgb24(hwc, rgb_);
            return write_jpeg(path, format_.width, format_.height, rgb_);
        }
        to_rgba8(hwc, rgba_);
        return present::write_png(
            path, {static_cast<std::uint32_t>(format_.width), static_cast<std::uint32_t>(format_.height), rgba_});
    }

    Result<void> finish() override {
        KG_CHECK(check_names(names_, written_));
        KG_CHECK(folder_.set_placing(true));
        PicturePlacement placement(folder_.path(), names_, written_);
        KG_CHECK(placement.record());
        auto done = placement.put_in_place();
        if (placement.stranded() > 0) {
            folder_.keep();
            return fail(done.error().code, "{}; {} older pictures could not be put back and lie in {}",
                        done.error().message, placement.stranded(), folder_.path().string());
        }
        KG_CHECK(folder_.set_placing(false));
        folder_.remove();
        return done;
    }

    std::string written() const override {
        if (written_ == 1) return names_.only().string();
        return names_.path(0).string() + " to " + names_.path(written_ - 1).string();
    }

  private:
    bool is_jpeg_;
    PictureNames names_;
    PendingFolder folder_;
    ClipFormat format_;
    std::int64_t written_ = 0;
    std::vector<std::uint8_t> rgba_;  // [height, width, 4]
    std::vector<std::uint8_t> rgb_;   // [height, width, 3]
};

}  // namespace

Result<std::unique_ptr<FrameSink>> create_picture_sequence_sink(std::string_view pattern, const ClipFormat& format) {
    KG_TRY(auto names, PictureNames::parse(pattern));
    KG_CHECK(settle_abandoned(names.path(0)));
    KG_CHECK(check_names(names, format.frames));
    KG_TRY(auto folder, PendingFolder::create_beside(names.path(0)));
    const bool is_jpeg = suffix_of(pattern) != ".png";
    if (is_jpeg) KG_CHECK_IN(std::string(pattern), check_jpeg());
    return std::make_unique<PictureSequenceSink>(std::move(names), std::move(folder), format, is_jpeg);
}

}  // namespace kinetograph::media
