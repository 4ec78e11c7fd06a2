// Archives as PyTorch writes them, made in memory: a zip file of stored entries, and a pickle.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace kinetograph::test {

template <class Number>
std::string little_endian(Number number) {
    std::string bytes(sizeof(number), '\0');
    std::memcpy(bytes.data(), &number, sizeof(number));
    return bytes;
}

struct ZipEntry {
    std::string name, bytes;
    std::uint16_t method = 0;  ///< 8 claims to be deflated
    /// Only the central directory lists it, at the offset of the entry before, whose name must be as long.
    bool shares_place = false;
};

/// A zip archive, with the entries' checksums or with 0 in their place.
inline std::string zip_of(const std::vector<ZipEntry>& entries, bool checksums = true) {
    const auto u16 = [](std::size_t value) { return little_endian(static_cast<std::uint16_t>(value)); };
    const auto u32 = [](std::size_t value) { return little_endian(static_cast<std::uint32_t>(value)); };
    std::string file, table;
    std::size_t place = 0;
    for (const ZipEntry& entry : entries) {
        const auto* bytes = reinterpret_cast<const Bytef*>(entry.bytes.data());
        const auto checksum = checksums ? crc32_z(0, bytes, entry.bytes.size()) : 0;
        const std::string facts = u16(20) + u16(0) + u16(entry.method) + u32(0) + u32(checksum) +
                                  u32(entry.bytes.size()) + u32(entry.bytes.size()) + u16(entry.name.size()) + u16(0);
        if (!entry.shares_place) place = file.size();
        table += "PK\x01\x02" + u16(20) + facts + u16(0) + u16(0) + u16(0) + u32(0) + u32(place) + entry.name;
        if (!entry.shares_place) file += "PK\x03\x04" + facts + entry.name + entry.bytes;
    }
    return file + table + "PK\x05\x06" + u32(0) + u16(entries.size()) + u16(entries.size()) + u32(table.size()) +
           u32(file.size()) + u16(0);
}

/// A pickle of a dictionary, item by item.
class Pickle {
  public:
    static std::string text(const std::string& value) {
        return "X" + little_endian(static_cast<std::uint32_t>(value.size())) + value;
    }
    static std::string number(std::int32_t value) { return "J" + little_endian(value); }
    static std::string tuple(const std::vector<std::int32_t>& values) {
        std::string pieces = "(";
        for (const std::int32_t value : values) pieces += number(value);
        return pieces + "t";
    }
    static std::string name(const std::string& module, const std::string& name) {
        return "c" + module + "\n" + name + "\n";
    }
    /// torch._utils._rebuild_tensor_v2 of a storage.
    static std::string tensor(const std::string& key, std::int32_t storage_elements, std::int32_t offset,
                              const std::vector<std::int32_t>& shape, const std::vector<std::int32_t>& strides,
                              const std::string& type = "FloatStorage") {
        const std::string storage =
            "(" + text("storage") + name("torch", type) + text(key) + text("cpu") + number(storage_elements) + "tQ";
        return name("torch._utils", "_rebuild_tensor_v2") + "(" + storage + number(offset) + tuple(shape) +
               tuple(strides) + "\x89" + name("collections", "OrderedDict") + ")RtR";
    }
    Pickle& set(const std::string& key, const std::string& value) {
        items_ += text(key) + value;
        return *this;
    }
    std::string dictionary() const { return "}(" + items_ + "u"; }
    std::string bytes() const { return "\x80\x02" + dictionary() + "."; }

  private:
    std::string items_;
};

}  // namespace kinetograph::test
