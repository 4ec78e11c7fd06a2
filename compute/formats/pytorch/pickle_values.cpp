#include <kinetograph/compute/formats/pytorch/pickle_values.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace kinetograph::formats::torch_file {

namespace {

using tensor::DType;

constexpr std::size_t kMostDimensions = 32;

/// A name that a pickle may use, as GLOBAL has it (module and name), and its value.
struct Known {
    std::string_view module, name;
    Value value;
};

std::span<const Known> known_names() {
    static const auto names = std::to_array<Known>({
        {"torch._utils", "_rebuild_tensor_v2", Function::RebuildTensor},
        {"torch._utils", "_rebuild_tensor_v3", Function::RebuildTyped},
        {"torch._utils", "_rebuild_parameter", Function::RebuildParameter},
        {"torch._utils", "_rebuild_parameter_with_state", Function::RebuildParameter},
        {"torch._tensor", "_rebuild_from_type_v2", Function::RebuildFromType},
        {"torch.storage", "UntypedStorage", StorageType{}},
        {"torch", "UntypedStorage", StorageType{}},
        {"torch", "float8_e4m3fn", DType::F8E4M3},
        {"torch", "float8_e5m2", DType::F8E5M2},
        {"collections", "OrderedDict", Function::OrderedDict},
        {"torch", "Size", Function::Size},
        {"torch", "FloatStorage", StorageType{DType::F32}},
        {"torch", "HalfStorage", StorageType{DType::F16}},
        {"torch", "BFloat16Storage", StorageType{DType::BF16}},
        {"torch", "DoubleStorage", StorageType{DType::F64}},
        {"torch", "LongStorage", StorageType{DType::I64}},
        {"torch", "IntStorage", StorageType{DType::I32}},
        {"torch", "ShortStorage", StorageType{DType::I16}},
        {"torch", "CharStorage", StorageType{DType::I8}},
        {"torch", "ByteStorage", StorageType{DType::U8}},
        {"torch", "BoolStorage", StorageType{DType::Bool}},
        {"torch", "Float8_e4m3fnStorage", StorageType{DType::F8E4M3}},
        {"torch", "Float8_e5m2Storage", StorageType{DType::F8E5M2}},
    });
    return names;
}

/// Numbers of 0 or more.
std::optional<std::vector<std::int64_t>> numbers(const Value& value) {
    const auto* const* container = std::get_if<Container*>(&value);
    if (container == nullptr || (*container)->items.size() > kMostDimensions) return std::nullopt;
    std::vector<std::int64_t> result;
    for (const Value& item : (*container)->items) {
        const auto* number = std::get_if<std::int64_t>(&item);
        if (number == nullptr || *number < 0) return std::nullopt;
        result.push_back(*number);
    }
    return result;
}

}  // namespace

std::optional<Value> known_value(std::string_view module, std::string_view name) {
    const auto names = known_names();
    const auto found =
        std::ranges::find_if(names, [&](const Known& known) { return known.module == module && known.name == name; });
    return found == names.end() ? std::nullopt : std::optional(found->value);
}

const std::string* unknown_in(const Value& value) {
    if (const auto* unknown = std::get_if<Unknown>(&value)) return unknown->name;
    const auto* const* object = std::get_if<Container*>(&value);
    return object != nullptr ? (*object)->made_by : nullptr;
}

Result<Value> describe_storage(const Value& id, const std::string& file) {
    if (const std::string* unknown = unknown_in(id); unknown != nullptr) return Unknown{unknown};
    const auto* const* tuple = std::get_if<Container*>(&id);
    const std::vector<Value>* items = tuple != nullptr ? &(*tuple)->items : nullptr;
    if (items == nullptr || items->size() < 5) return corrupt_pickle(file, "refers to what is no storage of a tensor");
    const auto* const* kind = std::get_if<const std::string*>(items->data());
    const auto* const* key = std::get_if<const std::string*>(&(*items)[2]);
    const auto* type = std::get_if<StorageType>(&(*items)[1]);
    const auto* elements = std::get_if<std::int64_t>(&(*items)[4]);
    if (const std::string* unknown = unknown_in((*items)[1]); unknown != nullptr) return Unknown{unknown};
    // Of PyTorch before 1.6: a part of another storage, as no release since 0.4 writes it.
    if (items->size() > 5 && !std::holds_alternative<Nothing>((*items)[5]))
        return corrupt_pickle(file, "refers to a part of a storage");
    if (kind == nullptr || **kind != "storage" || type == nullptr || key == nullptr || elements == nullptr ||
        *elements < 0)
        return corrupt_pickle(file, "refers to what is no storage of a tensor");
    if ((*key)->size() > kLongestName)
        return corrupt_pickle(file, "has a storage with a name of {} bytes", (*key)->size());
    return Storage{type->dtype, *key, *elements};
}

Result<std::variant<PickledTensor, Unknown>> describe_tensor(const std::vector<Value>& items, const DType* typed,
                                                             const std::string& file) {
    constexpr std::size_t kOfElements = 4, kType = 6;  // what follows tells nothing of the elements, besides the dtype
    for (std::size_t i = 0; i < std::min(kOfElements, items.size()); ++i)
        if (const std::string* unknown = unknown_in(items[i]); unknown != nullptr) return Unknown{unknown};
    const auto* storage = items.size() >= kOfElements ? std::get_if<Storage>(items.data()) : nullptr;
    const auto* offset = storage != nullptr ? std::get_if<std::int64_t>(&items[1]) : nullptr;
    if (offset == nullptr || *offset < 0) return corrupt_pickle(file, "describes a tensor without a storage");
    auto shape = numbers(items[2]), strides = numbers(items[3]);
    if (!shape || !strides || shape->size() != strides->size())
        return corrupt_pickle(file, "describes a tensor without a shape");
    const std::optional<DType> dtype = typed != nullptr ? *typed : storage->dtype;
    if (!dtype) {
        const std::string* unknown = items.size() > kType ? unknown_in(items[kType]) : nullptr;
        if (unknown == nullptr) return corrupt_pickle(file, "describes a tensor without a type");
        return Unknown{unknown};
    }
    const std::int64_t size = storage->dtype ? 1 : tensor::bytes_per_element(*dtype);
    return PickledTensor{
        "", *storage->key, *dtype, storage->elements / size, *offset, std::move(*shape), std::move(*strides)};
}

}  // namespace kinetograph::formats::torch_file
