// One array of NumPy's (.npy), as a tensor "array". Archives of several (.npz) are zip files: pytorch.cpp.
#include <kinetograph/compute/formats/numpy/array.hpp>

namespace kinetograph::formats {

namespace {

Result<TensorSource> parse_npy(const OwnedBytes& contents, const std::string& name,
                               const tensor::ReadOptions& options) {
    TensorSource::Contents source{.name = name, .tensors = {}, .metadata = {}, .files = {contents.bytes}};
    KG_TRY(auto array, numpy::read_array(contents.bytes, "array", name, options, source.owners));
    source.tensors.push_back(std::move(array));
    source.owners.push_back(contents.owner);
    return TensorSource(std::move(source));
}

}  // namespace

Format npy() { return {.first_bytes = {std::string(numpy::kFirstBytes)}, .open = nullptr, .parse = parse_npy}; }

}  // namespace kinetograph::formats
