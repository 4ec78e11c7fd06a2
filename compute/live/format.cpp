#include <kinetograph/compute/live/format.hpp>

#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace kinetograph::live {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers of the format are copied as they are");

/// Offsets of the fields of a start record's payload.
constexpr std::size_t kVersionAt = 0, kChannelsAt = 4, kHeightAt = 8, kWidthAt = 12, kDtypeAt = 16, kFamilyAt = 20,
                      kFpsAt = 40, kNameAt = 48;
constexpr std::size_t kFamilyBytes = kFpsAt - kFamilyAt, kNameBytes = kStartBytes - kNameAt;

/// The format's numbers of element types: the index, from 1.
constexpr std::array kDtypes{tensor::DType::F32, tensor::DType::F16, tensor::DType::BF16};

template <class Number>
void put(std::span<std::byte> bytes, std::size_t at, Number number) {
    std::memcpy(bytes.subspan(at, sizeof(number)).data(), &number, sizeof(number));
}

template <class Number>
Number get(std::span<const std::byte> bytes, std::size_t at) {
    Number number{};
    std::memcpy(&number, bytes.subspan(at, sizeof(number)).data(), sizeof(number));
    return number;
}

void put_text(std::span<std::byte> bytes, std::size_t at, std::size_t most, std::string_view text) {
    std::memcpy(bytes.subspan(at, most).data(), text.data(), std::min(text.size(), most));
}

/// Up to the first NUL.
std::string get_text(std::span<const std::byte> bytes, std::size_t at, std::size_t most) {
    const auto field = bytes.subspan(at, most);
    const auto end = std::find(field.begin(), field.end(), std::byte{0});
    return {reinterpret_cast<const char*>(field.data()), static_cast<std::size_t>(end - field.begin())};
}

Result<std::int64_t> get_count(std::span<const std::byte> payload, std::size_t at, const char* field,
                               std::int64_t most) {
    const auto count = get<std::uint32_t>(payload, at);
    if (count >= 1 && count <= most) return count;
    return fail(ErrorCode::Corrupt, "{}: {}, wanted 1 to {}", field, count, most);
}

Result<tensor::DType> get_dtype(std::span<const std::byte> payload) {
    const auto number = get<std::uint32_t>(payload, kDtypeAt);
    if (number >= 1 && number <= kDtypes.size()) return kDtypes.at(number - 1);
    return fail(ErrorCode::Corrupt, "dtype: {}, wanted 1 (F32), 2 (F16) or 3 (BF16)", number);
}

Result<double> get_fps(std::span<const std::byte> payload) {
    const auto fps = get<double>(payload, kFpsAt);
    if (fps >= kLowestFps && fps <= kHighestFps) return fps;  // false for NaN
    return fail(ErrorCode::Corrupt, "fps: {}, wanted {} to {}", fps, kLowestFps, kHighestFps);
}

Result<std::string> get_family(std::span<const std::byte> payload) {
    std::string family = get_text(payload, kFamilyAt, kFamilyBytes);
    const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
    if (!family.empty() && std::all_of(family.begin(), family.end(), is_plain)) return family;
    return fail(ErrorCode::Corrupt, "family: {}, wanted a name as in \"wan2.1\"", tensor::quoted_name(family));
}

}  // namespace

std::array<std::byte, kRecordBytes> encode(const RecordHeader& record) {
    std::array<std::byte, kRecordBytes> bytes{};
    put(bytes, 0, record.tag);
    put(bytes, 4, record.payload_bytes);
    put(bytes, 8, record.number);
    return bytes;
}

RecordHeader decode_record(std::span<const std::byte, kRecordBytes> bytes) {
    return {get<Tag>(bytes, 0), get<std::uint32_t>(bytes, 4), get<std::uint64_t>(bytes, 8)};
}

std::array<std::byte, kStartBytes> encode(const StreamHeader& header) {
    std::array<std::byte, kStartBytes> bytes{};
    const auto dtype = std::find(kDtypes.begin(), kDtypes.end(), header.dtype) - kDtypes.begin() + 1;
    put(bytes, kVersionAt, kVersion);
    put(bytes, kChannelsAt, static_cast<std::uint32_t>(header.channels));
    put(bytes, kHeightAt, static_cast<std::uint32_t>(header.height));
    put(bytes, kWidthAt, static_cast<std::uint32_t>(header.width));
    put(bytes, kDtypeAt, static_cast<std::uint32_t>(dtype));
    put_text(bytes, kFamilyAt, kFamilyBytes, header.family);
    put(bytes, kFpsAt, header.fps);
    put_text(bytes, kNameAt, kNameBytes, header.name);
    return bytes;
}

Result<StreamHeader> decode_start(std::span<const std::byte> payload) {
    if (payload.size() < sizeof(kVersion))
        return fail(ErrorCode::Corrupt, "payload: {} bytes, wanted {}", payload.size(), kStartBytes);
    const auto version = get<std::uint32_t>(payload, kVersionAt);
    if (version != kVersion)
        return fail(ErrorCode::Unsupported, "version: {}, this program reads {}", version, kVersion);
    if (payload.size() != kStartBytes)
        return fail(ErrorCode::Corrupt, "payload: {} bytes, wanted {}", payload.size(), kStartBytes);
    StreamHeader header{.name = get_text(payload, kNameAt, kNameBytes)};
    KG_TRY(header.channels, get_count(payload, kChannelsAt, "channels", kMostChannels));
    KG_TRY(header.height, get_count(payload, kHeightAt, "height", kLargestSide));
    KG_TRY(header.width, get_count(payload, kWidthAt, "width", kLargestSide));
    KG_TRY(header.dtype, get_dtype(payload));
    KG_TRY(header.family, get_family(payload));
    KG_TRY(header.fps, get_fps(payload));
    if (header.frame_bytes() > kLargestLatentFrame)
        return fail(ErrorCode::Corrupt,
                    "channels, height and width: {} x {} x {} of {} are {} bytes, wanted at most {}", header.channels,
                    header.height, header.width, tensor::to_string(header.dtype), header.frame_bytes(),
                    kLargestLatentFrame);
    return header;
}

void Writer::append(Tag tag, std::uint64_t number, std::span<const std::byte> payload) {
    const auto record = encode(RecordHeader{tag, static_cast<std::uint32_t>(payload.size()), number});
    bytes_.insert(bytes_.end(), record.begin(), record.end());
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

void Writer::start(const StreamHeader& header) {
    chunks_ = 0;
    append(kStart, streams_++, encode(header));
}

void Writer::chunk(std::span<const std::byte> latents) { append(kChunk, chunks_++, latents); }

void Writer::reset() { append(kReset, chunks_, {}); }

void Writer::end() { append(kEnd, chunks_, {}); }

}  // namespace kinetograph::live
