#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/calibration.hpp>
#include <kinetograph/compute/vae/traced_clip.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kinetograph::vae {

namespace {

constexpr std::string_view kMetadata = "kinetograph.int8";
constexpr std::string_view kVersion = "1";

std::string input_of_layer(const std::string& conv) { return conv + ".input"; }

LoadTensor loads(const Checkpoint& checkpoint) {
    return [checkpoint](const std::string& name) { return checkpoint.load(name).value(); };
}

/// The values that the recipe stores as U8 in every kind of step; they point into `network`. Errors: those of nn::fuse,
/// Unsupported (none).
Result<std::vector<nn::ByteValue>> values_of(const nn::Network& network, const nn::ByteRecipe& recipe,
                                             const std::string& name) {
    KG_TRY(const auto first, nn::fuse(network, {.first_step = true}));
    KG_TRY(const auto later, nn::fuse(network, {.first_step = false}));
    std::vector<nn::ByteValue> values = nn::byte_values(later, recipe);
    const std::vector<nn::ByteValue> of_first = nn::byte_values(first, recipe);
    std::erase_if(values, [&](const nn::ByteValue& value) {
        return std::ranges::find(of_first, value.value, &nn::ByteValue::value) == of_first.end();
    });
    if (values.empty()) return fail(ErrorCode::Unsupported, "{}: recipe {} fits none of its layers", name, recipe.name);
    return values;
}

std::vector<float> filter_of(const nn::ByteValue& value, const LoadTensor& load) {
    return load_parameters(*value.conv, {}, "", load).filter;
}

/// XXH3-64 of the layers' filters.
std::uint64_t hash_of(const std::vector<nn::ByteValue>& values, const LoadTensor& load) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
    XXH3_64bits_reset(state.get());
    for (const nn::ByteValue& value : values) {
        const std::vector<float> filter = filter_of(value, load);
        XXH3_64bits_update(state.get(), filter.data(), filter.size() * sizeof(float));
    }
    return XXH3_64bits_digest(state.get());
}

/// The largest values by channel of traced values, [.., channels].
void add_largest(std::span<const float> traced, std::vector<float>& largest) {
    const auto channels = static_cast<std::int64_t>(largest.size());
    const std::int64_t pixels = std::ssize(traced) / channels;
    constexpr std::int64_t kPixels = 4096;  // of a task
    std::vector<std::vector<float>> of_workers(static_cast<std::size_t>(worker_count()), largest);
    for_tasks((pixels + kPixels - 1) / kPixels, [&](std::int64_t task, int worker) {
        std::vector<float>& own = of_workers[static_cast<std::size_t>(worker)];
        const std::int64_t end = std::min(pixels, (task + 1) * kPixels);
        for (std::int64_t pixel = task * kPixels; pixel < end; ++pixel)
            for (std::int64_t c = 0; c < channels; ++c) own[c] = std::max(own[c], traced[pixel * channels + c]);
    });
    for (const std::vector<float>& own : of_workers)
        for (std::int64_t c = 0; c < channels; ++c) largest[c] = std::max(largest[c], own[c]);
}

/// Decodes clips and keeps the largest values of some of the network's modules.
class RangeRuns {
  public:
    RangeRuns(std::shared_ptr<Model> model, std::vector<std::string> modules, std::vector<std::vector<float>>& largest,
              const CallLimits& limits)
        : model_(std::move(model)), modules_(std::move(modules)), largest_(largest), limits_(limits) {}

    Result<void> run(const Latents& clip) {
        KG_TRY(const auto traced, TracedClip::open(model_, clip, limits_));
        for (std::size_t first = 0; first < modules_.size();) {
            const std::size_t count = traced->fitting(std::span(modules_).subspan(first));
            KG_CHECK(traced->begin(std::span(modules_).subspan(first, count)));
            for (std::int64_t t = 0; t < clip.frames; ++t) {
                KG_CHECK(traced->step(t));
                for (std::size_t i = 0; i < count; ++i) add_largest(traced->values(i), largest_[first + i]);
            }
            first += count;
        }
        return {};
    }

  private:
    std::shared_ptr<Model> model_;
    std::vector<std::string> modules_;
    std::vector<std::vector<float>>& largest_;  ///< [module][channel]
    CallLimits limits_;
};

/// A tensor that read_calibration() wants. Errors: Corrupt.
Result<std::vector<float>> read_floats(const Checkpoint& checkpoint, const std::string& name, std::int64_t count) {
    const tensor::TensorView* view = checkpoint.file()->find(name);
    if (view == nullptr) return fail(ErrorCode::Corrupt, "{}: its calibration lacks \"{}\"", checkpoint.name(), name);
    if (view->dtype != tensor::DType::F32 || view->shape != tensor::Shape{count})
        return fail(ErrorCode::Corrupt, "{}: \"{}\" is {} {}, wanted F32 [{}]", checkpoint.name(), name,
                    tensor::to_string(view->dtype), tensor::to_string(view->shape), count);
    KG_TRY(auto values, tensor::to_f32(*view, name));
    const bool sound = std::ranges::all_of(values, [](float value) { return std::isfinite(value) && value >= 0; });
    if (!sound)
        return fail(ErrorCode::Corrupt, "{}: \"{}\" has a value that is not finite or below 0", checkpoint.name(),
                    name);
    return values;
}

