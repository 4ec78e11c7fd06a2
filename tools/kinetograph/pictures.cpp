#include <spdlog/spdlog.h>
#include <kinetograph/tools/kinetograph/pictures.hpp>

#include <vector>

namespace kinetograph::cli {

Result<std::unique_ptr<media::FrameReader>> open_pictures(const PictureRequest& request) {
    if (!request.size) return media::open_reader(request.name, std::nullopt);
    return media::open_reader(request.name, media::PixelSize{request.size->width, request.size->height});
}

Result<media::PixelSize> set_framing(media::FrameReader& reader, const PictureRequest& request, std::int64_t multiple) {
    std::optional<media::PixelSize> wanted;
    if (request.size && request.name != "-") wanted = {request.size->width, request.size->height};
    const media::PixelSize source = reader.facts().size;
    KG_TRY_IN(reader.name(), const auto framing, media::framing_of(source, wanted, multiple));
    if (framing.scaled != source || framing.cut != source)
        spdlog::info(
            "{}: {}x{} pixels are {}cut to {}x{} around the middle", reader.name(), source.width, source.height,
            framing.scaled == source ? ""
                                     : fmt::format("scaled to {}x{} and ", framing.scaled.width, framing.scaled.height),
            framing.cut.width, framing.cut.height);
    KG_CHECK(reader.set_framing(framing));
    return framing.cut;
}

bool is_one_picture(const media::FrameReader& reader, const PictureRequest& request,
                    const vae::Checkpoint& checkpoint) {
    return reader.facts().frames == 1 || request.frames == 1 || checkpoint.one_latent_frame();
}

Result<void> check_one_picture(media::FrameReader& reader, const PictureRequest& request,
                               const vae::Checkpoint& checkpoint) {
    std::vector<std::uint8_t> rgb;
    if (!checkpoint.one_latent_frame() || request.frames == 1) return {};
    KG_TRY(const bool more, reader.next(rgb));
    if (!more) return {};
    return fail(ErrorCode::InvalidArgument,
                "{}: it has more than one picture, a clip of {} is one: --frames 1 takes the "
                "first",
                reader.name(), checkpoint.family().title);
}

CLI::Option* add_picture_size(CLI::App& command, const std::string& name, std::optional<FrameSize>& size,
                              const std::string& description) {
    return command
        .add_option_function<std::string>(
            name, [&size](const std::string& word) { size = *parse_frame_size(word); }, description)
        ->check([](const std::string& word) {
            return parse_frame_size(word) ? "" : word + " is no WIDTHxHEIGHT of even numbers from 2 to 8192";
        })
        ->type_name("WIDTHxHEIGHT");
}

}  // namespace kinetograph::cli
