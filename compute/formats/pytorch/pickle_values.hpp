// What the unpickler's stack holds, and what PyTorch's names and calls among it mean.
#pragma once

#include <kinetograph/compute/formats/pytorch/unpickler.hpp>

#include <optional>
#include <variant>

namespace kinetograph::formats::torch_file {

constexpr std::size_t kMostTensors = 100'000, kLongestName = 1024;

enum class Function : std::uint8_t {
    RebuildTensor,
    RebuildTyped,
    RebuildParameter,
    RebuildFromType,
    OrderedDict,
    Size
};

struct Nothing {};  // None, booleans, long integers, bytes: values that nothing here needs
struct Mark {};
struct Storage {
    std::optional<tensor::DType> dtype{};  ///< none: the tensor says it, and `elements` are bytes
    const std::string* key = nullptr;
    std::int64_t elements = 0;
};
struct Container;
struct StorageType {
    std::optional<tensor::DType> dtype{};
};
struct Unknown {
    const std::string* name = nullptr;  ///< "argparse.Namespace"
};

/// The unpickler owns texts, containers and tensors: a pickle can refer to one any number of times, and make cycles.
using Value = std::variant<Nothing, Mark, std::int64_t, double, const std::string*, Storage, StorageType, tensor::DType,
                           Function, Unknown, Container*, const PickledTensor*>;

struct Container {
    enum class Kind : std::uint8_t { Tuple, List, Dictionary, Object } kind = Kind::Tuple;
    std::vector<Value> items;              ///< of a dictionary or an object: key, value, key, value...
    const std::string* made_by = nullptr;  ///< of an object: what is not known
};

template <class... Parts>
tl::unexpected<Error> corrupt_pickle(const std::string& file, fmt::format_string<Parts...> format, Parts&&... parts) {
    return fail(ErrorCode::Corrupt, "{}: its pickle {}", file, fmt::format(format, std::forward<Parts>(parts)...));
}

/// The value of a name that a pickle may use, as GLOBAL has it; nothing for any other.
std::optional<Value> known_value(std::string_view module, std::string_view name);

/// The name of what is not known, if the value is that or was made by it; else null.
const std::string* unknown_in(const Value& value);

/// The storage of a persistent id, ("storage", type, key, location, elements), or the Unknown that it needs. Errors:
/// Corrupt, with `file`, for what is no storage.
Result<Value> describe_storage(const Value& id, const std::string& file);

/// The tensor of a rebuild function's arguments, (storage, offset, shape, strides, ...), or the Unknown that it needs;
/// `typed` is the dtype of elements in an untyped storage. Errors: Corrupt, with `file`, for what is no tensor.
Result<std::variant<PickledTensor, Unknown>> describe_tensor(const std::vector<Value>& items,
                                                             const tensor::DType* typed, const std::string& file);

/// Lists the tensors in what a pickle has made, and what else Unpickled has.
Result<Unpickled> list_tensors(const Value& root, const std::string& file);

}  // namespace kinetograph::formats::torch_file
