#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/latent_statistics.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/recognition.hpp>
#include <kinetograph/compute/vae/taesd_files.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace kinetograph::vae {

namespace {

constexpr std::string_view kSyntheticPrefix = "synthetic:";

}  // namespace

struct Checkpoint::State {
    struct Entry {
        nn::Parameter parameter;
        std::optional<tensor::TensorView> stored{};  // absent in a synthetic checkpoint
        std::optional<tensor::TensorView> factor{};  // of elements of 8 bits
    };

    std::string name;
    std::shared_ptr<const formats::TensorSource> file;  // null for a synthetic checkpoint
    bool is_encoder = false;
    KeyScheme scheme;
    families::Widths widths;
    std::uint64_t parameters = 0, content_hash = 0;
    tensor::DType dtype = tensor::DType::F32;
    families::LatentStatistics statistics;
    std::vector<Note> notes;
    std::vector<Entry> entries;  // in state-dict order
    std::vector<std::string> names;
    std::unordered_map<std::string_view, std::size_t> index_of;  // keys lie in `names`

    nn::Network network() const { return is_encoder ? scheme.family->encoder(widths) : scheme.family->decoder(widths); }
    Result<const Entry*> entry(std::string_view tensor) const;
    Result<void> check_config() const;
    Result<void> bind_tensors();
    Result<void> bind_factor(Entry& entry, const std::string& key) const;
    Result<void> check_values(const CallLimits& limits) const;
    void list_parameters();
    Result<void> settle_statistics(const CheckpointChoices& choices, const CallLimits& limits);
    Result<void> read_statistics();
    Result<void> read_batch_norm(std::int64_t channels);
};

