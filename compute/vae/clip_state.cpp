#include <kinetograph/compute/vae/clip_state_bytes.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace kinetograph::vae {
namespace {

constexpr const char* kVersionKey = "kinetograph.clip_state";
constexpr const char* kHashKey = "xxh3";

std::string_view to_string(conv::Sums sums) {
    constexpr std::array<std::string_view, 3> kNames{"exact", "fast", "int8"};
    return kNames.at(static_cast<std::size_t>(sums));
}

using Metadata = std::map<std::string, std::string>;

Metadata metadata_of(const ClipState& state) {
    return {{kVersionKey, fmt::format("{}", ClipState::kVersion)},
            {"family", state.owner.family},
            {"weights", fmt::format("{:016x}", state.owner.weights)},
            {"latent_height", fmt::format("{}", state.owner.size.height)},
            {"latent_width", fmt::format("{}", state.owner.size.width)},
            {"dtype", std::string(tensor::to_string(state.owner.dtype))},
            {"sums", std::string(to_string(state.owner.sums))},
            {"latent_frames", fmt::format("{}", state.latent_frames)},
            {"frames", fmt::format("{}", state.frames)}};
}

/// Of the metadata and all that is kept, with names and sizes.
std::string hash_of(const ClipState& state) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash(XXH3_createState(), XXH3_freeState);
    XXH3_64bits_reset(hash.get());
    const auto add = [&](const std::string& text) { XXH3_64bits_update(hash.get(), text.c_str(), text.size() + 1); };
    for (const auto& [key, value] : metadata_of(state)) {
        add(key);
        add(value);
    }
    for (const auto& [key, bytes] : state.kept) {
        add(key);
        add(fmt::format("{}", bytes.size()));
        XXH3_64bits_update(hash.get(), bytes.data(), bytes.size());
    }
    return fmt::format("{:016x}", XXH3_64bits_digest(hash.get()));
}

/// Metadata of a file, by key.
class Reader {
  public:
    explicit Reader(const tensor::SafetensorsFile& file) : file_(file) {}

    std::string text(const std::string& key) const {
        const auto found = file_.metadata().find(key);
        return found == file_.metadata().end() ? "" : found->second;
    }
    template <class Number>
    Result<Number> number(const std::string& key, int base = 10) const {
        const std::string written = text(key);
        Number value = 0;
        const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value, base);
        if (error != std::errc{} || end != written.data() + written.size() || value < Number{0})
            return fail(ErrorCode::Corrupt, "{}: its {} is \"{}\"", file_.name(), key, written);
        return value;
    }
    Result<tensor::DType> dtype() const {
        if (const auto dtype = tensor::dtype_from_string(text("dtype"))) return *dtype;
        return fail(ErrorCode::Corrupt, "{}: its dtype is \"{}\"", file_.name(), text("dtype"));
    }
    Result<conv::Sums> sums() const {
        for (const auto sums : {conv::Sums::Exact, conv::Sums::Fast, conv::Sums::Int8})
            if (to_string(sums) == text("sums")) return sums;
        return fail(ErrorCode::Corrupt, "{}: its sums are \"{}\"", file_.name(), text("sums"));
    }

  private:
    const tensor::SafetensorsFile& file_;
};

Result<ClipState> state_of(const tensor::SafetensorsFile& file) {
    const Reader reader(file);
    if (reader.text(kVersionKey).empty())
        return fail(ErrorCode::InvalidArgument, "{}: it is no state of a clip", file.name());
    KG_TRY(const int version, reader.number<int>(kVersionKey));
    if (version > ClipState::kVersion)
        return fail(ErrorCode::Unsupported, "{}: a state of version {}; this library reads up to version {}",
                    file.name(), version, ClipState::kVersion);
    ClipState state{.name = file.name()};
    state.owner.family = reader.text("family");
    KG_TRY(state.owner.weights, reader.number<std::uint64_t>("weights", 16));
    KG_TRY(state.owner.size.height, reader.number<std::int64_t>("latent_height"));
    KG_TRY(state.owner.size.width, reader.number<std::int64_t>("latent_width"));
    KG_TRY(state.owner.dtype, reader.dtype());
    KG_TRY(state.owner.sums, reader.sums());
    KG_TRY(state.latent_frames, reader.number<std::int64_t>("latent_frames"));
    KG_TRY(state.frames, reader.number<std::int64_t>("frames"));
    for (const auto& [key, view] : file.tensors()) state.kept[key].assign(view.data, view.data + view.bytes);
    if (hash_of(state) != reader.text(kHashKey))
        return fail(ErrorCode::Corrupt, "{}: its contents do not match their hash: the file was altered", file.name());
    return state;
}

std::vector<tensor::NamedTensor> tensors_of(const ClipState& state) {
    std::vector<tensor::NamedTensor> tensors;
    for (const auto& [key, bytes] : state.kept)
        tensors.push_back(
            {key, {tensor::DType::U8, {static_cast<std::int64_t>(bytes.size())}, bytes.data(), bytes.size()}});
    return tensors;
}

Metadata hashed_metadata_of(const ClipState& state) {
    Metadata metadata = metadata_of(state);
    metadata[kHashKey] = hash_of(state);
    return metadata;
}

std::string sentence_of(const ClipState::Owner& owner) {
    return fmt::format("{}, weights {:016x}, latents of {}x{}, {}, {} sums", owner.family, owner.weights,
                       owner.size.width, owner.size.height, tensor::to_string(owner.dtype), to_string(owner.sums));
}

}  // namespace

std::uint64_t ClipState::bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [key, bytes] : kept) sum += bytes.size();
    return sum;
}

Result<void> ClipState::write(const std::filesystem::path& path) const {
    return tensor::write_safetensors(path, tensors_of(*this), hashed_metadata_of(*this));
}

Result<void> give_bytes(const ClipState& state, const tensor::TakeBytes& take) {
    return tensor::give_safetensors(take, tensors_of(state), hashed_metadata_of(state));
}

Result<ClipState> ClipState::read(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    KG_TRY(const auto file, tensor::SafetensorsFile::open(path, options));
    return state_of(file);
}

Result<ClipState> parse_clip_state(std::span<const std::byte> bytes, std::string_view name) {
    KG_TRY(const auto file, tensor::SafetensorsFile::parse(bytes, name));
    return state_of(file);
}

Result<void> ClipState::check_fits(const Owner& wanted, const std::map<std::string, std::uint64_t>& kept_bytes) const {
    if (owner != wanted)
        return fail(ErrorCode::InvalidArgument, "{} is of another decoder or size: it is of {}; the clip is of {}",
                    name, sentence_of(owner), sentence_of(wanted));
    const bool fits = std::ranges::equal(kept, kept_bytes, [](const auto& mine, const auto& clips) {
        return mine.first == clips.first && mine.second.size() == clips.second;
    });
    if (!fits)
        return fail(ErrorCode::InvalidArgument,
                    "{} keeps {} bytes of {} convolutions, and the clip others: it decodes in other bands, or by other "
                    "methods on its device",
                    name, bytes(), kept.size());
    return {};
}

}  // namespace kinetograph::vae
