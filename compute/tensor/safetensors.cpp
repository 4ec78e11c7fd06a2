#include <kinetograph/compute/tensor/content_guess.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/compute/tensor/safetensors_header.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace kinetograph::tensor {

struct SafetensorsFile::State {
    std::string name;
    std::optional<FileContents> contents;  // absent if `bytes` belong to the caller
    std::span<const std::byte> bytes;
    std::vector<NamedTensor> tensors;
    std::map<std::string, std::string> unreadable, metadata;
    std::unordered_map<std::string_view, const TensorView*> by_name;  // points into `tensors`
};

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the reference implementation

/// The header's text, and the tensor bytes after it.
struct Parts {
    std::string_view header;
    std::span<const std::byte> data;
};

/// The number in the first eight bytes, which must be present.
std::uint64_t header_length(std::span<const std::byte> bytes) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    return length;
}

/// The Error for bytes that are no safetensors file: what they are, else `why` they are not.
tl::unexpected<Error> not_safetensors(std::span<const std::byte> bytes, std::string_view file, std::string_view why) {
    const std::string what = guess_content(bytes);
    if (!what.empty()) return fail(ErrorCode::Corrupt, "{}: this is {}", file, what);
    return fail(ErrorCode::Corrupt, "{}: {}", file, why);
}

Result<Parts> split(std::span<const std::byte> bytes, std::string_view file) {
    if (bytes.size() < kLengthBytes)
        return not_safetensors(
            bytes, file,
            fmt::format("truncated: {} bytes, a safetensors file starts with 8 of header length", bytes.size()));
    const std::uint64_t length = header_length(bytes);
    if (length > kLongestHeader) {
        const std::span begin(reinterpret_cast<const std::uint8_t*>(bytes.data()), kLengthBytes);
        return not_safetensors(
            bytes, file,
            fmt::format("of no known format (safetensors, PyTorch, gguf, NumPy): it begins with the bytes {:02x}",
                        fmt::join(begin, " ")));
    }
    const auto rest = bytes.subspan(kLengthBytes);
    if (length > rest.size())
        return not_safetensors(bytes, file,
                               fmt::format("truncated: header of {} bytes, but only {} follow", length, rest.size()));
    const std::string_view header(reinterpret_cast<const char*>(rest.data()), length);
    if (header.empty() || header.front() != '{')
        return not_safetensors(bytes, file, "the header does not start with '{': not a safetensors file?");
    return Parts{header, rest.subspan(length)};
}

/// Checks the entry on its own; check_coverage() checks it against its neighbours. For an unknown dtype the number of
/// bytes cannot be checked.
Result<void> check_entry(const SafetensorsEntry& entry, std::span<const std::byte> data, std::string_view file) {
    const std::string tensor = fmt::format("{}: tensor {}", file, quoted_name(entry.name));
    const auto dtype = dtype_from_string(entry.dtype);
    const auto count = element_count(entry.shape);
    if (!count) return fail(ErrorCode::Corrupt, "{}: {}", tensor, count.error().message);
    if (entry.begin > entry.end) {
        return fail(ErrorCode::Corrupt, "{} has data_offsets [{}, {}] that run backwards", tensor, entry.begin,
                    entry.end);
    }
    if (entry.end > data.size()) {
        return fail(ErrorCode::Corrupt, "{} has data_offsets [{}, {}], past the file's {} bytes of data: truncated?",
                    tensor, entry.begin, entry.end, data.size());
    }
    if (!dtype) return {};
    const std::uint64_t bytes = entry.end - entry.begin;
    const std::uint32_t size = bytes_per_element(*dtype);
    if (bytes % size != 0 || bytes / size != static_cast<std::uint64_t>(*count)) {
        return fail(ErrorCode::Corrupt, "{} has {} bytes, which are not {} elements of {} (shape {})", tensor, bytes,
                    *count, entry.dtype, to_string(entry.shape));
    }
    return {};
}

/// `entries`, in file order, must cover `data` from its first byte to its last without gaps or overlaps.
Result<void> check_coverage(std::span<const SafetensorsEntry> entries, std::span<const std::byte> data,
                            std::string_view file) {
    std::uint64_t covered = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::uint64_t begin = entries[i].begin;
        if (begin < covered) {
            return fail(ErrorCode::Corrupt,
                        "{}: tensors {} and {} overlap: the first ends at byte {}, the second starts at {}", file,
                        quoted_name(entries[i - 1].name), quoted_name(entries[i].name), covered, begin);
        }
        if (begin > covered) {
            return fail(ErrorCode::Corrupt, "{}: hole of {} bytes before tensor {}", file, begin - covered,
                        quoted_name(entries[i].name));
        }
        covered = entries[i].end;
    }
    if (covered < data.size()) {
        return fail(ErrorCode::Corrupt, "{}: {} bytes after the last tensor belong to no tensor", file,
                    data.size() - covered);
    }
    return {};
}

}  // namespace

/// Reads the header first: a file that breaks the format is refused before its tensors are read.
Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path, const ReadOptions& options) {
    KG_TRY(auto contents, FileContents::open(path, options));
    KG_CHECK(contents.read_first(kBytesToGuessBy));
    const std::size_t size = contents.bytes().size();
    const std::uint64_t header = size < kLengthBytes ? 0 : header_length(contents.bytes());
    if (header <= kLongestHeader) KG_CHECK(contents.read_first(kLengthBytes + header));
    KG_TRY(auto file, parse(contents.bytes(), path.string()));
    KG_CHECK(contents.read_first(size));
    file.state_->contents = std::move(contents);
    return file;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes, std::string_view name) {
    KG_TRY(const auto parts, split(bytes, name));
    KG_TRY(auto header, parse_safetensors_header(parts.header, name));

    auto state = std::make_unique<State>();
    state->name = name;
    state->bytes = bytes;
    state->metadata = std::move(header.metadata);
    state->tensors.reserve(header.entries.size());
    std::ranges::stable_sort(header.entries, {}, [](const auto& entry) { return std::tuple(entry.begin, entry.end); });
    for (const SafetensorsEntry& entry : header.entries) KG_CHECK(check_entry(entry, parts.data, name));
    KG_CHECK(check_coverage(header.entries, parts.data, name));
    for (SafetensorsEntry& entry : header.entries) {
        if (const auto dtype = dtype_from_string(entry.dtype)) {
            state->tensors.push_back(
                {std::move(entry.name),
                 {*dtype, std::move(entry.shape), parts.data.data() + entry.begin, entry.end - entry.begin}});
        } else {
            state->unreadable.emplace(std::move(entry.name), quoted_name(entry.dtype));
        }
    }
    for (const NamedTensor& tensor : state->tensors) state->by_name.emplace(tensor.name, &tensor.view);
    return SafetensorsFile(std::move(state));
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

const std::string& SafetensorsFile::name() const { return state_->name; }
const std::vector<NamedTensor>& SafetensorsFile::tensors() const { return state_->tensors; }
const std::map<std::string, std::string>& SafetensorsFile::unreadable() const { return state_->unreadable; }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return state_->metadata; }
std::span<const std::byte> SafetensorsFile::bytes() const { return state_->bytes; }

const TensorView* SafetensorsFile::find(std::string_view tensor) const {
    const auto found = state_->by_name.find(tensor);
    return found == state_->by_name.end() ? nullptr : found->second;
}

}  // namespace kinetograph::tensor