namespace {

bool is_8_bit(tensor::DType dtype) { return dtype == tensor::DType::F8E4M3 || dtype == tensor::DType::F8E5M2; }

bool is_parameter_type(tensor::DType dtype) {
    using tensor::DType;
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64 || is_8_bit(dtype);
}

/// The keys under which tools keep the factor of an 8-bit `key` ("conv2.weight"): ComfyUI; LightX2V and compressed
/// tensors; DeepSeek's blocks; diffusers' quantisers.
std::vector<std::string> factor_keys(const std::string& key) {
    const std::string module = key.substr(0, key.rfind('.') + 1), leaf = key.substr(module.size());
    return {module + "scale_" + leaf, key + "_scale", key + "_scale_inv", key + ".scale", module + "scale"};
}

/// Multiplies rows, or blocks of rows and columns, of `values` [rows, ...] by `factors`: one; one a row; or [r, c],
/// each for rows / r rows and columns / c columns, rounded up.
void apply(const std::vector<float>& factors, const tensor::Shape& shape, std::int64_t rows,
           std::vector<float>& values) {
    const std::int64_t columns = std::ssize(values) / rows, count = std::ssize(factors);
    const std::int64_t down = count == 1 ? 1 : count == rows ? rows : shape.front(), across = count / down;
    const std::int64_t block_rows = (rows + down - 1) / down, block_columns = (columns + across - 1) / across;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            values[static_cast<std::size_t>(row * columns + column)] *=
                factors[static_cast<std::size_t>(row / block_rows * across + column / block_columns)];
}

/// Whether apply() takes factors of that shape for `rows` rows.
bool is_factor_of(const tensor::TensorView& factor, std::int64_t rows) {
    const auto count = tensor::element_count(factor.shape);
    return count &&
           (*count == 1 || *count == rows || (factor.shape.size() == 2 && *count > 0 && factor.shape.front() <= rows));
}

/// The part of a stored tensor that `parameter` takes: all of it; its last rows if the layer was trained to make more
/// frames than the network takes; its first rows if it makes more colours than three.
tensor::TensorView part_of(const tensor::TensorView& stored, const nn::Parameter& parameter, bool first_rows) {
    const tensor::Shape &has = stored.shape, &wanted = parameter.shape;
    if ((!parameter.last_rows && !first_rows) || has.size() != wanted.size() || has.front() <= wanted.front() ||
        !std::equal(has.begin() + 1, has.end(), wanted.begin() + 1) || stored.packing != tensor::Packing::Plain)
        return stored;
    const std::uint64_t bytes =
        stored.bytes / static_cast<std::uint64_t>(has.front()) * static_cast<std::uint64_t>(wanted.front());
    return {stored.dtype, wanted, first_rows ? stored.data : stored.data + (stored.bytes - bytes), bytes};
}

struct Synthetic {
    const families::Family* family = nullptr;
    families::Widths widths;
};

/// "synthetic:wan2.1" or "synthetic:wan2.1,dim=N".
Result<Synthetic> parse_synthetic(std::string_view spec) {
    constexpr std::string_view kOption = ",dim=";
    const std::string_view rest = spec.substr(kSyntheticPrefix.size());
    const std::size_t comma = rest.find(',');
    const auto refuse = [&] {
        return fail(ErrorCode::InvalidArgument,
                    "{}: a synthetic checkpoint is synthetic:FAMILY or synthetic:FAMILY,dim=N with N from 1 to {}; a "
                    "family is {}",
                    spec, kLargestDim, families::any_of(&families::Family::name));
    };
    const families::Family* family = families::find(rest.substr(0, comma));
    if (family == nullptr) return refuse();
    Synthetic made{family, family->published};
    if (comma == std::string_view::npos) return made;
    const std::string_view option = rest.substr(comma);
    if (!option.starts_with(kOption)) return refuse();
    const char* digits = option.data() + kOption.size();
    const char* all_of_it = option.data() + option.size();
    const auto [end, error] = std::from_chars(digits, all_of_it, made.widths.dim);
    if (error != std::errc() || end != all_of_it || made.widths.dim < 1 || made.widths.dim > kLargestDim)
        return refuse();
    return made;
}

/// XXH3-64 of all bytes, one file after the other.
Result<std::uint64_t> hash_of(std::span<const std::span<const std::byte>> files, std::string_view name,
                              const CallLimits& limits) {
    constexpr std::size_t kPiece = 16U << 20U;
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
    XXH3_64bits_reset(state.get());
    for (std::span<const std::byte> rest : files) {
        while (!rest.empty()) {
            KG_CHECK(limits.check(name));
            const auto piece = rest.first(std::min(rest.size(), kPiece));
            XXH3_64bits_update(state.get(), piece.data(), piece.size());
            rest = rest.subspan(piece.size());
        }
    }
    return XXH3_64bits_digest(state.get());
}

}  // namespace

Result<const Checkpoint::State::Entry*> Checkpoint::State::entry(std::string_view tensor) const {
    const auto found = index_of.find(tensor);
    if (found == index_of.end())
        return fail(ErrorCode::NotFound, "{}: \"{}\" is no parameter of its {}", name, tensor,
                    is_encoder ? "encoder" : "decoder");
    return &entries[found->second];
}

void Checkpoint::State::list_parameters() {
    for (nn::Parameter& parameter : nn::parameters(network())) {
        parameters += static_cast<std::uint64_t>(tensor::element_count(parameter.shape).value());
        names.push_back(parameter.name);
        entries.push_back({.parameter = std::move(parameter)});
    }
    for (std::size_t i = 0; i < names.size(); ++i) index_of.emplace(names[i], i);
}

/// Checks the tensors against config.json, which a diffusers folder has beside them.
Result<void> Checkpoint::State::check_config() const {
    if (scheme.family->config == nullptr) return {};
    for (const auto& [key, value] : scheme.family->config(widths)) {
        const auto said = file->metadata().find(key);
        if (said == file->metadata().end() || said->second == "null" || said->second == value) continue;
        return fail(ErrorCode::InvalidArgument,
                    "{}: its configuration says {} {}, the tensors are those of a {} decoder with {}", name, key,
                    tensor::quoted_name(said->second), scheme.family->title, value);
    }
    return {};
}

