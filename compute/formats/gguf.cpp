// gguf files: metadata, tensor descriptions, and tensors that are aligned and may be quantised. Tensors of types that a
// view can show stay in place, so that a file takes no memory besides its own; others are listed as unreadable. Source:
// docs/gguf.md of ggml-org/ggml; ComfyUI-GGUF's "comfy.gguf.orig_shape.NAME", which holds shapes of more dimensions
// than ggml has.
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace kinetograph::formats {

namespace {

using tensor::DType;

constexpr std::uint64_t kMostTensors = 100'000, kMostMetadata = 100'000, kLongestName = 1024;
constexpr std::uint32_t kMostDimensions = 8;
constexpr std::uint64_t kDefaultAlignment = 32;

/// How the elements of a type lie in a file: in blocks. A block of F32 is 1 element of 4 bytes, one of Q8_0 is 32
/// elements in 34.
struct Type {
    std::uint32_t id = 0;
    std::string_view name;
    std::uint64_t block_elements = 1, block_bytes = 1;
    std::optional<DType> dtype{};  ///< that a view shows them as; none: unreadable
    tensor::Packing packing = tensor::Packing::Plain;
};

constexpr std::array<Type, 32> kTypes{{
    {0, "F32", 1, 4, DType::F32},
    {1, "F16", 1, 2, DType::F16},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34, DType::F32, tensor::Packing::BlockQ8},
    {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DType::I8},
    {25, "I16", 1, 2, DType::I16},
    {26, "I32", 1, 4, DType::I32},
    {27, "I64", 1, 8, DType::I64},
    {28, "F64", 1, 8, DType::F64},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DType::BF16},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
}};

/// The types of metadata, numbered as in a file.
enum class Kind : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, Array, U64, I64, F64 };

constexpr std::array<std::uint64_t, 13> kKindBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // Text and Array: by length

struct Described {
    std::string name;
    tensor::Shape shape;
    std::uint32_t type_id = 0;
    const Type* type = nullptr;  ///< null: not known
    /// `offset` counts from where the tensors begin. `bytes` is 0 for a type that is not known.
    std::uint64_t elements = 0, bytes = 0, offset = 0;
};

class Reader {
  public:
    Reader(const OwnedBytes& contents, const std::string& file, const CallLimits& limits)
        : contents_(contents), rest_(contents.bytes), file_(file), limits_(limits) {}

    Result<TensorSource> read() {
        KG_CHECK(read_header());
        for (std::uint64_t i = 0; i < metadata_count_; ++i) {
            KG_CHECK(limits_.check(file_));
            KG_CHECK(read_metadata());
        }
        KG_CHECK(limits_.check(file_));
        for (std::uint64_t i = 0; i < tensor_count_; ++i) KG_CHECK(read_description());
        KG_CHECK(check_places());
        TensorSource::Contents source{
            .name = file_, .tensors = {}, .metadata = std::move(metadata_), .files = {contents_.bytes}};
        for (Described& tensor : described_) {
            const Type* type = tensor.type;
            if (type != nullptr && type->dtype) {
                source.tensors.push_back(
                    {tensor.name, {*type->dtype, tensor.shape, at(tensor), tensor.bytes, type->packing}});
            } else {
                source.unreadable.emplace(
                    tensor.name, type != nullptr ? std::string(type->name) : fmt::format("type {}", tensor.type_id));
            }
        }
        source.owners.push_back(contents_.owner);
        return TensorSource(std::move(source));
    }

  private:
    // ---- bytes ------------------------------------------------------------------------------------------------------

    template <class... Parts>
    tl::unexpected<Error> corrupt(fmt::format_string<Parts...> format, Parts&&... parts) const {
        return fail(ErrorCode::Corrupt, "{}: {}", file_, fmt::format(format, std::forward<Parts>(parts)...));
    }

