#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

namespace kinetograph::tensor {

namespace {

Result<void> check(const NamedTensor& tensor) {
    const auto count = element_count(tensor.view.shape);
    KG_CHECK_IN(fmt::format("tensor {}", quoted_name(tensor.name)), count);
    const std::uint32_t size = bytes_per_element(tensor.view.dtype);
    if (tensor.view.bytes % size != 0 || tensor.view.bytes / size != static_cast<std::uint64_t>(*count)) {
        return fail(ErrorCode::InvalidArgument, "tensor {}: {} bytes are not {} elements of {}",
                    quoted_name(tensor.name), tensor.view.bytes, *count, to_string(tensor.view.dtype));
    }
    return {};
}

/// The header's text, padded with blanks so that the tensor bytes start at a multiple of 8.
Result<std::string> header_text(std::span<const NamedTensor> tensors,
                                const std::map<std::string, std::string>& metadata) {
    auto header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::set<std::string_view> names = {"__metadata__"};
    std::uint64_t offset = 0;
    for (const NamedTensor& tensor : tensors) {
        KG_CHECK(check(tensor));
        if (!names.insert(tensor.name).second) {
            return fail(ErrorCode::InvalidArgument, "tensor name {} is taken", quoted_name(tensor.name));
        }
        header.push_back({tensor.name,
                          {{"dtype", to_string(tensor.view.dtype)},
                           {"shape", tensor.view.shape},
                           {"data_offsets", {offset, offset + tensor.view.bytes}}}});
        offset += tensor.view.bytes;
    }
    try {
        std::string text = header.dump();
        text.append((8 - text.size() % 8) % 8, ' ');
        return text;
    } catch (const nlohmann::json::type_error&) {
        return fail(ErrorCode::InvalidArgument, "a tensor name or a metadata text is not UTF-8");
    }
}

Result<void> write(const TakeBytes& take, const std::string& header, std::span<const NamedTensor> tensors) {
    std::array<std::byte, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
    KG_CHECK(take(length));
    KG_CHECK(take(std::as_bytes(std::span(header))));
    for (const auto& tensor : tensors) KG_CHECK(take({tensor.view.data, tensor.view.bytes}));
    return {};
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata) {
    const auto header = header_text(tensors, metadata);
    KG_CHECK_IN(path.string(), header);
    KG_TRY(auto file, ReplacingFile::create(path));
    KG_CHECK(write([&](std::span<const std::byte> bytes) { return file.write(bytes); }, *header, tensors));
    return file.commit();
}

Result<void> give_safetensors(const TakeBytes& take, std::span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata) {
    KG_TRY(const std::string header, header_text(tensors, metadata));
    return write(take, header, tensors);
}

}  // namespace kinetograph::tensor