Result<void> Checkpoint::State::bind_tensors() {
    std::vector<std::string> wrong_shapes, wrong_types;
    for (Entry& entry : entries) {
        const std::string key = scheme.key(entry.parameter.name);
        const bool is_end = entry.parameter.name.starts_with(scheme.family->end + ".");
        entry.stored = part_of(*file->find(key), entry.parameter, is_end && widths.end != 0);
        if (!is_of_shape(entry.stored->shape, entry.parameter.shape)) {
            wrong_shapes.push_back(fmt::format("\"{}\" {}, wanted {}", key, tensor::to_string(entry.stored->shape),
                                               tensor::to_string(entry.parameter.shape)));
        }
        if (!is_parameter_type(entry.stored->dtype)) {
            wrong_types.push_back(fmt::format("\"{}\" {}", key, tensor::to_string(entry.stored->dtype)));
        }
        KG_CHECK(bind_factor(entry, key));
    }
    if (!wrong_shapes.empty()) {
        return fail(ErrorCode::InvalidArgument, "{}: tensors of the wrong shape for dim {}, z_dim {}: {}", name,
                    widths.dim, widths.z_dim, tensor::first_ten(wrong_shapes));
    }
    if (!wrong_types.empty()) {
        return fail(ErrorCode::InvalidArgument, "{}: tensors of a dtype that is not floating-point: {}", name,
                    tensor::first_ten(wrong_types));
    }
    dtype = entries.front().stored->dtype;
    return {};
}

/// Finds the factor of a tensor of 8 bits.
Result<void> Checkpoint::State::bind_factor(Entry& entry, const std::string& key) const {
    if (!is_8_bit(entry.stored->dtype) || entry.parameter.shape.empty()) return {};
    for (const std::string& name : factor_keys(key)) {
        const tensor::TensorView* factor = file->find(name);
        if (factor == nullptr) continue;
        if (!is_parameter_type(factor->dtype) || !is_factor_of(*factor, entry.parameter.shape.front()))
            return fail(ErrorCode::InvalidArgument, "{}: the factors \"{}\" {} {} are not of \"{}\" {}", this->name,
                        name, tensor::to_string(factor->dtype), tensor::to_string(factor->shape), key,
                        tensor::to_string(entry.stored->shape));
        if (const auto bad = tensor::first_not_finite(*factor))
            return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" holds a value that is not finite at index {}",
                        this->name, name, *bad);
        entry.factor = *factor;
        return {};
    }
    return {};
}

/// What was chosen, else what the file states, else the latent space's. Nothing of a synthetic checkpoint.
Result<void> Checkpoint::State::settle_statistics(const CheckpointChoices& choices, const CallLimits& limits) {
    const families::Family& family = *scheme.family;
    const std::int64_t patch = family.statistics.patch, channels = widths.z_dim * patch * patch;
    statistics = no_statistics(channels);
    if (!choices.statistics.empty()) {
        KG_TRY(statistics, chosen_statistics(choices.statistics, channels, limits));
    } else if (file) {
        KG_CHECK(patch > 1 ? read_batch_norm(channels) : read_statistics());
    }
    statistics.patch = patch;
    return {};
}

Result<void> Checkpoint::State::read_batch_norm(std::int64_t channels) {
    KG_TRY(auto stored, statistics_of_batch_norm(*file, scheme.prefix, channels));
    if (!stored.mean.empty())
        statistics = std::move(stored);
    else
        notes.push_back({LogLevel::Warning,
                         fmt::format("{}: it has no {}bn.running_mean and bn.running_var: latents of {} channels are "
                                     "taken with mean 0 and deviation 1; --statistics gives others",
                                     name, scheme.prefix, channels)});
    return {};
}