    Result<std::span<const std::byte>> take(std::uint64_t count) {
        if (count > rest_.size()) return corrupt("a gguf file that ends within its header: truncated?");
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

    template <class Number>
    Result<Number> take_number() {
        KG_TRY(const auto bytes, take(sizeof(Number)));
        Number number;
        std::memcpy(&number, bytes.data(), sizeof(number));  // the file and the host are little-endian
        return number;
    }

    Result<std::string> take_text() {
        KG_TRY(const auto length, take_number<std::uint64_t>());
        KG_TRY(const auto bytes, take(length));
        return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }

    // ---- the header -------------------------------------------------------------------------------------------------

    Result<void> read_header() {
        KG_CHECK(take(4));  // the first bytes, by which the format was chosen
        KG_TRY(const auto version, take_number<std::uint32_t>());
        if (version != 2 && version != 3) return corrupt("gguf of version {}, wanted 2 or 3", version);
        KG_TRY(tensor_count_, take_number<std::uint64_t>());
        KG_TRY(metadata_count_, take_number<std::uint64_t>());
        if (tensor_count_ > kMostTensors || metadata_count_ > kMostMetadata)
            return corrupt("{} tensors and {} metadata, at most {} and {} are read", tensor_count_, metadata_count_,
                           kMostTensors, kMostMetadata);
        return {};
    }

    Result<void> read_metadata() {
        constexpr std::string_view kShapeOf = "comfy.gguf.orig_shape.";
        KG_TRY(const auto key, take_text());
        KG_TRY(const auto kind, take_kind(key));
        if (kind == Kind::Text) {
            KG_TRY(auto text, take_text());
            metadata_.emplace(key, std::move(text));
        } else if (kind == Kind::Array) {
            KG_TRY(auto numbers, take_array(key));
            if (key.starts_with(kShapeOf)) shapes_.emplace(key.substr(kShapeOf.size()), std::move(numbers));
        } else if (kind == Kind::U32 && key == "general.alignment") {
            KG_TRY(alignment_, take_number<std::uint32_t>());
            if (alignment_ == 0 || alignment_ % 8 != 0) return corrupt("tensors aligned to {} bytes", alignment_);
        } else {
            KG_CHECK(take(kKindBytes[static_cast<std::size_t>(kind)]));
        }
        return {};
    }

    Result<Kind> take_kind(const std::string& key) {
        KG_TRY(const auto kind, take_number<std::uint32_t>());
        if (kind >= kKindBytes.size())
            return corrupt("metadata {} is of type {}, which gguf does not have", tensor::quoted_name(key), kind);
        return Kind{kind};
    }

    /// The numbers of an array that can be a shape: at most 8 integers of 32 bits. Any other array is skipped: no
    /// numbers.
    Result<tensor::Shape> take_array(const std::string& key) {
        KG_TRY(const auto kind, take_kind(key));
        KG_TRY(const auto count, take_number<std::uint64_t>());
        if (kind == Kind::Array) return corrupt("metadata {} is an array of arrays", tensor::quoted_name(key));
        tensor::Shape numbers;
        if (kind == Kind::Text) {
            for (std::uint64_t i = 0; i < count; ++i) KG_CHECK(take_text());
        } else if (kind == Kind::I32 && count <= kMostDimensions) {
            for (std::uint64_t i = 0; i < count; ++i) {
                KG_TRY(const auto number, take_number<std::int32_t>());
                numbers.push_back(number);
            }
        } else {
            const std::uint64_t bytes = kKindBytes[static_cast<std::size_t>(kind)];
            if (count > rest_.size() / bytes) return corrupt("a gguf file that ends within its header: truncated?");
            KG_CHECK(take(count * bytes));
        }
        return numbers;
    }

    Result<void> read_description() {
        Described tensor;
        KG_TRY(tensor.name, take_text());
        const std::string quoted = tensor::quoted_name(tensor.name);
        if (tensor.name.size() > kLongestName) return corrupt("a tensor's name of {} bytes", tensor.name.size());
        if (!names_.insert(tensor.name).second) return corrupt("two tensors {}", quoted);
        KG_TRY(const auto dimensions, take_number<std::uint32_t>());
        if (dimensions > kMostDimensions) return corrupt("tensor {} has {} dimensions", quoted, dimensions);
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            KG_TRY(const auto extent, take_number<std::uint64_t>());
            tensor.shape.push_back(static_cast<std::int64_t>(extent));
        }
        const auto innermost = static_cast<std::uint64_t>(tensor.shape.empty() ? 1 : tensor.shape.front());
        std::ranges::reverse(tensor.shape);  // ggml's first is the innermost
        KG_TRY(tensor.type_id, take_number<std::uint32_t>());
        KG_TRY(tensor.offset, take_number<std::uint64_t>());
        const auto elements = tensor::element_count(tensor.shape);
        if (!elements) return corrupt("tensor {} of shape {}", quoted, tensor::to_string(tensor.shape));
        tensor.elements = static_cast<std::uint64_t>(*elements);
        const auto* type = std::ranges::find(kTypes, tensor.type_id, &Type::id);
        if (type != kTypes.end()) {
            tensor.type = type;
            KG_CHECK(measure(tensor, innermost));
        }
        KG_CHECK(restore_shape(tensor));
        described_.push_back(std::move(tensor));
        return {};
    }

