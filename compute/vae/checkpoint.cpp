#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/key_naming.hpp>
#include <kinetograph/compute/vae/latent_statistics.hpp>
#include <kinetograph/compute/vae/parameter_list.hpp>

#include <fmt/core.h>
#include <xxhash.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace kinetograph::vae {

namespace {

constexpr std::string_view kSyntheticPrefix = "synthetic:";
constexpr std::int64_t kPublishedDim = 96;
constexpr std::int64_t kPublishedZDim = 16;
constexpr std::int64_t kLargestDim = 1024;  // 8.3 billion parameters; keeps 4 * dim * 4 * dim * 27 far from overflow

}  // namespace

struct Checkpoint::State {
    struct Entry {
        Parameter parameter;
        const tensor::TensorView* stored = nullptr;  // null in a synthetic checkpoint
    };

    std::string name;
    std::optional<tensor::SafetensorsFile> file;  // absent in a synthetic checkpoint
    KeyScheme scheme;
    std::int64_t dim = 0, z_dim = 0;
    std::uint64_t parameters = 0, content_hash = 0;
    tensor::DType dtype = tensor::DType::F32;
    LatentStatistics statistics;
    std::vector<Entry> entries;  // in state-dict order
    std::vector<std::string> names;
    std::unordered_map<std::string_view, std::size_t> index_of;  // keys lie in `names`

    const Entry& entry(std::string_view tensor) const;
    Result<void> read_dimensions();
    Result<void> bind_tensors();
    Result<void> check_values() const;
    void list_parameters();
};

namespace {

/// Dimension `axis` of tensor `original`, which is there; the shape is checked as a whole once the widths are known.
Result<std::int64_t> read_width(const tensor::SafetensorsFile& file, const KeyScheme& scheme, std::string_view original,
                                std::size_t axis) {
    const std::string key = scheme.key(original);
    const tensor::Shape& shape = file.find(key)->shape;
    if (axis >= shape.size() || shape[axis] < 1 || shape[axis] > kLargestDim) {
        return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" has shape {}: no decoder has that", file.name(), key,
                    tensor::to_string(shape));
    }
    return shape[axis];
}

bool is_parameter_type(tensor::DType dtype) {
    return dtype == tensor::DType::F32 || dtype == tensor::DType::F16 || dtype == tensor::DType::BF16;
}

/// N of "synthetic:wan2.1,dim=N".
Result<std::int64_t> parse_synthetic(std::string_view spec) {
    constexpr std::string_view kModel = "wan2.1";
    constexpr std::string_view kOption = ",dim=";
    std::string_view rest = spec.substr(kSyntheticPrefix.size());
    const auto refuse = [&] {
        return fail(ErrorCode::InvalidArgument,
                    "{}: a synthetic checkpoint is synthetic:wan2.1 or synthetic:wan2.1,dim=N "
                    "with N from 1 to {}",
                    spec, kLargestDim);
    };
    if (!rest.starts_with(kModel)) return refuse();
    rest.remove_prefix(kModel.size());
    if (rest.empty()) return kPublishedDim;
    if (!rest.starts_with(kOption)) return refuse();
    rest.remove_prefix(kOption.size());
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (error != std::errc() || end != rest.data() + rest.size() || dim < 1 || dim > kLargestDim) return refuse();
    return dim;
}

}  // namespace

std::string_view to_string(Architecture architecture) {
    switch (architecture) {
        case Architecture::Wan21:
            return "wan2.1";
    }
    return "?";
}

const Checkpoint::State::Entry& Checkpoint::State::entry(std::string_view tensor) const {
    const auto found = index_of.find(tensor);
    if (found != index_of.end()) return entries[found->second];
    fmt::print(stderr, "Checkpoint: \"{}\" is not a parameter of {}\n", tensor, name);
    std::abort();
}

void Checkpoint::State::list_parameters() {
    for (Parameter& parameter : wan21_parameters(dim, z_dim)) {
        parameters += static_cast<std::uint64_t>(tensor::element_count(parameter.shape).value());
        names.push_back(parameter.name);
        entries.push_back({.parameter = std::move(parameter)});
    }
    for (std::size_t i = 0; i < names.size(); ++i) index_of.emplace(names[i], i);
}

Result<void> Checkpoint::State::read_dimensions() {
    KG_TRY(const auto head, read_width(*file, scheme, "decoder.head.0.gamma", 0));
    KG_TRY(const auto latent, read_width(*file, scheme, "decoder.conv1.weight", 1));
    dim = head;
    z_dim = latent;
    return {};
}

