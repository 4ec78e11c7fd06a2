#include <kinetograph/compute/formats/pytorch/archive.hpp>
#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/engine/base/host_memory.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_set>

namespace kinetograph::formats::torch_file {

namespace {

constexpr std::uint64_t kMostEntries = 100'000;
constexpr unsigned kEncrypted = 1;           // a bit of an entry's flags
constexpr std::uint64_t kMostGrowth = 1032;  // of deflated bytes: zlib's technical details

/// What minizip reads as a file: bytes in memory.
struct MemoryFile {
    std::span<const std::byte> bytes;
    std::uint64_t position = 0;
};

void* open_memory(void* memory, const void*, int) { return memory; }
int close_memory(void*, void*) { return 0; }
int error_of_memory(void*, void*) { return 0; }
ZPOS64_T tell_memory(void*, void* stream) { return static_cast<MemoryFile*>(stream)->position; }

uLong read_memory(void*, void* stream, void* to, uLong size) {
    auto& file = *static_cast<MemoryFile*>(stream);
    const std::uint64_t left = file.bytes.size() - std::min<std::uint64_t>(file.position, file.bytes.size());
    const std::uint64_t count = std::min<std::uint64_t>(size, left);
    if (count > 0) std::memcpy(to, file.bytes.data() + file.position, count);
    file.position += count;
    return count;
}

uLong write_memory(void*, void*, const void*, uLong) { return 0; }

long seek_memory(void*, void* stream, ZPOS64_T offset, int origin) {
    auto& file = *static_cast<MemoryFile*>(stream);
    const std::uint64_t size = file.bytes.size();
    const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                               : origin == ZLIB_FILEFUNC_SEEK_CUR ? file.position
                                                                  : size;
    if (offset > size || from > size - offset) return -1;
    file.position = from + offset;
    return 0;
}

struct CloseArchive {
    void operator()(void* archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<void, CloseArchive>;

struct StoredEntry {
    ArchiveEntry entry;
    std::uint32_t checksum = 0;
};

/// The bytes of the current entry, which is deflated; minizip checks them against their checksum. `left` is what all
/// such entries may still take.
Result<ArchiveEntry> inflate_entry(void* archive, const unz_file_info64& info, std::string name, std::uint64_t& left,
                                   const std::string& file, const CallLimits& limits) {
    constexpr std::uint64_t kPiece = 16U << 20U;
    const std::string quoted = tensor::quoted_name(name);
    const std::uint64_t size = info.uncompressed_size;
    if (size > left)
        return fail(ErrorCode::Corrupt, "{}: entry {} would inflate to {} bytes: damaged", file, quoted, size);
    left -= size;
    auto pages = size > available_host_memory() ? std::nullopt : HostPages::allocate(size);
    if (!pages)
        return fail(ErrorCode::OutOfMemory, "{}: entry {} takes {} bytes of memory, {} are free", file, quoted, size,
                    available_host_memory());
    const auto copy = std::make_shared<const HostPages>(std::move(*pages));
    if (unzOpenCurrentFile(archive) != UNZ_OK)
        return fail(ErrorCode::Corrupt, "{}: entry {} does not begin where the table of contents has it", file, quoted);
    std::uint64_t done = 0;
    for (bool more = true; more && done < size;) {
        if (auto checked = limits.check(file); !checked) {
            unzCloseCurrentFile(archive);
            return fail(std::move(checked.error()));
        }
        const int read = unzReadCurrentFile(archive, copy->bytes().data() + done,
                                            static_cast<unsigned>(std::min(kPiece, size - done)));
        more = read > 0;
        if (more) done += static_cast<std::uint64_t>(read);
    }
    if (unzCloseCurrentFile(archive) != UNZ_OK || done != size)
        return fail(ErrorCode::Corrupt, "{}: entry {} cannot be inflated to its {} bytes: damaged", file, quoted, size);
    return ArchiveEntry{std::move(name), copy->bytes().first(size), copy};
}

/// The current entry of `archive`.
Result<StoredEntry> read_entry(void* archive, std::span<const std::byte> contents, std::uint64_t& left_to_inflate,
                               const std::string& file, const CallLimits& limits) {
    unz_file_info64 info{};
    std::array<char, 1024> name{};
    if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) != UNZ_OK)
        return fail(ErrorCode::Corrupt, "{}: its table of contents cannot be read", file);
    const std::string known = name.data(), quoted = tensor::quoted_name(known);
    if (info.compression_method == Z_DEFLATED && (info.flag & kEncrypted) == 0 && known.ends_with(".npy")) {
        KG_TRY(auto entry, inflate_entry(archive, info, known, left_to_inflate, file, limits));
        return StoredEntry{std::move(entry)};
    }
    if (info.compression_method != 0 || (info.flag & kEncrypted) != 0)
        return fail(
            ErrorCode::Corrupt,
            "{}: entry {} is {}, and PyTorch stores tensors as they are: unpack the archive first, if the file is "
            "in it",
            file, quoted, (info.flag & kEncrypted) != 0 ? "encrypted" : "compressed");
    if (unzOpenCurrentFile(archive) != UNZ_OK)
        return fail(ErrorCode::Corrupt, "{}: entry {} does not begin where the table of contents has it", file, quoted);
    const std::uint64_t begin = unzGetCurrentFileZStreamPos64(archive), size = info.uncompressed_size;
    unzCloseCurrentFile(archive);
    if (begin > contents.size() || size > contents.size() - begin)
        return fail(ErrorCode::Corrupt, "{}: entry {} of {} bytes ends beyond the file: truncated?", file, quoted,
                    size);
    return StoredEntry{{known, contents.subspan(begin, size), nullptr}, static_cast<std::uint32_t>(info.crc)};
}

/// Whether the entry's bytes match its checksum.
Result<bool> is_intact(const StoredEntry& stored, const std::string& file, const CallLimits& limits) {
    constexpr std::size_t kPiece = 16U << 20U;
    uLong checksum = 0;
    for (std::span<const std::byte> rest = stored.entry.bytes; !rest.empty();) {
        KG_CHECK(limits.check(file));
        const auto piece = rest.first(std::min(rest.size(), kPiece));
        checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
        rest = rest.subspan(piece.size());
    }
    return checksum == stored.checksum;
}

/// Checks several entries at a time. A writer that skips checksums leaves 0 in all of them
/// (torch.serialization.set_crc32_options).
Result<void> check_contents(std::span<const StoredEntry> stored, const std::string& file, const CallLimits& limits) {
    const auto is_checked = [](const StoredEntry& each) { return each.entry.inflated != nullptr; };
    if (std::ranges::all_of(stored, [&](const StoredEntry& each) { return is_checked(each) || each.checksum == 0; }))
        return {};
    std::vector<Result<bool>> intact(stored.size(), true);
    for_tasks(std::ssize(stored), [&](std::int64_t task, int) {
        const auto i = static_cast<std::size_t>(task);
        if (!is_checked(stored[i])) intact[i] = is_intact(stored[i], file, limits);
    });
    for (std::size_t i = 0; i < stored.size(); ++i) {
        KG_TRY(const bool matches, intact[i]);
        if (!matches)
            return fail(ErrorCode::Corrupt, "{}: the bytes of entry {} do not match their checksum: damaged", file,
                        tensor::quoted_name(stored[i].entry.name));
    }
    return {};
}

/// Entries that overlap are refused: many of them over one region would make a small file slow, as each is read and
/// checked.
Result<void> check_places(std::span<const StoredEntry> stored, const std::string& file) {
    std::vector<const ArchiveEntry*> in_order;
    for (const StoredEntry& each : stored)
        if (!each.entry.bytes.empty() && each.entry.inflated == nullptr) in_order.push_back(&each.entry);
    std::ranges::sort(in_order, {}, [](const ArchiveEntry* entry) { return entry->bytes.data(); });
    for (std::size_t i = 1; i < in_order.size(); ++i) {
        const ArchiveEntry &before = *in_order[i - 1], &entry = *in_order[i];
        if (entry.bytes.data() < before.bytes.data() + before.bytes.size())
            return fail(ErrorCode::Corrupt, "{}: entries {} and {} overlap", file, tensor::quoted_name(before.name),
                        tensor::quoted_name(entry.name));
    }
    return {};
}

}  // namespace

Result<std::vector<ArchiveEntry>> read_archive(std::span<const std::byte> contents, const std::string& file,
                                               const CallLimits& limits) {
    MemoryFile memory{contents};
    zlib_filefunc64_def calls{open_memory, read_memory,  write_memory,    tell_memory,
                              seek_memory, close_memory, error_of_memory, &memory};
    // minizip passes its path, here the memory, on to open_memory.
    const Archive archive(unzOpen2_64(&memory, &calls));
    unz_global_info64 info{};
    if (!archive || unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK)
        return fail(ErrorCode::Corrupt, "{}: a zip archive without a table of contents: truncated?", file);
    if (info.number_entry > kMostEntries)
        return fail(ErrorCode::Corrupt, "{}: {} entries, at most {} are read", file, info.number_entry, kMostEntries);
    std::vector<StoredEntry> stored;
    std::unordered_set<std::string> names;
    std::uint64_t left_to_inflate = kMostGrowth * contents.size();
    for (std::uint64_t i = 0; i < info.number_entry; ++i) {
        if ((i == 0 ? unzGoToFirstFile(archive.get()) : unzGoToNextFile(archive.get())) != UNZ_OK)
            return fail(ErrorCode::Corrupt, "{}: its table of contents ends after {} of {} entries", file, i,
                        info.number_entry);
        KG_CHECK(limits.check(file));
        KG_TRY(auto entry, read_entry(archive.get(), contents, left_to_inflate, file, limits));
        if (!names.insert(entry.entry.name).second)
            return fail(ErrorCode::Corrupt, "{}: two entries {}", file, tensor::quoted_name(entry.entry.name));
        stored.push_back(std::move(entry));
    }
    KG_CHECK(check_places(stored, file));
    KG_CHECK(check_contents(stored, file, limits));
    std::vector<ArchiveEntry> entries;
    entries.reserve(stored.size());
    for (StoredEntry& each : stored) entries.push_back(std::move(each.entry));
    return entries;
}

}  // namespace kinetograph::formats::torch_file