Result<void> Checkpoint::State::read_statistics() {
    const families::Family& family = *scheme.family;
    KG_TRY(auto stated, statistics_from_metadata(file->metadata(), widths.z_dim, name));
    if (!stated.mean.empty()) {
        statistics = std::move(stated);
    } else if (widths.z_dim == family.published.z_dim) {
        statistics = family.statistics;
    } else {
        notes.push_back(
            {LogLevel::Warning,
             fmt::format("{}: no statistics of {} latent channels are known, and the file states none: mean "
                         "0 and deviation 1 are used; --statistics gives others",
                         name, widths.z_dim)});
    }
    return {};
}

Result<void> Checkpoint::State::check_values(const CallLimits& limits) const {
    std::vector<std::optional<std::int64_t>> bad(entries.size());
    for_tasks(std::ssize(entries), [&](std::int64_t task, int) {
        const auto i = static_cast<std::size_t>(task);
        if (limits.check(name)) bad[i] = tensor::first_not_finite(*entries[i].stored);
    });
    KG_CHECK(limits.check(name));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!bad[i]) continue;
        return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" holds a value that is not finite at index {} of {}",
                    name, scheme.key(names[i]), *bad[i], tensor::element_count(entries[i].parameter.shape).value());
    }
    return {};
}

Result<Checkpoint> Checkpoint::open(std::string_view spec, const tensor::ReadOptions& options,
                                    const CheckpointChoices& choices) {
    if (!spec.starts_with(kSyntheticPrefix)) {
        const auto [path, prefix] = split_prefix(spec);
        KG_TRY(auto opened, formats::open(path, options));
        KG_TRY(auto file, with_taesd_names(std::move(opened), &options));
        return read(std::move(file), prefix, choices, options.limits);
    }
    KG_TRY(const auto made, parse_synthetic(spec));
    auto state = std::make_unique<State>();
    state->name = spec;
    state->scheme.family = made.family;
    state->widths = made.widths;
    state->content_hash = XXH3_64bits(spec.data(), spec.size());
    KG_CHECK(state->settle_statistics(choices, options.limits));
    state->list_parameters();
    return Checkpoint(std::move(state));
}

Result<Checkpoint> Checkpoint::parse(const formats::OwnedBytes& contents, const std::string& name,
                                     const tensor::ReadOptions& options, const CheckpointChoices& choices) {
    KG_TRY(auto parsed, formats::parse(contents, name, options));
    KG_TRY(auto file, with_taesd_names(std::move(parsed)));
    return read(std::move(file), std::nullopt, choices, options.limits);
}

Result<Checkpoint> Checkpoint::read(formats::TensorSource file, const std::optional<std::string>& prefix,
                                    const CheckpointChoices& choices, const CallLimits& limits) {
    auto state = std::make_unique<State>();
    state->name = file.name();
    state->file = std::make_shared<const formats::TensorSource>(without_wrappers(std::move(file)));
    KG_TRY(auto recognised, recognise(*state->file, choices.family, prefix));
    state->scheme = std::move(recognised.scheme);
    state->widths = recognised.widths;
    state->notes = std::move(recognised.notes);
    KG_CHECK(state->check_config());
    state->list_parameters();
    KG_CHECK(state->bind_tensors());
    KG_CHECK(state->check_values(limits));
    KG_CHECK(state->settle_statistics(choices, limits));
    KG_TRY(state->content_hash, hash_of(state->file->files(), state->name, limits));
    return Checkpoint(std::move(state));
}

