// A checkpoint in several files, safetensors or PyTorch's, with an index beside them: {"weight_map": {"tensor": "file",
// ...}, ...}. Source: Transformers, "Sharded checkpoints" (huggingface.co/docs/transformers/big_models).
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/content_guess.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace kinetograph::formats {

namespace {

using File = std::shared_ptr<const TensorSource>;

constexpr std::string_view kMap = "weight_map";
constexpr std::size_t kLongestFileName = 255;

/// Whether it is the name of a file in the index's own folder and can be printed: an index must not reach other files
/// of the machine.
bool is_plain_name(std::string_view name) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    return !name.empty() && !name.ends_with(".json") && name.size() <= kLongestFileName && name != "." &&
           name != ".." && name.find('/') == std::string_view::npos && std::ranges::none_of(name, is_control);
}

/// Receives the JSON parser's events. Outside the map only the depth is kept, so that deep nesting takes no memory.
class IndexReader : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit IndexReader(std::string_view index) : index_(index) {}

    /// [tensor] -> the name of its file.
    Result<std::map<std::string, std::string>> take() {
        if (error_) return fail(*std::move(error_));
        if (!has_map_) return fail(ErrorCode::Corrupt, "{}: no JSON object with a \"{}\"", index_, kMap);
        return std::move(shard_of_);
    }

    bool start_object(std::size_t) override {
        if (in_map_) return misplaced("an object");
        if (depth_++ == 1 && at_map_) in_map_ = has_map_ = true;
        return true;
    }
    bool start_array(std::size_t) override {
        if (in_map_) return misplaced("an array");
        return depth_++ > 0;
    }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }

    bool key(string_t& name) override {
        if (in_map_) {
            tensor_ = std::move(name);
            return !shard_of_.contains(tensor_) || reject("tensor {} occurs twice", tensor::quoted_name(tensor_));
        }
        at_map_ = depth_ == 1 && name == kMap;
        return !at_map_ || !has_map_ || reject("\"{}\" occurs twice", kMap);
    }

    bool string(string_t& text) override {
        if (!in_map_) return true;
        if (!is_plain_name(text)) return misplaced(tensor::quoted_name(text));
        shard_of_.emplace(std::move(tensor_), std::move(text));
        return true;
    }
    bool null() override { return other("null"); }
    bool boolean(bool) override { return other("true or false"); }
    bool number_integer(number_integer_t) override { return other("a number"); }
    bool number_unsigned(number_unsigned_t) override { return other("a number"); }
    bool number_float(number_float_t, const string_t&) override { return other("a number"); }
    bool binary(binary_t&) override { return other("binary data"); }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
        return reject("not JSON from its byte {} on", position);
    }

  private:
    bool leave() {
        --depth_;
        in_map_ = false;  // at the map's end: objects and arrays within it are refused
        return true;
    }
    bool other(std::string_view what) { return !in_map_ || misplaced(what); }
    bool misplaced(std::string_view what) {
        return reject("tensor {} is in {}, which is no name of a file beside the index", tensor::quoted_name(tensor_),
                      what);
    }
    template <class... Args>
    bool reject(fmt::format_string<Args...> format, Args&&... args) {
        error_ =
            Error{ErrorCode::Corrupt, fmt::format("{}: {}", index_, fmt::format(format, std::forward<Args>(args)...))};
        return false;
    }

    std::string_view index_;
    std::map<std::string, std::string> shard_of_;
    std::optional<Error> error_;
    std::size_t depth_ = 0;                                   // objects and arrays that are open
    bool at_map_ = false, in_map_ = false, has_map_ = false;  // last key was the map's; in the map; map was seen
    std::string tensor_;                                      // the last key in the map
};

Result<std::map<std::string, std::string>> parse_index(const std::string& text, const std::string& index) {
    IndexReader reader(index);
    nlohmann::json::sax_parse(text, &reader);
    return reader.take();
}

Result<TensorSource> open_index(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    const std::string name = path.string();
    KG_TRY(auto read, read_text(path, options.limits));
    const auto text = std::make_shared<const std::string>(std::move(read));
    if (!text->empty() && !text->starts_with('{') && !text->starts_with('['))
        if (const std::string what = tensor::guess_content(std::as_bytes(std::span(*text))); !what.empty())
            return fail(ErrorCode::Corrupt, "{}: this is {}", name, what);
    KG_TRY(const auto shard_of, parse_index(*text, name));

    TensorSource::Contents contents{.name = name, .tensors = {}, .metadata = {}, .files = {}};
    contents.files.push_back(std::as_bytes(std::span(*text)));
    contents.owners.push_back(text);
    std::map<std::string, File> shards;
    for (const auto& [tensor, shard] : shard_of) {
        File& file = shards[shard];
        if (!file) {
            KG_TRY_IN(name, auto opened, open(path.parent_path() / shard, options));
            file = std::make_shared<const TensorSource>(std::move(opened));
        }
        if (const auto unreadable = file->unreadable().find(tensor); unreadable != file->unreadable().end()) {
            contents.unreadable.insert(*unreadable);
            continue;
        }
        const tensor::TensorView* view = file->find(tensor);
        if (view == nullptr)
            return fail(ErrorCode::Corrupt, "{}: tensor {} is not in {}, where the index has it", name,
                        tensor::quoted_name(tensor), tensor::quoted_name(shard));
        contents.tensors.push_back({tensor, *view});
    }
    for (const auto& [shard, file] : shards) {
        contents.metadata.insert(file->metadata().begin(), file->metadata().end());
        contents.files.insert(contents.files.end(), file->files().begin(), file->files().end());
        contents.owners.push_back(file);
    }
    return TensorSource(std::move(contents));
}

}  // namespace

Format sharded() { return {.suffix = ".index.json", .open = open_index}; }

}  // namespace kinetograph::formats
