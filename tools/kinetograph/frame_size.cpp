#include <kinetograph/tools/kinetograph/frame_size.hpp>

#include <charconv>

namespace kinetograph::cli {

std::optional<FrameSize> parse_frame_size(std::string_view word) {
    FrameSize size;
    const char* end = word.data() + word.size();
    const auto width = std::from_chars(word.data(), end, size.width);
    if (width.ec != std::errc{} || width.ptr == end || *width.ptr != 'x') return std::nullopt;
    const auto height = std::from_chars(width.ptr + 1, end, size.height);
    if (height.ec != std::errc{} || height.ptr != end) return std::nullopt;
    const auto fits = [](std::int64_t side) {
        return side >= 2 && side <= 8192 && side % 2 == 0;
    };  // video frames have even sides
    if (!fits(size.width) || !fits(size.height)) return std::nullopt;
    return size;
}

Result<vae::LatentSize> FrameSize::latents(const families::Family& family) const {
    const std::int64_t space = family.rates.space.out;
    if (width % space != 0 || height % space != 0)
        return fail(ErrorCode::InvalidArgument,
                    "--size {}x{}: frames of a {} decoder have sides that are multiples of {}", width, height,
                    family.title, space);
    return vae::LatentSize{.height = height / space, .width = width / space};
}

CLI::Option* add_frame_size(CLI::App& command, FrameSize& size, const std::string& description) {
    return command
        .add_option_function<std::string>(
            "--size", [&size](const std::string& word) { size = *parse_frame_size(word); },
            fmt::format("{} (default {}x{})", description, size.width, size.height))
        ->check([](const std::string& word) {
            return parse_frame_size(word) ? "" : word + " is no WIDTHxHEIGHT of even numbers from 2 to 8192";
        })
        ->type_name("WIDTHxHEIGHT");
}

}  // namespace kinetograph::cli
