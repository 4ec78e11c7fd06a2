#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/latent_patches.hpp>
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
    std::string_view letters;
    int batch, channels, frames, height, width;
};

constexpr Axes axes_of(std::string_view letters) {
    const auto place_of = [&](char letter) {
        const std::size_t place = letters.find(letter);
        return place == std::string_view::npos ? -1 : static_cast<int>(place);
    };
    return {letters, place_of('B'), place_of('C'), place_of('T'), place_of('h'), place_of('w')};
}

/// The usual order first.
constexpr std::array kOfFive{axes_of("BCThw"), axes_of("BTChw"), axes_of("BThwC")};
constexpr std::array kOfFour{axes_of("CThw"), axes_of("TChw"), axes_of("ThwC")};
constexpr std::array kPictures{axes_of("BChw"), axes_of("CThw"), axes_of("BhwC")};
constexpr std::array kPicture{axes_of("Chw"), axes_of("hwC")};

using Orders = std::vector<Axes>;

/// In which a shape may be: the one that was chosen, else all of its rank.
Orders orders_of(std::size_t rank, bool pictures, std::string_view chosen) {
    const auto all = [](const auto& orders) { return Orders(orders.begin(), orders.end()); };
    if (!chosen.empty()) return chosen.size() == rank ? Orders{axes_of(chosen)} : Orders{};
    if (rank == 5) return all(kOfFive);
    if (rank == 4) return pictures ? all(kPictures) : all(kOfFour);
    return rank == 3 ? all(kPicture) : Orders{};
}

/// "[B, C, T, h, w]"
std::string text_of(const Axes& axes) { return fmt::format("[{}]", fmt::join(axes.letters, ", ")); }

/// "btchw" as "BTChw". Errors: InvalidArgument for anything else than letters of axes, each once, with C, h and w.
Result<std::string> parse_axes(const std::string& text) {
    constexpr std::string_view kLetters = "BCThw";
    std::string letters;
    for (const char given : text)
        for (const char letter : kLetters)
            if (std::tolower(static_cast<unsigned char>(given)) == std::tolower(static_cast<unsigned char>(letter)) &&
                letters.find(letter) == std::string::npos)
                letters += letter;
    const Axes axes = axes_of(letters);
    if (!text.empty() && (letters.size() != text.size() || axes.channels < 0 || axes.height < 0 || axes.width < 0))
        return fail(ErrorCode::InvalidArgument,
                    "axes {}: wanted the letters C, h and w, and T and B where there are frames and a batch, in the "
                    "latents' order: BTChw",
                    tensor::quoted_name(text));
    return letters;
}

std::int64_t extent(const tensor::Shape& shape, int axis) {
    return axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)];
}

/// Without leading axes of 1 beyond those that the chosen order has, else five.
tensor::Shape squeezed(tensor::Shape shape, std::string_view chosen) {
    constexpr std::size_t kMost = 5;
    while (shape.size() > (chosen.empty() ? kMost : chosen.size()) && shape.front() == 1) shape.erase(shape.begin());
    return shape;
}

/// How many channels latents with patches as channels have.
std::int64_t channels_of_patches(const LatentsWanted& wanted) {
    return wanted.channels * wanted.raw.patch * wanted.raw.patch;
}

/// The orders in which the shape has the channels, or those of patches.
Orders fitting_orders(const tensor::Shape& shape, const LatentsWanted& wanted, bool pictures, std::string_view chosen) {
    Orders orders = orders_of(shape.size(), pictures, chosen);
    if (wanted.channels == 0 && chosen.empty()) orders.resize(shape.size() == 3 || orders.empty() ? 0 : 1, axes_of(""));
    if (wanted.channels != 0)
        std::erase_if(orders, [&](const Axes& axes) {
            const std::int64_t channels = extent(shape, axes.channels);
            return channels != wanted.channels && channels != channels_of_patches(wanted);
        });
    return orders;
}

