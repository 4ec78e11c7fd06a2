#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/present/png.hpp>

#include <png.h>

#include <cerrno>
#include <system_error>

namespace kinetograph::present {
namespace {

bool is_opaque(const PictureView& picture) {
    for (std::size_t i = 3; i < picture.rgba.size(); i += 4)
        if (picture.rgba[i] != 255) return false;
    return true;
}

std::vector<std::uint8_t> drop_alpha(const PictureView& picture) {
    std::vector<std::uint8_t> rgb;
    rgb.reserve(picture.rgba.size() / 4 * 3);
    for (std::size_t i = 0; i < picture.rgba.size(); i += 4)
        rgb.insert(rgb.end(), {picture.rgba[i], picture.rgba[i + 1], picture.rgba[i + 2]});
    return rgb;
}

}  // namespace

Result<void> write_png(const std::filesystem::path& path, const PictureView& picture) {
    const std::uint64_t wanted = std::uint64_t{picture.width} * picture.height * 4;
    if (wanted == 0 || picture.rgba.size() != wanted)
        return fail(ErrorCode::InvalidArgument, "{}: a picture of {} x {} takes {} bytes, not {}", path.string(),
                    picture.width, picture.height, wanted, picture.rgba.size());

    const bool opaque = is_opaque(picture);
    const std::vector<std::uint8_t> rgb = opaque ? drop_alpha(picture) : std::vector<std::uint8_t>{};
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = picture.width;
    image.height = picture.height;
    image.format = opaque ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;

    KG_TRY(auto file, ReplacingFile::create(path));
    const void* pixels = opaque ? rgb.data() : picture.rgba.data();
    errno = 0;
    if (png_image_write_to_file(&image, file.partial_path().c_str(), 0, pixels, 0, nullptr) == 0) {
        const int error = errno;
        return fail(ErrorCode::Io, "{}: cannot write: {}", path.string(),
                    error != 0 ? std::generic_category().message(error) : image.message);
    }
    return file.commit();
}

Result<Picture> read_png(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) return fail(ErrorCode::NotFound, "{}: no such file", path.string());
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_file(&image, path.c_str()) == 0)
        return fail(ErrorCode::Corrupt, "{}: not a readable PNG file: {}", path.string(), image.message);
    image.format = PNG_FORMAT_RGBA;
    Picture picture{image.width, image.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
    if (png_image_finish_read(&image, nullptr, picture.rgba.data(), 0, nullptr) == 0)
        return fail(ErrorCode::Corrupt, "{}: not a readable PNG file: {}", path.string(), image.message);
    return picture;
}

}  // namespace kinetograph::present