    /// Sets the bytes of the tensor, whose type is known.
    Result<void> measure(Described& tensor, std::uint64_t innermost) const {
        const Type* type = tensor.type;
        const std::string quoted = tensor::quoted_name(tensor.name);
        if (innermost % type->block_elements != 0)
            return corrupt("tensor {} has rows of {} elements, {} has blocks of {}", quoted, innermost, type->name,
                           type->block_elements);
        if (tensor.elements / type->block_elements > contents_.bytes.size() / type->block_bytes)
            return corrupt("tensor {} of {} elements does not fit into the file: truncated?", quoted, tensor.elements);
        tensor.bytes = tensor.elements / type->block_elements * type->block_bytes;
        return {};
    }

    /// Restores the shape that the tensor had before ggml's limit on dimensions, if the metadata tells it.
    Result<void> restore_shape(Described& tensor) const {
        const auto found = shapes_.find(tensor.name);
        if (found == shapes_.end()) return {};
        const auto elements = tensor::element_count(found->second);
        if (!elements || static_cast<std::uint64_t>(*elements) != tensor.elements)
            return corrupt("tensor {} of {} elements is said to have been of shape {}",
                           tensor::quoted_name(tensor.name), tensor.elements, tensor::to_string(found->second));
        tensor.shape = found->second;
        return {};
    }

    // ---- the tensors ------------------------------------------------------------------------------------------------

    /// Checks that tensors are within the file, are aligned and do not overlap.
    Result<void> check_places() {
        const std::uint64_t header = contents_.bytes.size() - rest_.size();
        begin_ = std::min<std::uint64_t>((header + alignment_ - 1) / alignment_ * alignment_, contents_.bytes.size());
        const std::uint64_t size = contents_.bytes.size() - begin_;
        std::vector<const Described*> in_order;
        for (const Described& tensor : described_) {
            if (tensor.offset % alignment_ != 0)
                return corrupt("tensor {} begins at {}, which is no multiple of {}", tensor::quoted_name(tensor.name),
                               tensor.offset, alignment_);
            if (tensor.offset > size || tensor.bytes > size - tensor.offset)
                return corrupt("tensor {} of {} bytes at {} ends beyond the file: truncated?",
                               tensor::quoted_name(tensor.name), tensor.bytes, tensor.offset);
            if (tensor.bytes > 0) in_order.push_back(&tensor);
        }
        std::ranges::sort(in_order, {}, &Described::offset);
        for (std::size_t i = 1; i < in_order.size(); ++i)
            if (in_order[i]->offset < in_order[i - 1]->offset + in_order[i - 1]->bytes)
                return corrupt("tensors {} and {} overlap", tensor::quoted_name(in_order[i - 1]->name),
                               tensor::quoted_name(in_order[i]->name));
        return {};
    }

    const std::byte* at(const Described& tensor) const { return contents_.bytes.data() + begin_ + tensor.offset; }

    const OwnedBytes& contents_;
    std::span<const std::byte> rest_;
    const std::string& file_;
    const CallLimits& limits_;
    std::uint64_t tensor_count_ = 0, metadata_count_ = 0, alignment_ = kDefaultAlignment, begin_ = 0;
    std::map<std::string, std::string> metadata_;
    std::unordered_map<std::string, tensor::Shape> shapes_;
    std::unordered_set<std::string> names_;
    std::vector<Described> described_;
};

Result<TensorSource> parse_gguf(const OwnedBytes& contents, const std::string& name,
                                const tensor::ReadOptions& options) {
    return Reader(contents, name, options.limits).read();
}

}  // namespace

Format gguf() { return {.first_bytes = {"GGUF"}, .parse = parse_gguf}; }

}  // namespace kinetograph::formats