/// How much neighbours along an axis differ: the mean square of their difference over twice the variance. About 1 along
/// channels, which are independent of one another; less along height, width and time. Nothing for values that tell
/// nothing: fewer than 512, or all the same.
std::optional<double> roughness(std::span<const float> values, const tensor::Shape& shape, int axis) {
    constexpr std::size_t kFewest = 512;
    const auto place = static_cast<std::size_t>(axis);
    if (axis < 0 || shape[place] < 2 || values.size() < kFewest) return std::nullopt;
    std::size_t stride = 1;
    for (std::size_t i = place + 1; i < shape.size(); ++i) stride *= static_cast<std::size_t>(shape[i]);
    const std::size_t block = stride * static_cast<std::size_t>(shape[place]);
    double sum = 0, squares = 0, differences = 0;
    for (const float value : values) {
        sum += value;
        squares += double{value} * value;
    }
    for (std::size_t i = 0; i + stride < values.size(); ++i) {
        const double difference = i % block < block - stride ? double{values[i + stride]} - values[i] : 0;
        differences += difference * difference;
    }
    const auto count = static_cast<double>(values.size()), extent = static_cast<double>(shape[place]);
    const double variance = squares / count - sum / count * (sum / count);
    if (!(variance > 0)) return std::nullopt;
    return differences / (count * (extent - 1) / extent) / (2 * variance);
}

/// The first of the orders, unless the values say that the channels are elsewhere: along them neighbours differ most.
/// Null if they say so of every one of the orders, and that the `usual` one, which has other channels, is right.
const Axes* order_by_values(const Orders& fitting, const Axes& usual, std::span<const float> values,
                            const tensor::Shape& shape) {
    constexpr double kClearly = 0.3;
    if (fitting.size() == 1 && fitting.front().letters == usual.letters) return fitting.data();
    const auto rough = [&](const Axes& axes) { return roughness(values, shape, axes.channels); };
    const Axes* best = fitting.data();
    for (const Axes& axes : fitting)
        if (const auto here = rough(axes), there = rough(*best); here && there && *here > *there + kClearly)
            best = &axes;
    const auto here = rough(*best), there = rough(usual);
    return here && there && *there > *here + kClearly ? nullptr : best;
}

/// "16"; "32, or 128 of patches of 2 x 2"
std::string channels_text(const LatentsWanted& wanted) {
    const std::int64_t patch = wanted.raw.patch;
    return patch == 1 ? fmt::to_string(wanted.channels)
                      : fmt::format("{}, or {} of patches of {} x {}", wanted.channels, channels_of_patches(wanted),
                                    patch, patch);
}

Error no_order(const tensor::Shape& shape, const LatentsWanted& wanted, const Orders& orders, const std::string& file) {
    constexpr std::int64_t kPacked = 4;  // pixels in one
    const std::string text = tensor::to_string(shape);
    if (orders.empty() || wanted.channels == 0)
        return {ErrorCode::InvalidArgument,
                fmt::format("{}: latents {} have {} dimension{}, wanted [C, T, h, w] or [B, C, T, h, w]", file, text,
                            shape.size(), shape.size() == 1 ? "" : "s")};
    std::vector<std::string> read;
    for (const Axes& axes : orders)
        read.push_back(
            fmt::format("{}{} as {}", extent(shape, axes.channels), read.empty() ? " channels" : "", text_of(axes)));
    const bool is_packed = wanted.raw.patch == 1 && shape.size() == 3 && shape.back() == kPacked * wanted.channels;
    return {
        ErrorCode::InvalidArgument,
        fmt::format("{}: latents {} have {}; {} and takes {}{}{}", file, text, fmt::join(read, ", "), wanted.decoder,
                    channels_text(wanted), families::takers_of(extent(shape, orders.front().channels)),
                    is_packed ? ". They look packed, four pixels in one, as diffusers' pipelines keep those of "
                                "pictures: unpack them first, by the pipeline's _unpack_latents"
                              : "")};
}

