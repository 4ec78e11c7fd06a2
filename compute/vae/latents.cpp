#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace kinetograph::vae {

namespace {

using tensor::NamedTensor;

constexpr std::int64_t kLargestLatentSide = 1024;  // 8192 pixels of video
constexpr double kLowestFps = 0.01, kHighestFps = 1000;

// ---- the order of axes ----------------------------------------------------------------------------------------------

/// Where a shape has each axis; -1: nowhere, which is an extent of 1.
struct Axes {
    std::string_view text;
    int batch, channels, frames, height, width;
};

constexpr std::array<Axes, 3> kOfFive{
    {{"[B, C, T, h, w]", 0, 1, 2, 3, 4}, {"[B, T, C, h, w]", 0, 2, 1, 3, 4}, {"[B, T, h, w, C]", 0, 4, 1, 2, 3}}};
constexpr std::array<Axes, 3> kOfFour{
    {{"[C, T, h, w]", -1, 0, 1, 2, 3}, {"[T, C, h, w]", -1, 1, 0, 2, 3}, {"[T, h, w, C]", -1, 3, 0, 1, 2}}};
constexpr std::array<Axes, 3> kPictures{
    {{"[B, C, h, w]", 0, 1, -1, 2, 3}, {"[C, T, h, w]", -1, 0, 1, 2, 3}, {"[B, h, w, C]", 0, 3, -1, 1, 2}}};
constexpr std::array<Axes, 2> kPicture{{{"[C, h, w]", -1, 0, -1, 1, 2}, {"[h, w, C]", -1, 2, -1, 0, 1}}};

/// The usual order first.
std::span<const Axes> orders_of(std::size_t rank, bool pictures) {
    if (rank == 5) return kOfFive;
    if (rank == 4) return pictures ? std::span<const Axes>(kPictures) : std::span<const Axes>(kOfFour);
    if (rank == 3) return kPicture;
    return {};
}

std::int64_t extent(const tensor::Shape& shape, int axis) {
    return axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)];
}

/// Without leading axes of 1 beyond five dimensions.
tensor::Shape squeezed(tensor::Shape shape) {
    while (shape.size() > 5 && shape.front() == 1) shape.erase(shape.begin());
    return shape;
}

/// The first order in which the shape has the channels; null if there is none.
const Axes* find_order(const tensor::Shape& shape, std::int64_t channels, bool pictures) {
    const std::span<const Axes> orders = orders_of(shape.size(), pictures);
    if (orders.empty() || (channels == 0 && shape.size() == 3)) return nullptr;
    if (channels == 0) return orders.data();
    const auto found =
        std::ranges::find_if(orders, [&](const Axes& axes) { return extent(shape, axes.channels) == channels; });
    return found == orders.end() ? nullptr : &*found;
}

/// " (48 channels are latents of Wan 2.2)"; empty if no family takes so many.
std::string takers_of(std::int64_t channels) {
    const std::string families = families::any_of(&families::Family::latents, channels);
    return families.empty() ? "" : fmt::format(" ({} channels are latents of {})", channels, families);
}

Error no_order(const tensor::Shape& shape, const LatentsWanted& wanted, bool pictures, const std::string& file) {
    const std::string text = tensor::to_string(shape);
    const std::span<const Axes> orders = orders_of(shape.size(), pictures);
    if (orders.empty() || wanted.channels == 0)
        return {ErrorCode::InvalidArgument,
                fmt::format("{}: latents {} have {} dimension{}, wanted [C, T, h, w] or [B, C, T, h, w]", file, text,
                            shape.size(), shape.size() == 1 ? "" : "s")};
    const std::int64_t channels = extent(shape, orders.front().channels);
    std::string others;
    for (const Axes& axes : orders.subspan(1))
        others += fmt::format(", as {} {}", axes.text, extent(shape, axes.channels));
    return {ErrorCode::InvalidArgument,
            fmt::format("{} has {} latent channels, {} and takes {}{}; its shape {} is read as {}{}", file, channels,
                        wanted.decoder, wanted.channels, takers_of(channels), text, orders.front().text,
                        others.empty() ? "" : "; it would have" + others.substr(1) + " channels")};
}