/// The smallest type that holds the values without rounding, and they in it.
std::pair<tensor::DType, std::vector<std::byte>> lossless(const std::vector<float>& values) {
    for (const tensor::DType dtype : {tensor::DType::BF16, tensor::DType::F16}) {
        const bool bf16 = dtype == tensor::DType::BF16;
        std::vector<std::uint16_t> words;
        const bool same = std::ranges::all_of(values, [&](float value) {
            words.push_back(bf16 ? tensor::to_bf16(value) : tensor::to_f16(value));
            return (bf16 ? tensor::from_bf16(words.back()) : tensor::from_f16(words.back())) == value;
        });
        const auto bytes = std::as_bytes(std::span(words));
        if (same) return {dtype, {bytes.begin(), bytes.end()}};
    }
    const auto bytes = std::as_bytes(std::span(values));
    return {tensor::DType::F32, {bytes.begin(), bytes.end()}};
}

}  // namespace

Result<const nn::ByteRecipe*> find_byte_recipe(const families::Family& family, std::string_view name) {
    if (family.bytes.empty()) {
        std::vector<std::string_view> known;
        for (const families::Family& other : families::all())
            if (!other.bytes.empty()) known.push_back(other.title);
        return fail(ErrorCode::Unsupported, "sums int8: there is no recipe for {}; there is for {}", family.title,
                    fmt::join(known, ", "));
    }
    if (name.empty()) return &family.bytes.front();
    const auto found = std::ranges::find(family.bytes, name, &nn::ByteRecipe::name);
    if (found != family.bytes.end()) return &*found;
    std::vector<std::string_view> known;
    for (const nn::ByteRecipe& recipe : family.bytes) known.push_back(recipe.name);
    return fail(ErrorCode::InvalidArgument, "sums int8: {} has no recipe \"{}\"; it has {}", family.title, name,
                fmt::join(known, ", "));
}

Result<Calibration> calibrate(accel::Device& device, const Checkpoint& checkpoint, const nn::ByteRecipe& recipe,
                              std::span<const Latents> clips, const CallLimits& limits) {
    const nn::Network network = checkpoint.network();
    const LoadTensor load = loads(checkpoint);
    KG_TRY(const auto values, values_of(network, recipe, checkpoint.name()));
    NetworkDesc desc{.network = network,
                     .title = checkpoint.family().title,
                     .one_step = checkpoint.one_latent_frame(),
                     .scale = checkpoint.latents_std(),
                     .shift = checkpoint.latents_mean()};
    std::vector<std::string> modules;
    std::vector<std::vector<float>> largest;
    for (const nn::ByteValue& value : values) {
        modules.push_back(input_of_layer(value.conv->key));
        desc.network.module(modules.back(), value.value);
        largest.emplace_back(static_cast<std::size_t>(value.conv->c_in), 0.0F);
    }
    KG_TRY(auto model, Model::create(device, checkpoint.name(), std::move(desc), load));
    RangeRuns runs(std::move(model), std::move(modules), largest, limits);
    for (const Latents& clip : clips) KG_CHECK(runs.run(clip));

    Calibration calibration{.recipe = recipe.name, .filters = hash_of(values, load)};
    for (std::size_t i = 0; i < values.size(); ++i)
        calibration.layers.push_back(nn::byte_layer(values[i], recipe, largest[i], filter_of(values[i], load)));
    return calibration;
}

Latents synthetic_clip(const Checkpoint& checkpoint) {
    constexpr std::int64_t kHeight = 12, kWidth = 16, kBlock = 4;
    const std::int64_t frames = checkpoint.one_latent_frame() ? 1 : 3;
    Latents clip;
    clip.name = "synthetic latents";
    clip.channels = checkpoint.z_dim();
    clip.frames = frames;
    clip.height = kHeight;
    clip.width = kWidth;
    clip.values = synthetic_tensor("calibration.latents", {clip.channels, frames, kHeight, kWidth}).value();
    const auto at = [&](std::int64_t plane, std::int64_t y, std::int64_t x) -> float& {
        return clip.values[static_cast<std::size_t>((plane * kHeight + y) * kWidth + x)];
    };
    for (std::int64_t plane = 0; plane < clip.channels * frames; ++plane)
        for (std::int64_t y = kHeight - 1; y >= 0; --y)
            for (std::int64_t x = kWidth - 1; x >= 0; --x)
                at(plane, y, x) = (at(plane, y, x) + at(plane, y / kBlock * kBlock, x / kBlock * kBlock)) / 2;
    return clip;
}