Result<Checkpoint> Checkpoint::encoder(const CallLimits& limits) const {
    const families::Family& family = *state_->scheme.family;
    if (family.encoder == nullptr)
        return fail(ErrorCode::Unsupported,
                    "{}: it is a {} VAE, of which only the decoder is built; `kinetograph families` says which encode",
                    state_->name, family.title);
    auto state = std::make_unique<State>();
    state->name = state_->name;
    state->file = state_->file;
    state->is_encoder = true;
    state->scheme = state_->scheme;
    state->widths = state_->widths;
    state->content_hash = state_->content_hash;
    state->statistics = state_->statistics;
    if (state->file) {
        KG_TRY(state->widths, encoder_widths(*state->file, state->scheme, state_->widths));
    } else if (family.published_encoder_dim != 0 && state->widths == family.published) {
        state->widths.dim = family.published_encoder_dim;
    }
    state->list_parameters();
    if (state->file) {
        KG_CHECK(state->bind_tensors());
        KG_CHECK(state->check_values(limits));
    }
    return Checkpoint(std::move(state));
}

bool Checkpoint::has_encoder() const {
    if (state_->scheme.family->encoder == nullptr) return false;
    return !state_->file || encoder_widths(*state_->file, state_->scheme, state_->widths).has_value();
}

Checkpoint::Checkpoint(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const std::string& Checkpoint::name() const { return state_->name; }
const families::Family& Checkpoint::family() const { return *state_->scheme.family; }
KeyNaming Checkpoint::naming() const { return state_->scheme.naming; }
bool Checkpoint::synthetic() const { return !state_->file; }
const formats::TensorSource* Checkpoint::file() const { return state_->file.get(); }
nn::Network Checkpoint::network() const { return state_->network(); }
const families::Widths& Checkpoint::widths() const { return state_->widths; }
std::uint64_t Checkpoint::parameters() const { return state_->parameters; }
std::uint64_t Checkpoint::content_hash() const { return state_->content_hash; }
tensor::DType Checkpoint::dtype() const { return state_->dtype; }
const families::LatentStatistics& Checkpoint::statistics() const { return state_->statistics; }
const std::vector<float>& Checkpoint::latents_mean() const { return state_->statistics.mean; }
const std::vector<float>& Checkpoint::latents_std() const { return state_->statistics.std; }
const std::vector<Note>& Checkpoint::notes() const { return state_->notes; }
const std::vector<std::string>& Checkpoint::tensor_names() const { return state_->names; }

Result<tensor::Shape> Checkpoint::shape(std::string_view name) const {
    KG_TRY(const State::Entry* entry, state_->entry(name));
    return entry->parameter.shape;
}

Result<std::vector<float>> Checkpoint::load(std::string_view name) const {
    KG_TRY(const State::Entry* entry, state_->entry(name));
    if (!entry->stored) return synthetic_tensor(name, entry->parameter.shape);
    KG_TRY(auto values, tensor::to_f32(*entry->stored, name));
    if (!entry->factor) return values;
    KG_TRY(const auto factors, tensor::to_f32(*entry->factor, name));
    apply(factors, entry->factor->shape, entry->parameter.shape.front(), values);
    return values;
}

LatentsWanted wanted_by(const Checkpoint& checkpoint, LatentScale scale) {
    const families::Family& family = checkpoint.family();
    LatentsWanted wanted{.channels = checkpoint.z_dim(),
                         .pictures = checkpoint.one_latent_frame(),
                         .fps = family.fps,
                         .scale = scale,
                         .decoder = fmt::format("{} is a {} VAE", checkpoint.name(), family.title),
                         .latents = family.latents};
    if (checkpoint.statistics().patch > 1) {
        wanted.raw = checkpoint.statistics();
        return wanted;
    }
    const auto is = [](const std::vector<float>& values, float value) {
        return std::ranges::all_of(values, [value](float each) { return each == value; });
    };
    const bool applies = !is(checkpoint.latents_mean(), 0) || !is(checkpoint.latents_std(), 1);
    if (!applies && family.published.z_dim == wanted.channels) wanted.raw = family.raw;
    // A model that is told that latents are raw applies nothing.
    if (applies && scale != LatentScale::Raw) wanted.raw = {checkpoint.latents_mean(), checkpoint.latents_std()};
    return wanted;
}

}  // namespace kinetograph::vae
