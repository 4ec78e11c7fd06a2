#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/latent_statistics.hpp>
#include <kinetograph/compute/vae/recognition.hpp>

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace kinetograph::vae {

namespace {

constexpr std::string_view kSyntheticPrefix = "synthetic:";
constexpr std::int64_t kLargestDim = 1024;  // 8.3 billion parameters; keeps 4 * dim * 4 * dim * 27 far from overflow

}  // namespace

struct Checkpoint::State {
    struct Entry {
        nn::Parameter parameter;
        std::optional<tensor::TensorView> stored{};  // absent in a synthetic checkpoint
    };

    std::string name;
    std::optional<formats::TensorSource> file;  // absent in a synthetic checkpoint
    KeyScheme scheme;
    families::Widths widths;
    std::uint64_t parameters = 0, content_hash = 0;
    tensor::DType dtype = tensor::DType::F32;
    families::LatentStatistics statistics;
    std::vector<Entry> entries;  // in state-dict order
    std::vector<std::string> names;
    std::unordered_map<std::string_view, std::size_t> index_of;  // keys lie in `names`

    Result<const Entry*> entry(std::string_view tensor) const;
    Result<void> read_widths();
    Result<void> check_config() const;
    Result<void> bind_tensors();
    Result<void> check_values(const CallLimits& limits) const;
    void list_parameters();
};

namespace {

/// The width that a tensor's shape tells. The file has the tensor; shapes are checked as a whole once the widths are
/// known.
Result<std::int64_t> read_width(const formats::TensorSource& file, const KeyScheme& scheme,
                                const families::WidthIn& width) {
    const std::string key = scheme.key(width.tensor);
    const tensor::Shape& shape = file.find(key)->shape;
    if (width.axis >= shape.size() || shape[width.axis] < 1 || shape[width.axis] > kLargestDim) {
        return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" has shape {}: no decoder has that", file.name(), key,
                    tensor::to_string(shape));
    }
    return shape[width.axis];
}

bool is_parameter_type(tensor::DType dtype) {
    return dtype == tensor::DType::F32 || dtype == tensor::DType::F16 || dtype == tensor::DType::BF16;
}

/// Whether a tensor so stored has the elements of that shape in its order: some writers of gguf, which has four
/// dimensions, merge the first two of a 3-D convolution's five.
bool is_of_shape(const tensor::Shape& stored, const tensor::Shape& wanted) {
    if (stored == wanted) return true;
    constexpr std::size_t kConv3d = 5;
    return wanted.size() == kConv3d && stored.size() + 1 == kConv3d && stored[0] == wanted[0] * wanted[1] &&
           std::equal(stored.begin() + 1, stored.end(), wanted.begin() + 2);
}

/// The part of a stored tensor that `parameter` takes: all of it, or its last rows if the layer was trained to make
/// more frames than the network takes.
tensor::TensorView part_of(const tensor::TensorView& stored, const nn::Parameter& parameter) {
    const tensor::Shape &has = stored.shape, &wanted = parameter.shape;
    if (!parameter.last_rows || has.size() != wanted.size() || has.front() <= wanted.front() ||
        !std::equal(has.begin() + 1, has.end(), wanted.begin() + 1) || stored.packing != tensor::Packing::Plain)
        return stored;
    const std::uint64_t bytes =
        stored.bytes / static_cast<std::uint64_t>(has.front()) * static_cast<std::uint64_t>(wanted.front());
    return {stored.dtype, wanted, stored.data + (stored.bytes - bytes), bytes};
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

/// 0 and 1: latents stay as they are.
families::LatentStatistics identity(std::int64_t z_dim) {
    const auto channels = static_cast<std::size_t>(z_dim);
    return {.mean = std::vector<float>(channels, 0.0F), .std = std::vector<float>(channels, 1.0F)};
}

}  // namespace

Result<const Checkpoint::State::Entry*> Checkpoint::State::entry(std::string_view tensor) const {
    const auto found = index_of.find(tensor);
    if (found == index_of.end())
        return fail(ErrorCode::NotFound, "{}: \"{}\" is no parameter of its decoder", name, tensor);
    return &entries[found->second];
}

void Checkpoint::State::list_parameters() {
    for (nn::Parameter& parameter : nn::parameters(scheme.family->decoder(widths))) {
        parameters += static_cast<std::uint64_t>(tensor::element_count(parameter.shape).value());
        names.push_back(parameter.name);
        entries.push_back({.parameter = std::move(parameter)});
    }
    for (std::size_t i = 0; i < names.size(); ++i) index_of.emplace(names[i], i);
}

Result<void> Checkpoint::State::read_widths() {
    KG_TRY(widths.dim, read_width(*file, scheme, scheme.family->dim));
    KG_TRY(widths.z_dim, read_width(*file, scheme, scheme.family->z_dim));
    return {};
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
        entry.stored = part_of(*file->find(key), entry.parameter);
        if (!is_of_shape(entry.stored->shape, entry.parameter.shape)) {
            wrong_shapes.push_back(fmt::format("\"{}\" {}, wanted {}", key, tensor::to_string(entry.stored->shape),
                                               tensor::to_string(entry.parameter.shape)));
        }
        if (!is_parameter_type(entry.stored->dtype)) {
            wrong_types.push_back(fmt::format("\"{}\" {}", key, tensor::to_string(entry.stored->dtype)));
        }
    }
    if (!wrong_shapes.empty()) {
        return fail(ErrorCode::InvalidArgument, "{}: tensors of the wrong shape for dim {}, z_dim {}: {}", name,
                    widths.dim, widths.z_dim, first_ten(wrong_shapes));
    }
    if (!wrong_types.empty()) {
        return fail(ErrorCode::InvalidArgument, "{}: tensors of a dtype other than F32, F16 and BF16: {}", name,
                    first_ten(wrong_types));
    }
    dtype = entries.front().stored->dtype;
    return {};
}