// ---- the tensor -----------------------------------------------------------------------------------------------------

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool is_float(tensor::DType dtype) {
    using tensor::DType;
    constexpr std::array kFloats{DType::F32, DType::F16, DType::BF16, DType::F64, DType::F8E4M3, DType::F8E5M2};
    return std::ranges::find(kFloats, dtype) != kFloats.end();
}

std::string names_of(const formats::TensorSource& file) {
    constexpr std::size_t kMost = 10;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(kMost, file.tensors().size()); ++i) {
        names.push_back(tensor::quoted_name(file.tensors()[i].name));
    }
    if (file.tensors().size() > kMost) names.push_back(fmt::format("{} more", file.tensors().size() - kMost));
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

using Found = std::vector<const NamedTensor*>;

template <class Matches>
Found all_that(const formats::TensorSource& file, const Matches& matches) {
    Found found;
    for (const NamedTensor& tensor : file.tensors())
        if (matches(tensor)) found.push_back(&tensor);
    return found;
}

Result<const NamedTensor*> only_of(const Found& found, const std::string& file) {
    if (found.size() == 1) return found.front();
    std::vector<std::string> names;
    for (const NamedTensor* tensor : found)
        names.push_back(fmt::format("{} {}", tensor::quoted_name(tensor->name), tensor::to_string(tensor->view.shape)));
    return fail(ErrorCode::InvalidArgument, "{}: several tensors could be the latents, {}: --tensor names the one",
                file, fmt::join(names, ", "));
}

/// What tools call latents: diffusers' scripts and this program; musubi-tuner; ComfyUI and its nodes. The last three
/// are what a file's only tensor is called.
constexpr std::array<std::string_view, 10> kNames{"latents", "latent",         "latent_tensor", "samples",
                                                  "z",       "latents_tensor", "video_latents", "tensor",
                                                  "array",   "arr_0"};

/// musubi-tuner's cache: named by size and type.
bool is_sized_name(std::string_view name) {
    for (const std::string_view begin : {"latents_", "latent_"})
        if (name.starts_with(begin) && name.size() > begin.size() &&
            std::isdigit(static_cast<unsigned char>(name[begin.size()])) != 0)
            return true;
    return false;
}

Result<const NamedTensor*> named(const formats::TensorSource& file, const std::string& name) {
    auto found = all_that(file, [&](const NamedTensor& tensor) { return tensor.name == name; });
    if (found.empty())
        found = all_that(file, [&](const NamedTensor& tensor) { return last_part(tensor.name) == name; });
    if (!found.empty()) return only_of(found, file.name());
    if (const auto other = file.unreadable().find(name); other != file.unreadable().end())
        return fail(ErrorCode::InvalidArgument, "{}: {} are {}, wanted a floating-point type", file.name(),
                    tensor::quoted_name(name), other->second);
    return fail(ErrorCode::NotFound, "{}: no tensor {} in it, but {}", file.name(), tensor::quoted_name(name),
                names_of(file));
}

Result<const NamedTensor*> find_tensor(const formats::TensorSource& file, const LatentsWanted& wanted,
                                       const LatentsChoices& choices) {
    if (!choices.tensor.empty()) return named(file, choices.tensor);
    for (const std::string_view name : kNames) {
        const bool there =
            file.unreadable().contains(std::string(name)) ||
            std::ranges::any_of(file.tensors(), [&](const auto& tensor) { return last_part(tensor.name) == name; });
        if (there) return named(file, std::string(name));
    }
    if (const Found sized = all_that(file, [](const auto& tensor) { return is_sized_name(last_part(tensor.name)); });
        !sized.empty())
        return only_of(sized, file.name());
    constexpr std::size_t kMost = 8;  // of which a person chooses; a file of more holds no latents
    const Found fitting = all_that(file, [&](const NamedTensor& tensor) {
        const tensor::Shape shape = squeezed(tensor.view.shape);
        return is_float(tensor.view.dtype) && find_order(shape, wanted.channels, wanted.pictures) != nullptr;
    });
    if (!fitting.empty() && fitting.size() <= kMost) return only_of(fitting, file.name());
    return named(file, std::string(kNames.front()));
}

