// PyTorch's files (.pth, .pt, .ckpt, .bin): a zip archive of a pickle, which describes the tensors, and their storages;
// before 1.6 several pickles, the storages after them. Also archives of NumPy's arrays (.npz), which are zip files too.
// Source: torch/serialization.py, pytorch/pytorch.
#include <kinetograph/compute/formats/numpy/array.hpp>
#include <kinetograph/compute/formats/pytorch/archive.hpp>
#include <kinetograph/compute/formats/pytorch/unpickler.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/copy_in_order.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/engine/base/host_memory.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace kinetograph::formats {

namespace {

using torch_file::ArchiveEntry;
using torch_file::PickledTensor;

constexpr std::size_t kLongestPickle = 16U << 20U;

const ArchiveEntry* find(std::span<const ArchiveEntry> entries, std::string_view name) {
    const auto found = std::ranges::find(entries, name, &ArchiveEntry::name);
    return found == entries.end() ? nullptr : &*found;
}

constexpr std::string_view kArray = ".npy";

bool is_of_arrays(std::span<const ArchiveEntry> entries) {
    return std::ranges::any_of(entries, [](const ArchiveEntry& entry) { return entry.name.ends_with(kArray); });
}

/// The pickle is FOLDER/data.pkl, whatever the folder is called; the rest is beside it.
Result<const ArchiveEntry*> find_pickle(std::span<const ArchiveEntry> entries, const std::string& file) {
    constexpr std::string_view kName = "/data.pkl";
    const auto found = std::ranges::find_if(entries, [&](const ArchiveEntry& entry) {
        return entry.name.ends_with(kName) && entry.name.find('/') == entry.name.size() - kName.size();
    });
    if (found == entries.end())
        return fail(
            ErrorCode::Corrupt,
            "{}: a zip archive without data.pkl or *.npy, which neither PyTorch nor NumPy saved{}: unpack it, if "
            "the file is in it",
            file, entries.empty() ? "" : ", of " + tensor::quoted_name(entries.front().name));
    if (found->bytes.size() > kLongestPickle)
        return fail(ErrorCode::Corrupt, "{}: a pickle of {} bytes, at most {} are read", file, found->bytes.size(),
                    kLongestPickle);
    return &*found;
}

/// The tensors of one archive as views of their storages. Those whose elements are not in row-major order (a transposed
/// tensor) are views of one reordered copy.
class Tensors {
  public:
    Tensors(std::span<const ArchiveEntry> entries, std::string folder, const std::string& file,
            std::uint64_t most_copied)
        : folder_(std::move(folder)), file_(file), copies_left_(most_copied) {
        for (const ArchiveEntry& entry : entries) entries_.emplace(entry.name, entry.bytes);
    }

    /// Adds the tensor as a view of its storage. One in another order gets its elements in put_in_order().
    Result<void> add(const PickledTensor& tensor) {
        KG_TRY(const auto storage, storage_of(tensor));
        KG_TRY(const std::int64_t elements, checked_elements(tensor));
        const std::uint64_t size = tensor::bytes_per_element(tensor.dtype);
        const std::byte* first = storage.data() + static_cast<std::uint64_t>(tensor.offset) * size;
        const tensor::TensorView view{tensor.dtype, tensor.shape, first, static_cast<std::uint64_t>(elements) * size};
        if (elements != 0 && !is_dense(tensor)) {
            if (view.bytes > copies_left_)
                return wrong(tensor, "more copies of other tensors' elements than the file is large");
            copies_left_ -= view.bytes;
            scattered_.push_back({tensors_.size(), &tensor});
        }
        tensors_.push_back({tensor.name, view});
        return {};
    }

    /// Copies the elements of the tensors in another order, and keeps the copy in `owners`.
    Result<void> put_in_order(const tensor::ReadOptions& options, std::vector<std::shared_ptr<const void>>& owners) {
        std::uint64_t bytes = 0;
        for (const Scattered& each : scattered_) bytes += tensors_[each.index].view.bytes;
        const std::uint64_t free = available_host_memory();
        auto pages = bytes > free ? std::nullopt : HostPages::allocate(bytes, options.allocator);
        if (!pages)
            return fail(ErrorCode::OutOfMemory, "{}: {} bytes to put elements in order, {} bytes of memory are free",
                        file_, bytes, free);
        const auto copy = std::make_shared<const HostPages>(std::move(*pages));
        std::byte* to = copy->bytes().data();
        for (const Scattered& each : scattered_) {
            tensor::TensorView& view = tensors_[each.index].view;
            KG_CHECK(tensor::copy_in_order(view.data, view.shape, each.tensor->strides,
                                           tensor::bytes_per_element(view.dtype), to, file_, options.limits));
            view.data = std::exchange(to, to + view.bytes);
        }
        owners.push_back(copy);
        return {};
    }

