// What the subcommands that encode share: how pictures are opened, and cut for a family.
#pragma once

#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/media/frame_reader.hpp>

#include <memory>
#include <optional>
#include <string>

namespace kinetograph::cli {

/// Pictures to encode.
struct PictureRequest {
    std::string name;               ///< as media::open_reader() takes it
    std::optional<FrameSize> size;  ///< nothing: the pictures' own, cut
    std::int64_t frames = 0;        ///< most pictures; 0: all
};

/// Errors: those of media::open_reader().
Result<std::unique_ptr<media::FrameReader>> open_pictures(const PictureRequest& request);

/// Scales and cuts the pictures as --size says, each side to a multiple of `multiple`, and logs what was done. Returns
/// the size that they then have. Errors: those of media::framing_of and FrameReader::set_framing.
Result<media::PixelSize> set_framing(media::FrameReader& reader, const PictureRequest& request, std::int64_t multiple);

/// Whether a clip of the pictures is one.
bool is_one_picture(const media::FrameReader& reader, const PictureRequest& request, const vae::Checkpoint& checkpoint);

/// Called once the first picture is read: a family for pictures takes one, and a video is not cut to its first picture
/// in silence. Errors: InvalidArgument (there is another one, and it is not asked for one), those of FrameReader::next.
Result<void> check_one_picture(media::FrameReader& reader, const PictureRequest& request,
                               const vae::Checkpoint& checkpoint);

/// Adds the size of pictures as the option `name`. `size` must outlive the parse.
CLI::Option* add_picture_size(CLI::App& command, const std::string& name, std::optional<FrameSize>& size,
                              const std::string& description);

}  // namespace kinetograph::cli