// ---- values ---------------------------------------------------------------------------------------------------------

Result<void> check_size(const Latents& clip, const std::string& text) {
    const auto refuse = [&](std::string_view what) {
        return fail(ErrorCode::InvalidArgument, "{}: latents {} {}", clip.name, text, what);
    };
    if (clip.channels == 0) return refuse("have no channels");
    if (clip.frames == 0) return refuse("have no frames");
    if (clip.height < 1 || clip.height > kLargestLatentSide || clip.width < 1 || clip.width > kLargestLatentSide)
        return fail(ErrorCode::InvalidArgument,
                    "{}: latents {}: frames of {} x {} latent pixels, a side may have 1 to {}", clip.name, text,
                    clip.width, clip.height, kLargestLatentSide);
    return {};
}

/// The item of the batch to decode.
Result<std::int64_t> item_of(std::int64_t batch, const LatentsChoices& choices, const std::string& file,
                             const std::string& text) {
    const std::int64_t item = choices.batch_item.value_or(0);
    if (batch == 0) return fail(ErrorCode::InvalidArgument, "{}: latents {} are a batch of 0 clips", file, text);
    if (batch > 1 && !choices.batch_item)
        return fail(ErrorCode::InvalidArgument,
                    "{}: latents {} are a batch of {}: --batch-item, a number from 0 to {}, chooses the one to decode",
                    file, text, batch, batch - 1);
    if (item < 0 || item >= batch)
        return fail(ErrorCode::InvalidArgument, "{}: batch item {}: latents {} are a batch of {}, numbered from 0",
                    file, item, text, batch);
    return item;
}

/// The clip's values in the order [C, T, h, w], from those of a whole tensor of `shape`.
std::vector<float> in_order(std::vector<float> values, const tensor::Shape& shape, const Axes& axes,
                            std::int64_t item) {
    std::array<std::int64_t, 5> strides{};  // by place in the shape
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides.at(axis) = stride;
    const auto step = [&](int axis) { return axis < 0 ? 0 : strides.at(static_cast<std::size_t>(axis)); };
    const std::int64_t channels = extent(shape, axes.channels), frames = extent(shape, axes.frames);
    const std::int64_t height = extent(shape, axes.height), width = extent(shape, axes.width);
    const bool is_first = axes.channels < axes.height && (axes.frames < 0 || axes.channels < axes.frames);
    if (is_first && extent(shape, axes.batch) == 1) return values;
    std::vector<float> ordered;
    ordered.reserve(static_cast<std::size_t>(channels * frames * height * width));
    const std::int64_t begin = item * step(axes.batch);
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t t = 0; t < frames; ++t)
            for (std::int64_t y = 0; y < height; ++y) {
                const std::int64_t row =
                    begin + c * step(axes.channels) + t * step(axes.frames) + y * step(axes.height);
                for (std::int64_t x = 0; x < width; ++x)
                    ordered.push_back(values[static_cast<std::size_t>(row + x * step(axes.width))]);
            }
    return ordered;
}

Result<void> check_values(const Latents& clip) {
    const auto bad =
        std::find_if_not(clip.values.begin(), clip.values.end(), [](float value) { return std::isfinite(value); });
    if (bad == clip.values.end()) return {};
    const std::int64_t at = bad - clip.values.begin(), frame = clip.height * clip.width;
    return fail(
        ErrorCode::InvalidArgument,
        "{}: latents hold a value that is not finite at (c, t, y, x) = ({}, {}, {}, {}): it would spread over every "
        "later frame",
        clip.name, at / (clip.frames * frame), at / frame % clip.frames, at / clip.width % clip.height,
        at % clip.width);
}

// ---- scale ----------------------------------------------------------------------------------------------------------