    std::vector<tensor::NamedTensor> take() { return std::move(tensors_); }

  private:
    tl::unexpected<Error> wrong(const PickledTensor& tensor, std::string_view what) const {
        return fail(ErrorCode::Corrupt, "{}: tensor {}: {}", file_, tensor::quoted_name(tensor.name), what);
    }

    Result<std::span<const std::byte>> storage_of(const PickledTensor& tensor) const {
        const std::string name = folder_ + "data/" + tensor.storage;
        const auto found = entries_.find(name);
        if (found == entries_.end())
            return wrong(tensor, fmt::format("its storage {} is not in the archive", tensor::quoted_name(name)));
        const std::uint64_t size = tensor::bytes_per_element(tensor.dtype);
        if (static_cast<std::uint64_t>(tensor.storage_elements) > found->second.size() / size)
            return wrong(tensor, fmt::format("its storage {} has {} bytes, {} elements were announced",
                                             tensor::quoted_name(name), found->second.size(), tensor.storage_elements));
        return found->second;
    }

    /// The number of elements. All of them are in the storage, and there are no more than it has.
    Result<std::int64_t> checked_elements(const PickledTensor& tensor) const {
        const auto counted = tensor::element_count(tensor.shape);
        if (!counted) return wrong(tensor, counted.error().message);
        const std::int64_t elements = *counted;
        std::int64_t left = tensor.storage_elements - tensor.offset;  // from the first element to the storage's end
        if (left < 0 || elements > tensor.storage_elements) return wrong(tensor, "more elements than its storage has");
        if (elements == 0) return elements;
        for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
            const std::int64_t steps = tensor.shape[axis] - 1, stride = tensor.strides[axis];
            if (steps == 0 || stride == 0) continue;
            if (stride > left / steps) return wrong(tensor, "elements beyond the end of its storage");
            left -= steps * stride;
        }
        if (left < 1) return wrong(tensor, "elements beyond the end of its storage");
        return elements;
    }

    static bool is_dense(const PickledTensor& tensor) {
        std::int64_t dense = 1;
        for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
            if (tensor.shape[axis] != 1 && tensor.strides[axis] != dense) return false;
            dense *= tensor.shape[axis];
        }
        return true;
    }

    struct Scattered {
        std::size_t index = 0;  ///< in tensors_
        const PickledTensor* tensor = nullptr;
    };

    std::unordered_map<std::string, std::span<const std::byte>> entries_;
    std::string folder_;
    const std::string& file_;
    std::uint64_t copies_left_;
    std::vector<tensor::NamedTensor> tensors_;
    std::vector<Scattered> scattered_;
};

TensorSource::Contents contents_of(const OwnedBytes& contents, const std::string& name) {
    return {.name = name, .tensors = {}, .metadata = {}, .files = {contents.bytes}, .owners = {contents.owner}};
}

/// `entries` are the storages, as FOLDERdata/KEY.
Result<TensorSource> source_of(torch_file::Unpickled described, std::span<const ArchiveEntry> entries,
                               const std::string& folder, const OwnedBytes& contents, const std::string& name,
                               const tensor::ReadOptions& options) {
    TensorSource::Contents source = contents_of(contents, name);
    Tensors tensors(entries, folder, name, contents.bytes.size());
    for (const PickledTensor& tensor : described.tensors) KG_CHECK(tensors.add(tensor));
    KG_CHECK(tensors.put_in_order(options, source.owners));
    source.tensors = tensors.take();
    source.unreadable = std::move(described.unreadable);
    source.metadata = std::move(described.hints);
    return TensorSource(std::move(source));
}

Result<TensorSource> arrays_of(std::span<const ArchiveEntry> entries, const OwnedBytes& contents,
                               const std::string& name, const tensor::ReadOptions& options) {
    TensorSource::Contents source = contents_of(contents, name);
    for (const ArchiveEntry& entry : entries) {
        if (!entry.name.ends_with(kArray)) continue;
        const std::string array = entry.name.substr(0, entry.name.size() - kArray.size());
        auto read = numpy::read_array(entry.bytes, array, name, options, source.owners);
        if (!read && read.error().code == ErrorCode::Unsupported) {  // text or objects beside the arrays that count
            source.unreadable.emplace(array, "no numbers");
            continue;
        }
        KG_TRY(auto tensor, std::move(read));
        if (auto number = numpy::number_in(tensor.view)) source.metadata.emplace(array, *std::move(number));
        source.tensors.push_back(std::move(tensor));
        if (entry.inflated) source.owners.push_back(entry.inflated);
    }
    return TensorSource(std::move(source));
}