Result<std::optional<Calibration>> read_calibration(const Checkpoint& checkpoint) {
    if (checkpoint.synthetic()) return std::nullopt;
    const auto& metadata = checkpoint.file()->metadata();
    const auto said = [&](std::string_view what) {
        const auto found = metadata.find(fmt::format("{}.{}", kMetadata, what));
        return found == metadata.end() ? std::string() : found->second;
    };
    const auto version = metadata.find(std::string(kMetadata));
    if (version == metadata.end()) return std::nullopt;
    if (version->second != kVersion)
        return fail(ErrorCode::Unsupported, "{}: its calibration is of version {}, this program reads {}",
                    checkpoint.name(), tensor::quoted_name(version->second), kVersion);
    KG_TRY_IN(checkpoint.name(), const auto* recipe, find_byte_recipe(checkpoint.family(), said("recipe")));
    const nn::Network network = checkpoint.network();
    KG_TRY(const auto values, values_of(network, *recipe, checkpoint.name()));
    Calibration calibration{.recipe = recipe->name, .filters = hash_of(values, loads(checkpoint))};
    if (const std::string hash = fmt::format("{:016x}", calibration.filters); hash != said("filters"))
        return fail(ErrorCode::InvalidArgument,
                    "{}: its calibration is of filters {}, these are {}: `kinetograph calibrate` makes theirs",
                    checkpoint.name(), tensor::quoted_name(said("filters")), hash);
    for (const nn::ByteValue& value : values) {
        const std::string& key = value.conv->key;
        nn::ByteLayer layer{.value = value.value, .conv = key, .norm = value.norm->key};
        KG_TRY(const auto input, read_floats(checkpoint, key + ".int8.input", 2));
        KG_TRY(layer.folds, read_floats(checkpoint, key + ".int8.folds", value.conv->c_in));
        KG_TRY(layer.steps, read_floats(checkpoint, key + ".int8.steps", value.conv->filter.k));
        const auto positive = [](float each) { return each > 0; };
        if (input[0] == 0 || input[1] > 255 || !std::ranges::all_of(layer.folds, positive) ||
            !std::ranges::all_of(layer.steps, positive))
            return fail(ErrorCode::Corrupt, "{}: the calibration of \"{}\" has a step of 0, or a zero point above 255",
                        checkpoint.name(), key);
        layer.input = {Element::U8, input[0], static_cast<std::int32_t>(input[1])};
        calibration.layers.push_back(std::move(layer));
    }
    for (const auto& [key, text] : metadata)
        if (const std::string prefix = fmt::format("{}.", kMetadata); key.starts_with(prefix))
            calibration.measured[key.substr(prefix.size())] = text;
    calibration.measured.erase("recipe");
    calibration.measured.erase("filters");
    return calibration;
}

Result<void> write_calibrated(const std::filesystem::path& path, const Checkpoint& checkpoint,
                              const Calibration& calibration) {
    std::vector<std::vector<std::byte>> contents;
    std::vector<tensor::NamedTensor> tensors;
    const auto add = [&](const std::string& name, const tensor::Shape& shape, const std::vector<float>& values,
                         bool packs) {
        const auto bytes = std::as_bytes(std::span(values));
        auto [dtype, stored] =
            packs ? lossless(values) : std::pair(tensor::DType::F32, std::vector(bytes.begin(), bytes.end()));
        contents.push_back(std::move(stored));
        tensors.push_back({name, {dtype, shape, contents.back().data(), contents.back().size()}});
    };
    for (const std::string& name : checkpoint.tensor_names()) {
        KG_TRY(const auto values, checkpoint.load(name));
        KG_TRY(const auto shape, checkpoint.shape(name));
        add(name, shape, values, true);
    }
    for (const nn::ByteLayer& layer : calibration.layers) {
        add(layer.conv + ".int8.input", {2}, {layer.input.scale, static_cast<float>(layer.input.zero)}, false);
        add(layer.conv + ".int8.folds", {std::ssize(layer.folds)}, layer.folds, false);
        add(layer.conv + ".int8.steps", {std::ssize(layer.steps)}, layer.steps, false);
    }
    std::map<std::string, std::string> metadata;
    if (checkpoint.file() != nullptr) metadata = checkpoint.file()->metadata();
    std::erase_if(metadata, [](const auto& entry) { return entry.first.starts_with(kMetadata); });
    const auto say = [&](const std::string& what, std::string text) {
        metadata[what.empty() ? std::string(kMetadata) : fmt::format("{}.{}", kMetadata, what)] = std::move(text);
    };
    say("", std::string(kVersion));
    say("recipe", calibration.recipe);
    say("filters", fmt::format("{:016x}", calibration.filters));
    for (const auto& [what, text] : calibration.measured) say(what, text);
    return tensor::write_safetensors(path, tensors, metadata);
}

}  // namespace kinetograph::vae
