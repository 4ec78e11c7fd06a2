#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <tuple>

namespace kinetograph::formats {

namespace {

constexpr std::size_t kLongestText = 16U << 20U;
constexpr int kDeepestObject = 64;

/// Text unchanged, everything else in JSON: "[0.5,1.0]".
std::string in_text(const nlohmann::json& field) { return field.is_string() ? field.get<std::string>() : field.dump(); }

Result<void> add_config(const std::filesystem::path& path, std::map<std::string, std::string>& metadata,
                        const CallLimits& limits) {
    const std::filesystem::path config = path.parent_path() / "config.json";
    std::error_code ignored;
    if (!path.filename().string().starts_with("diffusion_pytorch_model") || !std::filesystem::exists(config, ignored))
        return {};
    KG_TRY(auto fields, read_object(config, limits));
    metadata.merge(std::move(fields));
    return {};
}

/// "vae.safetensors.index.fp16.json" without its second last part, which in diffusers is a variant.
std::string without_variant(std::string_view name) {
    const std::size_t last = name.rfind('.');
    const std::size_t variant = last == std::string_view::npos || last == 0 ? last : name.rfind('.', last - 1);
    return variant == std::string_view::npos ? std::string(name)
                                             : std::string(name.substr(0, variant)) + std::string(name.substr(last));
}

constexpr std::size_t kFirstBytes = 8;  // no format is recognised by more

/// The format of a file of that name whose first bytes are `begin`.
const Format& format_of(std::string_view name, std::string_view begin) {
    const auto claims = [&](const Format& format) {
        return (!format.suffix.empty() &&
                (name.ends_with(format.suffix) || without_variant(name).ends_with(format.suffix))) ||
               std::ranges::any_of(format.first_bytes,
                                   [&](const std::string& bytes) { return begin.starts_with(bytes); });
    };
    const auto rest = [](const Format& format) { return format.suffix.empty() && format.first_bytes.empty(); };
    const auto found = std::ranges::find_if(all(), claims);
    return found != all().end() ? *found : *std::ranges::find_if(all(), rest);
}

std::string_view begin_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kFirstBytes)};
}

constexpr std::array<std::string_view, 7> kSuffixes{".safetensors", ".index.json", ".pth", ".pt",
                                                    ".ckpt",        ".gguf",       ".bin"};

std::string in_lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// Whether the name is that of one file of several, which an index lists: "vae-00001-of-00002.safetensors".
bool is_shard(std::string_view name) {
    const std::size_t of = name.find("-of-");
    return of != std::string_view::npos && of > 0 && std::isdigit(static_cast<unsigned char>(name[of - 1])) != 0;
}

/// Checkpoints in `folder`, by name; those whose name contains `part`.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder, std::string_view part) {
    std::vector<std::filesystem::path> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string name = in_lower_case(entry.path().filename().string());
        const bool is_checkpoint = std::ranges::any_of(kSuffixes, [&](std::string_view suffix) {
            return name.ends_with(suffix) || without_variant(name).ends_with(suffix);
        });
        if (is_checkpoint && !is_shard(name) && name.find(part) != std::string::npos && !entry.is_directory(ignored))
            found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
}

constexpr std::string_view kOfDiffusers = "diffusion_pytorch_model";

/// How far a file is from what diffusers opens: safetensors before .bin, no variant before fp16, bf16 and others, one
/// file before an index of several.
std::tuple<bool, std::ptrdiff_t, bool> rank_of(const std::string& name) {
    constexpr std::array<std::string_view, 3> kVariants{"", ".fp16", ".bf16"};
    std::string variant = name.substr(kOfDiffusers.size());
    for (const std::string_view part : {".safetensors", ".bin", ".index", ".json"})
        if (const std::size_t at = variant.find(part); at != std::string::npos) variant.erase(at, part.size());
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    return {!has(".safetensors"), std::ranges::find(kVariants, variant) - kVariants.begin(), has(".index.")};
}

/// What diffusers has put into the folder; nothing if there is none, or if config.json says that it is no VAE.
std::optional<std::filesystem::path> of_diffusers(const std::filesystem::path& folder, const CallLimits& limits) {
    std::vector<std::filesystem::path> found = checkpoints_in(folder, kOfDiffusers);
    std::erase_if(found, [](const auto& path) { return !path.filename().string().starts_with(kOfDiffusers); });
    if (found.empty()) return std::nullopt;
    const auto best = *std::ranges::min_element(found, {}, [](const auto& path) { return rank_of(path.filename()); });
    std::map<std::string, std::string> config;
    const auto read = add_config(best, config, limits);
    const auto said = config.find("_class_name");
    const bool is_other = read && said != config.end() && !said->second.starts_with("Autoencoder") &&
                          !said->second.starts_with("AsymmetricAutoencoder");
    return is_other ? std::nullopt : std::optional(best);
}