/// Of latents whose shape fits in an order that their values contradict.
Error contradicted(const tensor::Shape& shape, const LatentsWanted& wanted, const Axes& usual, const Axes& fitting,
                   const std::string& file) {
    const std::int64_t channels = extent(shape, usual.channels), taken = extent(shape, fitting.channels);
    return {
        ErrorCode::InvalidArgument,
        fmt::format("{}: latents {} have {} channels as {}; {} and takes {}{}. By their values the axis of {} in {} "
                    "is none of channels: if it is, --axes {}",
                    file, tensor::to_string(shape), channels, text_of(usual), wanted.decoder, channels_text(wanted),
                    families::takers_of(channels), taken, text_of(fitting), fitting.letters)};
}

/// Refuses a row of patches: what diffusers' pipelines of FLUX.2 return as latents has no height and width.
Result<void> check_not_tokens(const tensor::Shape& shape, const Axes& axes, const LatentsWanted& wanted,
                              const LatentsChoices& choices, const std::string& file) {
    if (wanted.raw.patch == 1 || !choices.axes.empty() || shape.size() != 3 || shape.front() != 1 ||
        axes.channels != 2 || shape.back() != channels_of_patches(wanted))
        return {};
    return fail(ErrorCode::InvalidArgument,
                "{}: latents {} are a row of patches, as diffusers' pipelines return them, without their height and "
                "width: unpack them first, by the pipeline's _unpack_latents_with_ids; a picture of one row of "
                "patches is --axes hwC",
                file, tensor::to_string(shape));
}

// ---- the tensor -----------------------------------------------------------------------------------------------------

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool is_float(tensor::DType dtype) {
    using tensor::DType;
    constexpr std::array kFloats{DType::F32, DType::F16, DType::BF16, DType::F64, DType::F8E4M3, DType::F8E5M2};
    return std::ranges::find(kFloats, dtype) != kFloats.end();
}