Result<TensorSource> parse_archive(const OwnedBytes& contents, const std::string& name,
                                   const tensor::ReadOptions& options) {
    KG_TRY(const auto entries, torch_file::read_archive(contents.bytes, name, options.limits));
    const auto pickle = find_pickle(entries, name);
    if (!pickle && is_of_arrays(entries)) return arrays_of(entries, contents, name, options);
    KG_CHECK(pickle);
    const std::string folder = (*pickle)->name.substr(0, (*pickle)->name.find('/') + 1);
    if (const ArchiveEntry* order = find(entries, folder + "byteorder");
        order != nullptr &&
        std::string_view(reinterpret_cast<const char*>(order->bytes.data()), order->bytes.size()) != "little")
        return fail(ErrorCode::Unsupported, "{}: its numbers are not little-endian", name);
    KG_TRY(auto described, torch_file::unpickle((*pickle)->bytes, name, options.limits));
    return source_of(std::move(described), entries, folder, contents, name, options);
}

// ---- before PyTorch 1.6 ---------------------------------------------------------------------------------------------

/// A pickle of protocol 2 that begins with the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagicPickle = "\x80\x02\x8a\x0al\xfc\x9c";

/// Each storage as an entry "data/KEY": the number of its elements, then the elements. `types` says how large these
/// are.
Result<std::vector<ArchiveEntry>> read_storages(std::span<const std::byte> rest, const torch_file::Unpickled& described,
                                                const torch_file::Unpickled& keys, const std::string& file) {
    std::unordered_map<std::string_view, std::uint64_t> element_bytes;
    for (const PickledTensor& tensor : described.tensors)
        element_bytes.emplace(tensor.storage, tensor::bytes_per_element(tensor.dtype));
    std::vector<ArchiveEntry> entries;
    for (const std::string& key : keys.texts) {
        std::int64_t count = 0;
        const auto known = element_bytes.find(key);
        if (known == element_bytes.end())
            return fail(ErrorCode::Unsupported,
                        "{}: storage {} is of no tensor that can be read: save the file again "
                        "with PyTorch 1.6 or newer",
                        file, tensor::quoted_name(key));
        if (rest.size() >= sizeof(count)) std::memcpy(&count, rest.data(), sizeof(count));
        if (rest.size() < sizeof(count) || count < 0 ||
            static_cast<std::uint64_t>(count) > (rest.size() - sizeof(count)) / known->second)
            return fail(ErrorCode::Corrupt, "{}: storage {} ends beyond the file: truncated?", file,
                        tensor::quoted_name(key));
        const std::uint64_t bytes = static_cast<std::uint64_t>(count) * known->second;
        entries.push_back({"data/" + key, rest.subspan(sizeof(count), bytes), nullptr});
        rest = rest.subspan(sizeof(count) + bytes);
    }
    return entries;
}

/// Pickles of a number, the protocol and the machine, of the object, and of the storages' keys; then the storages.
Result<TensorSource> parse_pickles(const OwnedBytes& contents, const std::string& name,
                                   const tensor::ReadOptions& options) {
    constexpr std::size_t kPickles = 5, kObject = 3;
    std::span<const std::byte> rest = contents.bytes;
    std::array<torch_file::Unpickled, kPickles> pickles;
    for (torch_file::Unpickled& pickle : pickles) {
        KG_TRY(pickle, torch_file::unpickle(rest.first(std::min(rest.size(), kLongestPickle)), name, options.limits));
        rest = rest.subspan(pickle.bytes);
    }
    KG_TRY(const auto entries, read_storages(rest, pickles[kObject], pickles.back(), name));
    return source_of(std::move(pickles[kObject]), entries, "", contents, name, options);
}

Result<TensorSource> parse_either(const OwnedBytes& contents, const std::string& name,
                                  const tensor::ReadOptions& options) {
    const std::string_view text(reinterpret_cast<const char*>(contents.bytes.data()), contents.bytes.size());
    return text.starts_with(kMagicPickle) ? parse_pickles(contents, name, options)
                                          : parse_archive(contents, name, options);
}

}  // namespace

Format pytorch() {
    return {.first_bytes = {"PK\x03\x04", std::string(kMagicPickle)}, .open = nullptr, .parse = parse_either};
}

}  // namespace kinetograph::formats
