#include <kinetograph/compute/formats/numpy/array.hpp>
#include <kinetograph/compute/tensor/copy_in_order.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/engine/base/host_memory.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace kinetograph::formats::numpy {

namespace {

using tensor::DType;

constexpr std::size_t kLongestHeader = 65536, kMostDimensions = 32;

/// What the header says: {'descr': '<f4', 'fortran_order': False, 'shape': (16, 5, 16, 16), }
struct Header {
    std::string descr;
    bool fortran_order = false;
    tensor::Shape shape;
    std::span<const std::byte> data;
};

/// The text after `'key':`, without blanks; nothing if there is no such key.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
    const std::size_t found = header.find(fmt::format("'{}'", key));
    if (found == std::string_view::npos) return std::nullopt;
    const std::size_t colon = header.find(':', found + key.size() + 2);
    const std::size_t begin = colon == std::string_view::npos ? colon : header.find_first_not_of(" :", colon);
    return begin == std::string_view::npos ? std::nullopt : std::optional(header.substr(begin));
}

/// "(16, 5, 16, 16), ..." as numbers.
std::optional<tensor::Shape> parse_shape(std::string_view text) {
    const std::size_t end = text.find(')');
    if (!text.starts_with('(') || end == std::string_view::npos) return std::nullopt;
    tensor::Shape shape;
    text = text.substr(1, end - 1);
    const auto skip = [&] { return text.substr(std::min(text.size(), text.find_first_not_of(" ,"))); };
    for (text = skip(); !text.empty(); text = skip()) {
        std::int64_t extent = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
        if (error != std::errc() || extent < 0 || shape.size() == kMostDimensions) return std::nullopt;
        shape.push_back(extent);
        text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    }
    return shape;
}

/// Format: numpy.lib.format (NEP 1): magic, version, length of the header in 2 or 4 bytes, header, elements.
std::optional<Header> parse_header(std::span<const std::byte> contents) {
    const auto byte = [&](std::size_t at) { return std::to_integer<std::size_t>(contents[at]); };
    const std::size_t version_at = kFirstBytes.size(), length_at = version_at + 2;
    if (contents.size() < length_at + 4) return std::nullopt;
    const bool is_short = byte(version_at) == 1;
    const std::size_t begin = length_at + (is_short ? 2 : 4);
    std::size_t length = byte(length_at) | byte(length_at + 1) << 8U;
    if (!is_short) length |= byte(length_at + 2) << 16U | byte(length_at + 3) << 24U;
    if (byte(version_at) < 1 || byte(version_at) > 3 || length > kLongestHeader || length > contents.size() - begin)
        return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(contents.data()) + begin, length);
    const auto descr = value_of(text, "descr"), order = value_of(text, "fortran_order"),
               shape = value_of(text, "shape");
    if (!descr || !order || !shape) return std::nullopt;
    auto extents = parse_shape(*shape);
    const bool fortran = order->starts_with("True");
    if (!extents || (!fortran && !order->starts_with("False"))) return std::nullopt;
    // A list describes a structure of several fields.
    const std::size_t end = descr->starts_with('\'') ? descr->find('\'', 1) : 0;
    if (end == std::string_view::npos) return std::nullopt;
    return Header{end == 0 ? "a structure" : std::string(descr->substr(1, end - 1)), fortran, std::move(*extents),
                  contents.subspan(begin + length)};
}

std::optional<DType> dtype_of(std::string_view descr) {
    struct Known {
        std::string_view name;
        DType dtype;
    };
    constexpr std::array<Known, 11> kKnown{{{"f4", DType::F32},
                                            {"f2", DType::F16},
                                            {"f8", DType::F64},
                                            {"V2", DType::BF16},
                                            {"i1", DType::I8},
                                            {"u1", DType::U8},
                                            {"b1", DType::Bool},
                                            {"i2", DType::I16},
                                            {"i4", DType::I32},
                                            {"i8", DType::I64},
                                            {"float8_e4m3fn", DType::F8E4M3}}};
    if (descr == "bfloat16") return DType::BF16;
    if (descr.starts_with('<') || descr.starts_with('>') || descr.starts_with('|')) descr.remove_prefix(1);
    const auto* found = std::ranges::find(kKnown, descr, &Known::name);
    return found == kKnown.end() ? std::nullopt : std::optional(found->dtype);
}

/// In elements, by axis.
std::vector<std::int64_t> strides_of(const Header& header) {
    const std::size_t axes = header.shape.size();
    std::vector<std::int64_t> strides(axes);
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < axes; ++i) {
        const std::size_t axis = header.fortran_order ? i : axes - 1 - i;
        strides[axis] = stride;
        stride *= header.shape[axis];
    }
    return strides;
}

}  // namespace

Result<tensor::NamedTensor> read_array(std::span<const std::byte> contents, std::string name, const std::string& file,
                                       const tensor::ReadOptions& options,
                                       std::vector<std::shared_ptr<const void>>& owners) {
    const std::string quoted = tensor::quoted_name(name);
    const auto header = parse_header(contents);
    if (!header) return fail(ErrorCode::Corrupt, "{}: array {}: its header is not NumPy's: damaged?", file, quoted);
    const auto dtype = dtype_of(header->descr);
    if (!dtype)
        return fail(ErrorCode::Unsupported, "{}: array {} holds {}, which are not read: save it as float32", file,
                    quoted, header->descr == "|O" ? "Python objects" : tensor::quoted_name(header->descr));
    KG_TRY_IN(file, const std::int64_t elements, tensor::element_count(header->shape));
    const std::uint64_t size = tensor::bytes_per_element(*dtype);
    if (static_cast<std::uint64_t>(elements) > header->data.size() / size)
        return fail(ErrorCode::Corrupt, "{}: array {} of shape {} takes {} bytes, but only {} follow: truncated?", file,
                    quoted, tensor::to_string(header->shape), static_cast<std::uint64_t>(elements) * size,
                    header->data.size());
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * size;
    tensor::NamedTensor array{std::move(name), {*dtype, header->shape, header->data.data(), bytes}};
    const bool swaps = header->descr.starts_with('>') && size > 1;
    const bool reorders = header->fortran_order && header->shape.size() > 1;
    if (bytes == 0 || (!swaps && !reorders)) return array;
    const std::uint64_t free = available_host_memory();
    auto pages = bytes > free ? std::nullopt : HostPages::allocate(bytes, options.allocator);
    if (!pages)
        return fail(ErrorCode::OutOfMemory, "{}: {} bytes to put elements in order, {} bytes of memory are free", file,
                    bytes, free);
    const auto copy = std::make_shared<const HostPages>(std::move(*pages));
    const std::span<std::byte> ordered = copy->bytes();
    KG_CHECK(tensor::copy_in_order(header->data.data(), header->shape, strides_of(*header), size, ordered.data(), file,
                                   options.limits));
    for (std::uint64_t i = 0; swaps && i < bytes; i += size) std::reverse(&ordered[i], &ordered[i] + size);
    array.view.data = ordered.data();
    owners.push_back(copy);
    return array;
}

std::optional<std::string> number_in(const tensor::TensorView& array) {
    const auto read = [&](auto number) {
        std::memcpy(&number, array.data, sizeof(number));
        return fmt::format("{}", number);
    };
    if (tensor::element_count(array.shape).value_or(0) != 1) return std::nullopt;
    switch (array.dtype) {
        case DType::F64:
            return read(double{});
        case DType::F32:
            return read(float{});
        case DType::I64:
            return read(std::int64_t{});
        case DType::I32:
            return read(std::int32_t{});
        default:
            return std::nullopt;
    }
}

}  // namespace kinetograph::formats::numpy
