// A checkpoint in several safetensors files, with an index beside them: {"weight_map": {"tensor": "file", ...}, ...}.
// Source: Transformers, "Sharded checkpoints" (huggingface.co/docs/transformers/big_models).
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <nlohmann/json.hpp>

namespace kinetograph::formats {

namespace {

using File = std::shared_ptr<const tensor::SafetensorsFile>;

/// Whether it is a name in the index's own folder: an index must not reach other files of the machine.
bool is_plain_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
           name.find('\0') == std::string::npos;
}

/// [tensor] -> the name of its file.
Result<std::map<std::string, std::string>> parse_index(const std::string& text, const std::string& index) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
        return fail(ErrorCode::Corrupt, "{}: no JSON object with a \"weight_map\"", index);
    std::map<std::string, std::string> shard_of;
    for (const auto& [tensor, shard] : json["weight_map"].items()) {
        if (!shard.is_string() || !is_plain_name(shard.get<std::string>()))
            return fail(ErrorCode::Corrupt, "{}: tensor {} is in {}, which is no name of a file beside the index",
                        index, tensor::quoted_name(tensor), tensor::quoted_name(shard.dump()));
        shard_of.emplace(tensor, shard.get<std::string>());
    }
    return shard_of;
}

Result<TensorSource> open_index(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    const std::string name = path.string();
    KG_TRY(auto read, read_text(path));
    const auto text = std::make_shared<const std::string>(std::move(read));
    KG_TRY(const auto shard_of, parse_index(*text, name));

    TensorSource::Contents contents{.name = name, .tensors = {}, .metadata = {}, .files = {}};
    contents.files.push_back(std::as_bytes(std::span(*text)));
    contents.owners.push_back(text);
    std::map<std::string, File> shards;
    for (const auto& [tensor, shard] : shard_of) {
        File& file = shards[shard];
        if (!file) {
            auto opened = tensor::SafetensorsFile::open(path.parent_path() / shard, options);
            if (!opened) return fail(std::move(opened.error()), name);
            file = std::make_shared<const tensor::SafetensorsFile>(std::move(*opened));
        }
        const tensor::TensorView* view = file->find(tensor);
        if (view == nullptr)
            return fail(ErrorCode::Corrupt, "{}: tensor {} is not in {}, where the index has it", name,
                        tensor::quoted_name(tensor), tensor::quoted_name(shard));
        contents.tensors.push_back({tensor, *view});
    }
    for (const auto& [shard, file] : shards) {
        contents.metadata.insert(file->metadata().begin(), file->metadata().end());
        contents.files.push_back(file->bytes());
        contents.owners.push_back(file);
    }
    return TensorSource(std::move(contents));
}

}  // namespace

Format sharded_safetensors() { return {.suffix = ".safetensors.index.json", .open = open_index}; }

}  // namespace kinetograph::formats