/// The only revision in a folder of Hugging Face's cache, models--OWNER--NAME/snapshots/REVISION; else the folder
/// itself.
std::filesystem::path revision_in(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::vector<std::filesystem::path> revisions;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "snapshots", ignored))
        if (entry.is_directory(ignored)) revisions.push_back(entry.path());
    return revisions.size() == 1 ? revisions.front() : folder;
}

/// The path itself, or the checkpoint in the folder.
Result<std::filesystem::path> checkpoint_at(const std::filesystem::path& given, const CallLimits& limits) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(given, ignored)) return given;
    const std::filesystem::path path = revision_in(given);
    for (const auto& folder : {path, path / "vae"})
        if (auto found = of_diffusers(folder, limits)) return *std::move(found);
    // A model's authors put the VAE beside the model; repackaged models have folders of VAEs.
    for (const std::string_view part : {"vae", ""}) {
        for (const auto& folder : {path, path / "vae", path / "VAE", path / "split_files" / "vae"}) {
            const auto found = checkpoints_in(folder, part);
            if (found.size() == 1) return found.front();
            if (found.empty()) continue;
            std::string names;
            for (const auto& each : found) names += (names.empty() ? "" : ", ") + each.filename().string();
            return fail(ErrorCode::InvalidArgument,
                        "{}: a folder with several checkpoints ({}): name the one that is meant", folder.string(),
                        names);
        }
    }
    return fail(
        ErrorCode::NotFound,
        "{}: a folder without the checkpoint of a VAE: neither {}.safetensors, here or in vae/, nor a file with "
        "vae in its name",
        path.string(), kOfDiffusers);
}

Result<TensorSource> open_in_format(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    const std::string name = path.string();
    const Format& by_name = format_of(name, "");
    if (!by_name.suffix.empty()) return by_name.open(path, options);
    KG_TRY(auto first, tensor::FileContents::open(path, {.allocator = {}, .limits = options.limits}));
    KG_CHECK(first.read_first(kFirstBytes));
    const Format& format = format_of(name, begin_of(first.bytes()));
    if (format.open != nullptr) return format.open(path, options);
    KG_TRY(auto whole, tensor::FileContents::open(path, options));
    KG_CHECK(whole.read_first(whole.bytes().size()));
    const auto contents = std::make_shared<const tensor::FileContents>(std::move(whole));
    return format.parse({contents->bytes(), contents}, name, options);
}

}  // namespace

TensorSource::TensorSource(Contents contents) : contents_(std::move(contents)) {
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) index_of_.emplace(contents_.tensors[i].name, i);
}

const tensor::TensorView* TensorSource::find(std::string_view tensor) const {
    const auto found = index_of_.find(tensor);
    return found == index_of_.end() ? nullptr : &contents_.tensors[found->second].view;
}

Result<TensorSource> open(const std::filesystem::path& given, const tensor::ReadOptions& options) {
    KG_TRY(const auto path, checkpoint_at(given, options.limits));
    KG_TRY(auto source, open_in_format(path, options));
    std::map<std::string, std::string> metadata = source.metadata();
    KG_CHECK(add_config(path, metadata, options.limits));
    const auto opened = std::make_shared<const TensorSource>(std::move(source));
    return TensorSource({.name = opened->name(),
                         .tensors = opened->tensors(),
                         .metadata = std::move(metadata),
                         .files = opened->files(),
                         .owners = {opened},
                         .unreadable = opened->unreadable()});
}

Result<TensorSource> parse(const OwnedBytes& contents, const std::string& name, const tensor::ReadOptions& options) {
    const Format& format = format_of(name, begin_of(contents.bytes));
    if (format.parse == nullptr)
        return fail(ErrorCode::Unsupported, "{}: a *{} names several files: it is opened by its path", name,
                    format.suffix);
    return format.parse(contents, name, options);
}

Result<std::map<std::string, std::string>> read_object(const std::filesystem::path& path, const CallLimits& limits) {
    KG_TRY(const auto text, read_text(path, limits));
    bool too_deep = false;  // the parser does not recurse, but dump() does
    const auto within_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        too_deep = too_deep || depth > kDeepestObject;
        return !too_deep;
    };
    const auto json = nlohmann::json::parse(text, within_depth, false);
    if (too_deep)
        return fail(ErrorCode::Corrupt, "{}: objects and arrays more than {} deep", path.string(), kDeepestObject);
    if (!json.is_object()) return fail(ErrorCode::Corrupt, "{}: no JSON object", path.string());
    std::map<std::string, std::string> fields;
    for (const auto& [key, field] : json.items()) fields.emplace(key, in_text(field));
    return fields;
}

Result<std::string> read_text(const std::filesystem::path& path, const CallLimits& limits) {
    KG_TRY(auto file, tensor::FileContents::open(path, {.allocator = {}, .limits = limits}));
    const std::span<const std::byte> bytes = file.bytes();
    if (bytes.size() > kLongestText)
        return fail(ErrorCode::Corrupt, "{}: above {} bytes of text", path.string(), kLongestText);
    KG_CHECK(file.read_first(bytes.size()));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace kinetograph::formats
