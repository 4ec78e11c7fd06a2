// Lists what a pickle has made: its tensors by the keys on the way to them.
#include <kinetograph/compute/formats/pytorch/pickle_values.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace kinetograph::formats::torch_file {

namespace {

constexpr std::size_t kDeepest = 64, kMostHints = 1000;
constexpr const char* kAlone = "tensor";  ///< the name of what is all of the pickle

/// Whether what is made by that name is a tensor, of a kind that is not known, or an array.
bool is_of_elements(std::string_view made_by) {
    return made_by.starts_with("torch.") || made_by.ends_with("multiarray._reconstruct");
}

std::optional<std::string> key_of(const Value& value) {
    if (const auto* const* text = std::get_if<const std::string*>(&value)) return **text;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    return std::nullopt;
}

/// A number, or a text that is not longer than names are: a pickle needs two bytes to hold it another time.
std::optional<std::string> hint_of(const Value& value) {
    if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
    const auto* const* text = std::get_if<const std::string*>(&value);
    return text != nullptr && (*text)->size() > kLongestName ? std::nullopt : key_of(value);
}

bool is_same_tensor(const PickledTensor& a, const PickledTensor& b) {
    return std::tie(a.storage, a.dtype, a.offset, a.shape, a.strides) ==
           std::tie(b.storage, b.dtype, b.offset, b.shape, b.strides);
}

class Lister {
  public:
    explicit Lister(const std::string& file) : file_(file) {}

    Result<Unpickled> run(const Value& root) {
        KG_CHECK(list_value(root, "", 0));
        list_hints(root);
        return std::move(made_);
    }

  private:
    /// Lists the tensors in `value`, whose name is `name`, and in what it contains. One that occurs several times is
    /// listed where it is met first.
    Result<void> list_value(const Value& value, const std::string& name, std::size_t depth) {
        if (const auto* const* found = std::get_if<const PickledTensor*>(&value))
            return list(**found, name.empty() ? kAlone : name);
        const auto* const* container = std::get_if<Container*>(&value);
        if (container == nullptr || !met_.insert(*container).second) return {};
        if (depth == kDeepest) return corrupt_pickle(file_, "has containers more than {} deep", kDeepest);
        const Container& in = **container;
        const bool has_keys = in.kind == Container::Kind::Dictionary || in.kind == Container::Kind::Object;
        if (in.made_by != nullptr && in.items.empty() && is_of_elements(*in.made_by)) {
            const std::string named = name.empty() ? kAlone : name;
            if (index_of_.emplace(named, made_.tensors.size()).second) made_.unreadable.emplace(named, *in.made_by);
        }
        for (std::size_t i = 0; i + (has_keys ? 1 : 0) < in.items.size(); i += has_keys ? 2 : 1) {
            const Value& item = in.items[i + (has_keys ? 1 : 0)];
            const bool may_hold =
                std::holds_alternative<Container*>(item) || std::holds_alternative<const PickledTensor*>(item);
            if (std::holds_alternative<const std::string*>(item) && name.empty() && !has_keys &&
                made_.texts.size() < kMostTensors)
                made_.texts.push_back(hint_of(item).value_or(""));
            if (!may_hold) continue;
            const auto key = has_keys ? key_of(in.items[i]) : std::optional(std::to_string(i));
            if (!key) continue;
            const std::string inner = name.empty() ? *key : name + "." + *key;
            if (inner.size() > kLongestName) return corrupt_pickle(file_, "has a name of {} bytes", inner.size());
            KG_CHECK(list_value(item, inner, depth + 1));
        }
        return {};
    }

    /// Lists the numbers and texts that a dictionary has beside tensors: {"latents": tensor, "fps": 16}.
    void list_hints(const Value& root) {
        const auto* const* container = std::get_if<Container*>(&root);
        if (container == nullptr || (*container)->kind != Container::Kind::Dictionary) return;
        const std::vector<Value>& items = (*container)->items;
        if (std::ranges::none_of(items, [](const Value& v) { return std::holds_alternative<const PickledTensor*>(v); }))
            return;
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            if (made_.hints.size() == kMostHints) return;
            const auto key = hint_of(items[i]), value = hint_of(items[i + 1]);
            if (key && value) made_.hints.emplace(*key, *value);
        }
    }

    /// An object may have one tensor both as an attribute and as an item.
    Result<void> list(const PickledTensor& tensor, const std::string& name) {
        const auto [known, is_new] = index_of_.emplace(name, made_.tensors.size());
        if (!is_new) {
            const bool is_same = known->second < made_.tensors.size() && !made_.unreadable.contains(name) &&
                                 is_same_tensor(made_.tensors[known->second], tensor);
            return is_same ? Result<void>() : corrupt_pickle(file_, "has two tensors {}", tensor::quoted_name(name));
        }
        if (made_.tensors.size() == kMostTensors)
            return corrupt_pickle(file_, "has more than {} tensors", kMostTensors);
        made_.tensors.push_back(tensor);
        made_.tensors.back().name = name;
        return {};
    }

    const std::string& file_;
    std::unordered_set<const Container*> met_;
    std::unordered_map<std::string, std::size_t> index_of_;  ///< names in made_ -> in its tensors
    Unpickled made_;
};

}  // namespace

Result<Unpickled> list_tensors(const Value& root, const std::string& file) { return Lister(file).run(root); }

}  // namespace kinetograph::formats::torch_file
