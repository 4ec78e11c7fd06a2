#include <kinetograph/compute/formats/tensor_source.hpp>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace kinetograph::formats {

namespace {

constexpr std::size_t kLongestText = 16U << 20U;

/// Text unchanged, everything else in JSON: "[0.5,1.0]".
std::string in_text(const nlohmann::json& field) { return field.is_string() ? field.get<std::string>() : field.dump(); }

Result<void> add_config(const std::filesystem::path& path, std::map<std::string, std::string>& metadata) {
    const std::filesystem::path config = path.parent_path() / "config.json";
    std::error_code ignored;
    if (!path.filename().string().starts_with("diffusion_pytorch_model") || !std::filesystem::exists(config, ignored))
        return {};
    KG_TRY(const auto text, read_text(config));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return fail(ErrorCode::Corrupt, "{}: no JSON object", config.string());
    for (const auto& [key, field] : json.items()) metadata.emplace(key, in_text(field));
    return {};
}

/// That with the longest matching suffix.
const Format& format_of(std::string_view name) {
    const Format* best = nullptr;
    for (const Format& format : all())
        if (name.ends_with(format.suffix) && (best == nullptr || format.suffix.size() > best->suffix.size()))
            best = &format;
    return *best;
}

}  // namespace

TensorSource::TensorSource(Contents contents) : contents_(std::move(contents)) {
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) index_of_.emplace(contents_.tensors[i].name, i);
}

const tensor::TensorView* TensorSource::find(std::string_view tensor) const {
    const auto found = index_of_.find(tensor);
    return found == index_of_.end() ? nullptr : &contents_.tensors[found->second].view;
}

Result<TensorSource> open(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    auto source = format_of(path.string()).open(path, options);
    if (!source) return source;
    std::map<std::string, std::string> metadata = source->metadata();
    KG_CHECK(add_config(path, metadata));
    return TensorSource({.name = source->name(),
                         .tensors = source->tensors(),
                         .metadata = std::move(metadata),
                         .files = source->files(),
                         .owners = {std::make_shared<const TensorSource>(std::move(*source))}});
}

Result<TensorSource> parse(const OwnedBytes& contents, const std::string& name) {
    const Format& format = format_of(name);
    if (format.parse == nullptr)
        return fail(ErrorCode::Unsupported, "{}: a *{} names several files: it is opened by its path", name,
                    format.suffix);
    return format.parse(contents, name);
}

Result<std::string> read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", path.string(),
                    std::generic_category().message(errno));
    std::string text(kLongestText + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) return fail(ErrorCode::Io, "{}: cannot be read", path.string());
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLongestText)
        return fail(ErrorCode::Corrupt, "{}: above {} bytes of text", path.string(), kLongestText);
    return text;
}

}  // namespace kinetograph::formats