std::string names_of(const formats::TensorSource& file) {
    std::vector<std::string> names;
    for (const NamedTensor& tensor : file.tensors()) names.push_back(tensor::quoted_name(tensor.name));
    for (const auto& [name, type] : file.unreadable())
        names.push_back(fmt::format("{} ({}, which cannot be read)", tensor::quoted_name(name), type));
    return names.empty() ? "nothing" : tensor::first_ten(names);
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
        return fail(ErrorCode::InvalidArgument, "{}: tensor {} is {}, which cannot be read: save it as float32",
                    file.name(), tensor::quoted_name(name), other->second);
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
    const auto fits = [&](const NamedTensor& tensor, bool usually) {
        const tensor::Shape shape = squeezed(tensor.view.shape, choices.axes);
        const Orders orders = fitting_orders(shape, wanted, wanted.pictures, choices.axes);
        return is_float(tensor.view.dtype) && !orders.empty() &&
               (!usually ||
                orders.front().channels == orders_of(shape.size(), wanted.pictures, choices.axes).front().channels);
    };
    for (const bool usually : {true, false}) {  // a mask may fit in an order that is not usual
        const Found fitting = all_that(file, [&](const NamedTensor& tensor) { return fits(tensor, usually); });
        if (!fitting.empty() && fitting.size() <= kMost) return only_of(fitting, file.name());
    }
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

/// Values with patches as channels times the deviations, plus the means.
void undo_normalization(Latents& clip, const families::LatentStatistics& raw) {
    const std::size_t of_a_channel = clip.values.size() / raw.std.size();
    for (std::size_t i = 0; i < clip.values.size(); ++i)
        clip.values[i] = clip.values[i] * raw.std[i / of_a_channel] + raw.mean[i / of_a_channel];
}

/// The name of ComfyUI's mark of latents with the statistics applied, if the file has it.
std::optional<std::string> marker_of_raw(const formats::TensorSource& file) {
    const auto found = std::ranges::find_if(file.tensors(), [](const NamedTensor& tensor) {
        return last_part(tensor.name).starts_with("latent_format_version_");
    });
    return found == file.tensors().end() ? std::nullopt : std::optional(found->name);
}

void settle_scale(Latents& clip, const std::optional<std::string>& marker, const LatentsWanted& wanted) {
    if (wanted.raw.mean.size() != static_cast<std::size_t>(clip.channels) || wanted.scale == LatentScale::Normalized)
        return;
    if (marker && wanted.scale == LatentScale::Auto)
        clip.notes.push_back({LogLevel::Info, fmt::format("{}: raw latents by its tensor {}: z * std + mean is applied "
                                                          "already",
                                                          clip.name, *marker)});
    if (marker || wanted.scale == LatentScale::Raw) return normalize(clip, wanted.raw);
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

/// Twice the logarithm of how much likelier raw latents are than normalised ones; nothing if the values, [channels, n],
/// do not tell.
std::optional<double> favour_of_raw(std::span<const float> values, const families::LatentStatistics& raw) {
    const std::size_t channels = raw.mean.size();
    if (channels == 0 || values.empty() || values.size() % channels != 0) return std::nullopt;
    std::vector<Moments> moments;
    for (std::size_t c = 0; c < channels; ++c) {
        moments.push_back(moments_of(values.subspan(c * (values.size() / channels), values.size() / channels)));
        if (!(moments.back().std > 0)) return std::nullopt;
    }
    return distance(moments,
                    [](std::size_t) {
                        return Moments{0, 1};
                    }) -
           distance(moments, [&](std::size_t c) {
               return Moments{raw.mean[c], raw.std[c]};
           });
}

/// With clips as far off as the weights of distance() say, one of 300 normalised clips is doubted and one of 100 raw
/// ones is not.
constexpr double kDoubtful = 2;

std::string doubt_of(std::string_view name, std::string_view looks, std::string_view decoded_as,
                     std::string_view option, const LatentsWanted& wanted) {
    return fmt::format(
        "{}: its channels have the means and deviations of {} {} latents, and are decoded as {} ones: if the colours "
        "are wrong, --latents {}",
        name, looks, wanted.latents, decoded_as, option);
}

// ---- patches --------------------------------------------------------------------------------------------------------

/// Brings latents with patches as channels, or of pixels, to raw ones of pixels.
Result<void> settle_patches(Latents& clip, const LatentsWanted& wanted) {
    const std::int64_t patch = wanted.raw.patch;
    const bool in_patches = clip.channels != wanted.channels;
    const std::int64_t pixels = in_patches ? patch : 1;
    const PatchedShape shape{wanted.channels, clip.frames, clip.height * pixels, clip.width * pixels, patch};
    const bool is_normalized = wanted.scale == LatentScale::Auto ? in_patches : wanted.scale == LatentScale::Normalized;
    if (shape.height % patch != 0 || shape.width % patch != 0) {
        if (!is_normalized) return {};
        return fail(ErrorCode::InvalidArgument,
                    "{}: normalised latents are patches of {} x {} pixels, of which there are {} x {}", clip.name,
                    patch, patch, clip.width, clip.height);
    }
    if (in_patches)
        clip.notes.push_back({LogLevel::Info, fmt::format("{}: its {} channels are those of patches of {} x {} pixels, "
                                                          "of {} latents",
                                                          clip.name, clip.channels, patch, patch,
                                                          is_normalized ? "normalised" : "raw")});
    else
        clip.values = to_patches(clip.values, shape);
    if (const auto favour = favour_of_raw(clip.values, wanted.raw); favour && wanted.scale == LatentScale::Auto) {
        if (is_normalized && *favour >= kDoubtful)
            clip.notes.push_back({LogLevel::Warning, doubt_of(clip.name, "raw", "normalised", "raw", wanted)});
        if (!is_normalized && *favour <= -kDoubtful)
            clip.notes.push_back({LogLevel::Warning, doubt_of(clip.name, "normalised", "raw", "normalized", wanted)});
    }
    if (is_normalized) undo_normalization(clip, wanted.raw);
    clip.values = from_patches(clip.values, shape);
    clip.channels = shape.channels;
    clip.height = shape.height;
    clip.width = shape.width;
    return {};
}

}  // namespace

std::optional<std::string> doubt_scale(std::string_view name, std::span<const float> values,
                                       const LatentsWanted& wanted) {
    if (wanted.scale != LatentScale::Auto || wanted.raw.patch > 1) return std::nullopt;
    const auto favour = favour_of_raw(values, wanted.raw);
    if (!favour || *favour < kDoubtful) return std::nullopt;
    return doubt_of(name, "raw", "normalised", "raw", wanted);
}

Result<Latents> Latents::open(const std::filesystem::path& path, const LatentsWanted& wanted,
                              const LatentsChoices& given, const tensor::ReadOptions& options) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return fail(ErrorCode::InvalidArgument, "{}: a folder, wanted a file of latents", path.string());
    KG_TRY(const auto file, formats::open(path, options));
    return read(file, wanted, given);
}