Result<void> Checkpoint::State::bind_tensors() {
    std::vector<std::string> wrong_shapes, wrong_types;
    for (Entry& entry : entries) {
        const std::string key = scheme.key(entry.parameter.name);
        entry.stored = file->find(key);
        if (entry.stored->shape != entry.parameter.shape) {
            wrong_shapes.push_back(fmt::format("\"{}\" {}, wanted {}", key, tensor::to_string(entry.stored->shape),
                                               tensor::to_string(entry.parameter.shape)));
        }
        if (!is_parameter_type(entry.stored->dtype)) {
            wrong_types.push_back(fmt::format("\"{}\" {}", key, tensor::to_string(entry.stored->dtype)));
        }
    }
    if (!wrong_shapes.empty()) {
        return fail(ErrorCode::InvalidArgument, "{}: tensors of the wrong shape for dim {}, z_dim {}: {}", name, dim,
                    z_dim, first_ten(wrong_shapes));
    }
    if (!wrong_types.empty()) {
        return fail(ErrorCode::InvalidArgument, "{}: tensors of a dtype other than F32, F16 and BF16: {}", name,
                    first_ten(wrong_types));
    }
    dtype = entry("decoder.conv1.weight").stored->dtype;
    return {};
}

Result<void> Checkpoint::State::check_values() const {
    std::vector<std::optional<std::int64_t>> bad(entries.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < entries.size(); ++i) bad[i] = tensor::first_not_finite(*entries[i].stored);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!bad[i]) continue;
        return fail(ErrorCode::InvalidArgument, "{}: tensor \"{}\" holds a value that is not finite at index {} of {}",
                    name, scheme.key(names[i]), *bad[i], tensor::element_count(entries[i].parameter.shape).value());
    }
    return {};
}

Result<Checkpoint> Checkpoint::open(std::string_view spec) {
    auto state = std::make_unique<State>();
    state->name = spec;
    if (spec.starts_with(kSyntheticPrefix)) {
        KG_TRY(const auto dim, parse_synthetic(spec));
        state->dim = dim;
        state->z_dim = kPublishedZDim;
        state->content_hash = XXH3_64bits(spec.data(), spec.size());
        state->statistics = LatentStatistics::identity(kPublishedZDim);
        state->list_parameters();
        return Checkpoint(std::move(state));
    }

    auto file = tensor::SafetensorsFile::open(spec);
    if (!file) return fail(std::move(file).error());
    state->file = *std::move(file);
    auto scheme = find_key_scheme(*state->file, wan21_parameters(kPublishedDim, kPublishedZDim));
    if (!scheme) return fail(std::move(scheme).error());
    state->scheme = *std::move(scheme);
    KG_CHECK(state->read_dimensions());
    state->list_parameters();
    KG_CHECK(state->bind_tensors());
    KG_CHECK(state->check_values());

    auto statistics = statistics_from_metadata(state->file->metadata(), state->z_dim, state->name);
    if (!statistics) return fail(std::move(statistics).error());
    const bool published = state->dim == kPublishedDim && state->z_dim == kPublishedZDim;
    state->statistics = !statistics->mean.empty() ? *std::move(statistics)
                        : published               ? LatentStatistics::wan21()
                                                  : LatentStatistics::identity(state->z_dim);
    const auto bytes = state->file->bytes();
    state->content_hash = XXH3_64bits(bytes.data(), bytes.size());
    return Checkpoint(std::move(state));
}

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

const std::string& Checkpoint::name() const { return state_->name; }
Architecture Checkpoint::architecture() const { return Architecture::Wan21; }
KeyNaming Checkpoint::naming() const { return state_->scheme.naming; }
bool Checkpoint::synthetic() const { return !state_->file; }
std::int64_t Checkpoint::dim() const { return state_->dim; }
std::int64_t Checkpoint::z_dim() const { return state_->z_dim; }
std::uint64_t Checkpoint::parameters() const { return state_->parameters; }
std::uint64_t Checkpoint::content_hash() const { return state_->content_hash; }
tensor::DType Checkpoint::dtype() const { return state_->dtype; }
const std::vector<float>& Checkpoint::latents_mean() const { return state_->statistics.mean; }
const std::vector<float>& Checkpoint::latents_std() const { return state_->statistics.std; }
const std::vector<std::string>& Checkpoint::tensor_names() const { return state_->names; }
const tensor::Shape& Checkpoint::shape(std::string_view name) const { return state_->entry(name).parameter.shape; }

std::vector<float> Checkpoint::load(std::string_view name) const {
    const State::Entry& entry = state_->entry(name);
    if (entry.stored == nullptr) return synthetic_tensor(name, entry.parameter.shape);
    return tensor::to_f32(*entry.stored, name).value();  // cannot fail: shape, bytes and dtype were checked in open()
}

}  // namespace kinetograph::vae
