// libFuzzer target: an arbitrary folder of sharded safetensors: the index, config.json and the shard b.safetensors,
// each of the first two up to a zero byte, beside a.safetensors, which is sound. What the reader accepts must satisfy
// its guarantees, and none of it may come from outside the folder.
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace {

using namespace kinetograph;

constexpr std::size_t kOutsideBytes = 1U << 16U;  // more than any file in the folder has
constexpr const char* kIndex = "diffusion_pytorch_model.safetensors.index.json";

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

/// A file with one tensor, "x", of that many bytes.
std::string safetensors(std::size_t bytes) {
    const std::string count = std::to_string(bytes);
    const std::string header = R"({"x":{"dtype":"U8","shape":[)" + count + R"(],"data_offsets":[0,)" + count + "]}}";
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    return file + header + std::string(bytes, 'x');
}

/// The folder of the index, in one with a file that no index may reach.
class Folder {
  public:
    Folder() {
        outer_.write("outside.safetensors", safetensors(kOutsideBytes));
        std::filesystem::create_directory(inner_);
        outer_.write("inside/a.safetensors", safetensors(4));
    }
    std::filesystem::path put(const std::string& name, const std::optional<std::string>& contents) const {
        if (contents) return outer_.write("inside/" + name, *contents);
        std::filesystem::remove(inner_ / name);
        return inner_ / name;
    }
    std::string path() const { return inner_.string(); }

  private:
    test::TemporaryFolder outer_;
    std::filesystem::path inner_ = outer_.path() / "inside";
};

/// Cuts off what is before the first zero byte; all of it if there is none.
std::string take_text(std::optional<std::string>& input) {
    const std::string whole = std::exchange(input, std::nullopt).value_or("");
    const std::size_t end = whole.find('\0');
    if (end != std::string::npos) input = whole.substr(end + 1);
    return whole.substr(0, end);
}

void check_sentence(const std::string& sentence, const std::string& folder) {
    expect(sentence.starts_with(folder) && sentence.size() < 4096);
    expect(std::ranges::none_of(sentence, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

void check_tensors(const formats::TensorSource& source) {
    std::set<std::string> names;
    for (const auto& [name, view] : source.tensors()) {
        expect(names.insert(name).second && source.find(name) != nullptr && view.bytes < kOutsideBytes);
        unsigned sum = 0;  // reads every byte, so that the address sanitizer checks it
        for (std::uint64_t i = 0; i < view.bytes; ++i) sum += std::to_integer<unsigned>(view.data[i]);
        volatile unsigned keep = sum;
        (void)keep;
        const auto count = tensor::element_count(view.shape);
        expect(count.has_value() &&
               view.bytes == static_cast<std::uint64_t>(*count) * tensor::bytes_per_element(view.dtype));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    if (size >= kOutsideBytes) return -1;
    std::optional<std::string> rest(std::in_place, reinterpret_cast<const char*>(data), size);
    const auto index = folder.put(kIndex, take_text(rest));
    folder.put("config.json", rest ? std::optional(take_text(rest)) : std::nullopt);
    folder.put("b.safetensors", rest);

    const auto source = formats::open(index);
    if (source)
        check_tensors(*source);
    else
        check_sentence(source.error().message, folder.path());
    return 0;
}
