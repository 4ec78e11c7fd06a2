#include <kinetograph/tests/standin/cuda/device_code.hpp>

#include <cstring>
#include <string_view>

namespace kinetograph::accel::cuda {

namespace {

struct FileHeader {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t bytes;  ///< after the header
};
struct EntryHeader {
    std::uint16_t kind, version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;  ///< after the header
    std::uint32_t compressed_bytes, options;
    std::uint16_t minor, major;
    std::uint32_t architecture;
};
static_assert(sizeof(FileHeader) == 16 && sizeof(EntryHeader) == 32);

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint16_t kPtx = 1, kMachineCode = 2;

template <class Header>
Header header_at(std::span<const std::byte> bytes) {
    Header header{};
    if (bytes.size() >= sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
    return header;
}

}  // namespace

bool DeviceCode::runs_on(int chip) const {
    if (is_ptx) return architecture <= chip;
    return architecture / 10 == chip / 10 && architecture <= chip;  // machine code, within a major version
}

std::optional<std::vector<DeviceCode>> read_fat_binary(const void* image) {
    const auto* start = static_cast<const std::byte*>(image);
    const auto file = header_at<FileHeader>({start, sizeof(FileHeader)});
    if (file.magic != kMagic || file.header_bytes < sizeof(FileHeader)) return std::nullopt;
    std::vector<DeviceCode> code;
    std::span<const std::byte> rest(start + file.header_bytes, file.bytes);
    while (!rest.empty()) {
        const auto entry = header_at<EntryHeader>(rest);
        if (entry.header_bytes < sizeof(EntryHeader) || entry.header_bytes > rest.size() ||
            entry.bytes > rest.size() - entry.header_bytes)
            return std::nullopt;
        if (entry.kind == kPtx || entry.kind == kMachineCode)
            code.push_back({.is_ptx = entry.kind == kPtx,
                            .architecture = static_cast<int>(entry.architecture),
                            .bytes = rest.subspan(entry.header_bytes, entry.bytes)});
        rest = rest.subspan(entry.header_bytes + entry.bytes);
    }
    return code;
}

std::set<std::string, std::less<>> kernel_names(const std::vector<DeviceCode>& code) {
    constexpr std::string_view kSection{"\0.text.", 7};  // a kernel's section, among the names of all sections
    std::set<std::string, std::less<>> names;
    for (const DeviceCode& entry : code) {
        if (entry.is_ptx) continue;
        const std::string_view text(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
        for (std::size_t at = text.find(kSection); at != std::string_view::npos; at = text.find(kSection, at + 1)) {
            const std::string_view name = text.substr(at + kSection.size());
            names.emplace(name.substr(0, name.find('\0')));
        }
    }
    return names;
}

}  // namespace kinetograph::accel::cuda
