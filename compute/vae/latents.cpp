#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kinetograph::vae {

namespace {

constexpr std::int64_t kLargestLatentSide = 1024;  // 8192 pixels of video
constexpr double kLowestFps = 0.01, kHighestFps = 1000;

/// [C,T,h,w] of a view that may have a batch axis of 1.
Result<tensor::Shape> clip_shape(const tensor::TensorView& view, std::string_view file) {
    tensor::Shape shape = view.shape;
    const std::string text = tensor::to_string(shape);
    if (shape.size() == 5) {
        if (shape.front() != 1) {
            return fail(ErrorCode::InvalidArgument, "{}: latents {} are a batch of {}: only one clip can be decoded",
                        file, text, shape.front());
        }
        shape.erase(shape.begin());
    }
    if (shape.size() != 4) {
        return fail(ErrorCode::InvalidArgument,
                    "{}: latents {} have {} dimensions, wanted [C, T, h, w] or [1, C, T, h, w]", file, text,
                    shape.size());
    }
    if (shape[0] == 0) return fail(ErrorCode::InvalidArgument, "{}: latents {} have no channels", file, text);
    if (shape[1] == 0) return fail(ErrorCode::InvalidArgument, "{}: latents {} have no frames", file, text);
    if (shape[2] < 1 || shape[2] > kLargestLatentSide || shape[3] < 1 || shape[3] > kLargestLatentSide) {
        return fail(ErrorCode::InvalidArgument,
                    "{}: latents {}: frames of {} x {} latent pixels, a side may have 1 to {}", file, text, shape[3],
                    shape[2], kLargestLatentSide);
    }
    return shape;
}

Result<void> check_finite(const tensor::TensorView& view, const tensor::Shape& shape, std::string_view file) {
    const auto bad = tensor::first_not_finite(view);
    if (!bad) return {};
    const std::int64_t frame = shape[2] * shape[3];
    return fail(
        ErrorCode::InvalidArgument,
        "{}: latents hold a value that is not finite at (c, t, y, x) = ({}, {}, {}, {}): it would spread over every "
        "later frame",
        file, *bad / (shape[1] * frame), *bad / frame % shape[1], *bad / shape[3] % shape[2], *bad % shape[3]);
}

Result<double> parse_fps(const std::string& text, std::string_view file) {
    double fps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fps);
    const bool in_range = fps >= kLowestFps && fps <= kHighestFps;  // false for NaN
    if (error != std::errc() || end != text.data() + text.size() || !in_range) {
        return fail(ErrorCode::InvalidArgument, "{}: metadata fps: {} is not a number from {} to {}", file,
                    tensor::quoted_name(text), kLowestFps, kHighestFps);
    }
    return fps;
}

std::string names_of(const tensor::SafetensorsFile& file) {
    constexpr std::size_t kMost = 10;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(kMost, file.tensors().size()); ++i) {
        names.push_back(tensor::quoted_name(file.tensors()[i].name));
    }
    if (file.tensors().size() > kMost) names.push_back(fmt::format("{} more", file.tensors().size() - kMost));
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<Latents> Latents::open(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    KG_TRY(const auto file, tensor::SafetensorsFile::open(path, options));
    if (const auto found = file.unreadable().find("latents"); found != file.unreadable().end())
        return fail(ErrorCode::InvalidArgument, "{}: latents are {}, wanted F32, F16 or BF16", file.name(),
                    found->second);
    const tensor::TensorView* view = file.find("latents");
    if (view == nullptr) {
        return fail(ErrorCode::NotFound, "{}: no tensor \"latents\" in it, but {}", file.name(), names_of(file));
    }
    if (view->dtype != tensor::DType::F32 && view->dtype != tensor::DType::F16 && view->dtype != tensor::DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "{}: latents are {}, wanted F32, F16 or BF16", file.name(),
                    tensor::to_string(view->dtype));
    }
    KG_TRY(const auto shape, clip_shape(*view, file.name()));
    KG_CHECK(check_finite(*view, shape, file.name()));

    Latents latents{.name = file.name(),
                    .channels = shape.at(0),
                    .frames = shape.at(1),
                    .height = shape.at(2),
                    .width = shape.at(3),
                    .values = tensor::to_f32(*view, "latents").value(),
                    .content_hash = XXH3_64bits(file.bytes().data(), file.bytes().size())};
    if (const auto text = file.metadata().find("fps"); text != file.metadata().end()) {
        KG_TRY(const auto fps, parse_fps(text->second, file.name()));
        latents.fps = fps;
    }
    return latents;
}

Result<void> check_finite(std::span<const float> latent, std::int64_t index, std::int64_t pixels) {
    const auto bad = std::find_if_not(latent.begin(), latent.end(), [](float value) { return std::isfinite(value); });
    if (bad == latent.end()) return {};
    const std::int64_t at = bad - latent.begin();
    return fail(ErrorCode::InvalidArgument, "latent frame {}: value {} at channel {}, pixel {} is not finite", index,
                *bad, at / pixels, at % pixels);
}

std::vector<float> Latents::frame(std::int64_t t) const {
    const std::int64_t pixels = height * width;
    std::vector<float> latent;
    latent.reserve(static_cast<std::size_t>(channels * pixels));
    for (std::int64_t c = 0; c < channels; ++c) {
        const auto plane = values.begin() + (c * frames + t) * pixels;
        latent.insert(latent.end(), plane, plane + pixels);
    }
    return latent;
}

}  // namespace kinetograph::vae
