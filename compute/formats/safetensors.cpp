// One safetensors file. Also opens names that no other format claims, and reports what such a file is instead.
#include <kinetograph/compute/formats/tensor_source.hpp>

namespace kinetograph::formats {

namespace {

Result<TensorSource> open_file(const std::filesystem::path& path) {
    KG_TRY(auto opened, tensor::SafetensorsFile::open(path));
    const auto file = std::make_shared<const tensor::SafetensorsFile>(std::move(opened));
    return TensorSource({.name = file->name(),
                         .tensors = file->tensors(),
                         .metadata = file->metadata(),
                         .files = {file->bytes()},
                         .owners = {file}});
}

}  // namespace

Format safetensors() { return {.suffix = "", .open = open_file}; }

}  // namespace kinetograph::formats