Result<Latents> Latents::read(const formats::TensorSource& file, const LatentsWanted& wanted,
                              const LatentsChoices& given) {
    if (given.fps != 0 && !(given.fps >= kLowestFps && given.fps <= kHighestFps))
        return fail(ErrorCode::InvalidArgument, "{} frames a second: wanted {} to {}", given.fps, kLowestFps,
                    kHighestFps);
    LatentsChoices choices = given;
    KG_TRY(choices.axes, parse_axes(given.axes));
    KG_TRY(const NamedTensor* found, find_tensor(file, wanted, choices));
    const tensor::TensorView& view = found->view;
    if (!is_float(view.dtype))
        return fail(ErrorCode::InvalidArgument, "{}: latents are {}, wanted a floating-point type", file.name(),
                    tensor::to_string(view.dtype));
    const std::string text = tensor::to_string(view.shape);
    const tensor::Shape shape = squeezed(view.shape, choices.axes);
    const auto marker = marker_of_raw(file);
    const bool pictures = wanted.pictures || marker || choices.batch_item.has_value();
    const Orders orders = orders_of(shape.size(), pictures, choices.axes);
    const Orders fitting = fitting_orders(shape, wanted, pictures, choices.axes);
    if (!choices.axes.empty() && choices.axes.size() != shape.size())
        return fail(ErrorCode::InvalidArgument, "{}: latents {} have {} dimensions, the axes {} are {}", file.name(),
                    text, shape.size(), choices.axes, choices.axes.size());
    if (fitting.empty()) return fail(no_order(view.shape, wanted, orders, file.name()));
    KG_TRY_IN(file.name(), auto values, tensor::to_f32(view, found->name));
    const Axes* axes = order_by_values(fitting, orders.front(), values, shape);
    if (axes == nullptr) return fail(contradicted(shape, wanted, orders.front(), fitting.front(), file.name()));
    KG_CHECK(check_not_tokens(shape, *axes, wanted, choices, file.name()));
    KG_TRY(const std::int64_t item, item_of(extent(shape, axes->batch), choices, file.name(), text));

    Latents clip{.name = file.name(),
                 .channels = extent(shape, axes->channels),
                 .frames = extent(shape, axes->frames),
                 .height = extent(shape, axes->height),
                 .width = extent(shape, axes->width),
                 .values = {}};
    KG_CHECK(check_size(clip, text));
    clip.values = in_order(std::move(values), shape, *axes, item);
    clip.content_hash = XXH3_64bits(file.files().front().data(), file.files().front().size());
    if (const std::string_view name = last_part(found->name);
        choices.tensor.empty() && std::ranges::find(kNames, name) == kNames.end())
        clip.notes.push_back({LogLevel::Info, fmt::format("{}: the latents are its tensor {}", clip.name,
                                                          tensor::quoted_name(found->name))});
    if (choices.axes.empty() && axes->channels != axes->batch + 1)
        clip.notes.push_back(
            {LogLevel::Info,
             fmt::format("{}: latents {} are read as {}, by the {} channels; --axes names another order", clip.name,
                         text, text_of(*axes), clip.channels)});
    if (wanted.raw.patch > 1) {
        KG_CHECK(settle_patches(clip, wanted));
        KG_CHECK(check_size(clip, text));
    } else {
        settle_scale(clip, marker, wanted);
    }
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