void normalize(Latents& clip, const families::LatentStatistics& raw) {
    const std::int64_t of_a_channel = clip.frames * clip.height * clip.width;
    float* value = clip.values.data();
    for (std::int64_t c = 0; c < clip.channels; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        for (std::int64_t i = 0; i < of_a_channel; ++i, ++value)
            *value = (*value - raw.mean[channel]) / raw.std[channel];
    }
}

/// ComfyUI's mark of latents with the statistics applied.
bool is_marked_raw(const formats::TensorSource& file) {
    return std::ranges::any_of(file.tensors(), [](const NamedTensor& tensor) {
        return last_part(tensor.name).starts_with("latent_format_version_");
    });
}

void settle_scale(Latents& clip, bool marked, const LatentsWanted& wanted) {
    if (wanted.raw.mean.size() != static_cast<std::size_t>(clip.channels) || wanted.scale == LatentScale::Normalized)
        return;
    if (marked && wanted.scale == LatentScale::Auto)
        clip.notes.push_back({LogLevel::Info, fmt::format("{}: raw latents by its tensor latent_format_version: "
                                                          "z * std + mean is applied already",
                                                          clip.name)});
    if (marked || wanted.scale == LatentScale::Raw) return normalize(clip, wanted.raw);
    if (auto doubt = doubt_scale(clip.name, clip.values, wanted))
        clip.notes.push_back({LogLevel::Warning, *std::move(doubt)});
}

// ---- rate -----------------------------------------------------------------------------------------------------------

std::optional<double> parse_fps(const std::string& text) {
    double fps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fps);
    const bool in_range = fps >= kLowestFps && fps <= kHighestFps;  // false for NaN
    return error == std::errc() && end == text.data() + text.size() && in_range ? std::optional(fps) : std::nullopt;
}

void settle_fps(Latents& clip, const formats::TensorSource& file, const LatentsWanted& wanted,
                const LatentsChoices& choices) {
    clip.fps = choices.fps > 0 ? choices.fps : wanted.fps;
    if (choices.fps > 0) return;
    for (const char* key : {"fps", "frame_rate"}) {
        const auto text = file.metadata().find(key);
        if (text == file.metadata().end()) continue;
        if (const auto fps = parse_fps(text->second)) {
            clip.fps = *fps;
            return;
        }
        clip.notes.push_back(
            {LogLevel::Warning, fmt::format("{}: metadata {}: {} is not a number from {} to {}", clip.name, key,
                                            tensor::quoted_name(text->second), kLowestFps, kHighestFps)});
    }
    if (clip.frames > 1)
        clip.notes.push_back(
            {LogLevel::Info, fmt::format("{}: {:g} frames a second are assumed{}; --fps sets another rate", clip.name,
                                         clip.fps, wanted.latents.empty() ? "" : ", as for " + wanted.latents)});
}

// ---- likelihood of a scale ------------------------------------------------------------------------------------------

struct Moments {
    double mean = 0, std = 0;
};

Moments moments_of(std::span<const float> values) {
    double sum = 0, squares = 0;
    for (const float value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values) squares += (value - mean) * (value - mean);
    return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

/// How far the channels are from having mean `mean_of(c)` and deviation `std_of(c)`, in squares of what a clip deviates
/// from its latent space: each channel's mean by half a deviation and the logarithm of its deviation by 0.35; all
/// channels together, by their contrast, by 0.4.
template <class Of>
double distance(std::span<const Moments> channels, const Of& expected) {
    constexpr double kMean = 0.5, kLogStd = 0.35, kContrast = 0.4;
    double sum = 0, contrast = 0;
    const auto log_std = [&](std::size_t c) { return std::log(channels[c].std / expected(c).std); };
    for (std::size_t c = 0; c < channels.size(); ++c) contrast += log_std(c) / static_cast<double>(channels.size());
    for (std::size_t c = 0; c < channels.size(); ++c) {
        const double mean = (channels[c].mean - expected(c).mean) / channels[c].std / kMean;
        const double std = (log_std(c) - contrast) / kLogStd;
        sum += mean * mean + std * std;
    }
    return sum + contrast * contrast / (kContrast * kContrast);
}

}  // namespace

