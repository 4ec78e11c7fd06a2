// One safetensors file, or its bytes in memory. Also opens names that no other format claims, and reports what such a
// file is instead.
#include <kinetograph/compute/formats/tensor_source.hpp>

namespace kinetograph::formats {

namespace {

TensorSource source_of(tensor::SafetensorsFile opened, std::shared_ptr<const void> bytes = nullptr) {
    const auto file = std::make_shared<const tensor::SafetensorsFile>(std::move(opened));
    return TensorSource({.name = file->name(),
                         .tensors = file->tensors(),
                         .metadata = file->metadata(),
                         .files = {file->bytes()},
                         .owners = {file, std::move(bytes)},
                         .unreadable = file->unreadable()});
}

Result<TensorSource> open_file(const std::filesystem::path& path, const tensor::ReadOptions& options) {
    KG_TRY(auto file, tensor::SafetensorsFile::open(path, options));
    return source_of(std::move(file));
}

Result<TensorSource> parse_bytes(const OwnedBytes& contents, const std::string& name, const tensor::ReadOptions&) {
    KG_TRY(auto file, tensor::SafetensorsFile::parse(contents.bytes, name));
    return source_of(std::move(file), contents.owner);
}

}  // namespace

Format safetensors() { return {.open = open_file, .parse = parse_bytes}; }

}  // namespace kinetograph::formats