Result<void> Checkpoint::State::check_values(const CallLimits& limits) const {
    std::vector<std::optional<std::int64_t>> bad(entries.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (limits.check(name)) bad[i] = tensor::first_not_finite(*entries[i].stored);
    KG_CHECK(limits.check(name));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!bad[i]) continue;
        return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" holds a value that is not finite at index {} of {}",
                    name, scheme.key(names[i]), *bad[i], tensor::element_count(entries[i].parameter.shape).value());
    }
    return {};
}

Result<Checkpoint> Checkpoint::open(std::string_view spec, const tensor::ReadOptions& options) {
    if (!spec.starts_with(kSyntheticPrefix)) {
        KG_TRY(auto file, formats::open(spec, options));
        return read(std::move(file), options.limits);
    }
    KG_TRY(const auto made, parse_synthetic(spec));
    auto state = std::make_unique<State>();
    state->name = spec;
    state->scheme.family = made.family;
    state->widths = made.widths;
    state->content_hash = XXH3_64bits(spec.data(), spec.size());
    state->statistics = identity(made.widths.z_dim);
    state->list_parameters();
    return Checkpoint(std::move(state));
}

Result<Checkpoint> Checkpoint::parse(const formats::OwnedBytes& contents, const std::string& name,
                                     const tensor::ReadOptions& options) {
    KG_TRY(auto file, formats::parse(contents, name, options));
    return read(std::move(file), options.limits);
}

Result<Checkpoint> Checkpoint::read(formats::TensorSource file, const CallLimits& limits) {
    auto state = std::make_unique<State>();
    state->name = file.name();
    state->file = std::move(file);
    KG_TRY(state->scheme, recognise(*state->file));
    KG_CHECK(state->read_widths());
    KG_CHECK(state->check_config());
    state->list_parameters();
    KG_CHECK(state->bind_tensors());
    KG_CHECK(state->check_values(limits));

    const families::Family& family = *state->scheme.family;
    KG_TRY(state->statistics, statistics_from_metadata(state->file->metadata(), state->widths.z_dim, state->name));
    if (state->statistics.mean.empty())
        state->statistics = state->widths == family.published ? family.statistics : identity(state->widths.z_dim);
    KG_TRY(state->content_hash, hash_of(state->file->files(), state->name, limits));
    return Checkpoint(std::move(state));
}

Checkpoint::Checkpoint(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const std::string& Checkpoint::name() const { return state_->name; }
const families::Family& Checkpoint::family() const { return *state_->scheme.family; }
KeyNaming Checkpoint::naming() const { return state_->scheme.naming; }
bool Checkpoint::synthetic() const { return !state_->file; }
const families::Widths& Checkpoint::widths() const { return state_->widths; }
std::uint64_t Checkpoint::parameters() const { return state_->parameters; }
std::uint64_t Checkpoint::content_hash() const { return state_->content_hash; }
tensor::DType Checkpoint::dtype() const { return state_->dtype; }
const std::vector<float>& Checkpoint::latents_mean() const { return state_->statistics.mean; }
const std::vector<float>& Checkpoint::latents_std() const { return state_->statistics.std; }
const std::vector<std::string>& Checkpoint::tensor_names() const { return state_->names; }

Result<tensor::Shape> Checkpoint::shape(std::string_view name) const {
    KG_TRY(const State::Entry* entry, state_->entry(name));
    return entry->parameter.shape;
}

Result<std::vector<float>> Checkpoint::load(std::string_view name) const {
    KG_TRY(const State::Entry* entry, state_->entry(name));
    if (!entry->stored) return synthetic_tensor(name, entry->parameter.shape);
    return tensor::to_f32(*entry->stored, name);
}

}  // namespace kinetograph::vae