std::optional<std::string> doubt_scale(std::string_view name, std::span<const float> values,
                                       const LatentsWanted& wanted) {
    const std::size_t channels = wanted.raw.mean.size();
    if (wanted.scale != LatentScale::Auto || channels == 0 || values.empty() || values.size() % channels != 0)
        return std::nullopt;
    std::vector<Moments> moments;
    for (std::size_t c = 0; c < channels; ++c) {
        moments.push_back(moments_of(values.subspan(c * (values.size() / channels), values.size() / channels)));
        if (!(moments.back().std > 0)) return std::nullopt;
    }
    const double normalized = distance(moments, [](std::size_t) { return Moments{0, 1}; });
    const double raw = distance(moments, [&](std::size_t c) { return Moments{wanted.raw.mean[c], wanted.raw.std[c]}; });
    // Twice the logarithm of how much likelier raw is. With clips as far off as the weights say, one of 300 normalised
    // clips is doubted and one of 100 raw ones is not.
    constexpr double kDoubtful = 2;
    if (normalized - raw < kDoubtful) return std::nullopt;
    return fmt::format(
        "{}: its channels have the means and deviations of raw {} latents, and are decoded as normalised "
        "ones: if the colours are wrong, --latents raw",
        name, wanted.latents);
}

Result<Latents> Latents::open(const std::filesystem::path& path, const LatentsWanted& wanted,
                              const LatentsChoices& choices, const tensor::ReadOptions& options) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return fail(ErrorCode::InvalidArgument, "{}: a folder, wanted a file of latents", path.string());
    KG_TRY(const auto file, formats::open(path, options));
    return read(file, wanted, choices);
}

Result<Latents> Latents::read(const formats::TensorSource& file, const LatentsWanted& wanted,
                              const LatentsChoices& choices) {
    if (choices.fps != 0 && !(choices.fps >= kLowestFps && choices.fps <= kHighestFps))
        return fail(ErrorCode::InvalidArgument, "{} frames a second: wanted {} to {}", choices.fps, kLowestFps,
                    kHighestFps);
    KG_TRY(const NamedTensor* found, find_tensor(file, wanted, choices));
    const tensor::TensorView& view = found->view;
    if (!is_float(view.dtype))
        return fail(ErrorCode::InvalidArgument, "{}: latents are {}, wanted a floating-point type", file.name(),
                    tensor::to_string(view.dtype));
    const std::string text = tensor::to_string(view.shape);
    const tensor::Shape shape = squeezed(view.shape);
    const bool marked = is_marked_raw(file);
    const bool pictures = wanted.pictures || marked || choices.batch_item.has_value();
    const Axes* axes = find_order(shape, wanted.channels, pictures);
    if (axes == nullptr) return fail(no_order(view.shape, wanted, pictures, file.name()));
    KG_TRY(const std::int64_t item, item_of(extent(shape, axes->batch), choices, file.name(), text));

    Latents clip{.name = file.name(),
                 .channels = extent(shape, axes->channels),
                 .frames = extent(shape, axes->frames),
                 .height = extent(shape, axes->height),
                 .width = extent(shape, axes->width),
                 .values = {}};
    KG_CHECK(check_size(clip, text));
    KG_TRY_IN(file.name(), auto values, tensor::to_f32(view, found->name));
    clip.values = in_order(std::move(values), shape, *axes, item);
    clip.content_hash = XXH3_64bits(file.files().front().data(), file.files().front().size());
    if (const std::string_view name = last_part(found->name);
        choices.tensor.empty() && std::ranges::find(kNames, name) == kNames.end())
        clip.notes.push_back({LogLevel::Info, fmt::format("{}: the latents are its tensor {}", clip.name,
                                                          tensor::quoted_name(found->name))});
    if (axes->channels != axes->batch + 1)
        clip.notes.push_back({LogLevel::Info, fmt::format("{}: latents {} are read as {}, by the {} channels",
                                                          clip.name, text, axes->text, clip.channels)});
    settle_scale(clip, marked, wanted);
    KG_CHECK(check_values(clip));  // large values without the statistics are larger
    settle_fps(clip, file, wanted, choices);
    return clip;
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
