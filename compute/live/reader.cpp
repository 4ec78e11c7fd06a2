#include <kinetograph/compute/live/reader.hpp>

#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <algorithm>

namespace kinetograph::live {
namespace {

constexpr std::uint64_t kPiece = 1U << 20U;  // bytes: how far memory may grow ahead of what has arrived

std::string quoted(const Tag& tag) { return tensor::quoted_name({tag.data(), tag.size()}); }

}  // namespace

std::string Reader::stream() const {
    if (!header_) return fmt::format("{}: stream {}", source_.name(), streams_);
    return fmt::format("{}: stream {} {}", source_.name(), streams_ - 1, tensor::quoted_name(header_->name));
}

std::string Reader::place() const {
    return header_ ? fmt::format("{}, chunk {}", stream(), left_ > 0 ? chunks_ - 1 : chunks_) : stream();
}

Result<std::optional<StreamHeader>> Reader::next_stream() {
    if (error_) return fail(*error_);
    auto header = read_start();
    if (!header) error_ = {header.error().code, fmt::format("{}: {}", place(), header.error().message)};
    if (!header) return fail(*error_);
    return header;
}

Result<Item> Reader::next() {
    if (error_) return fail(*error_);
    auto item = read_item();
    if (!item) error_ = {item.error().code, fmt::format("{}: {}", place(), item.error().message)};
    if (!item) return fail(*error_);
    return item;
}

Result<std::size_t> Reader::read_some(std::span<std::byte> bytes) {
    std::size_t have = 0;
    while (have < bytes.size()) {
        KG_TRY(const std::size_t more, source_.read(bytes.subspan(have)));
        if (more == 0) break;
        have += more;
    }
    return have;
}

Result<void> Reader::read_all(std::vector<std::byte>& bytes, std::uint64_t count, const std::string& what) {
    bytes.clear();
    while (bytes.size() < count) {
        const std::size_t have = bytes.size();
        bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(count, have + kPiece)));
        KG_TRY(const std::size_t more, read_some(std::span(bytes).subspan(have)));
        if (have + more == 0 && count > 0) return fail(ErrorCode::Corrupt, "the input ends before {}", what);
        if (have + more < bytes.size())
            return fail(ErrorCode::Corrupt, "the input ends after {} of {} bytes of {}", have + more, count, what);
    }
    return {};
}

Result<std::optional<StreamHeader>> Reader::read_start() {
    std::array<std::byte, kRecordBytes> bytes{};
    KG_TRY(const std::size_t have, read_some(bytes));
    if (have == 0) return std::nullopt;
    const RecordHeader record = decode_record(bytes);
    // Checked first: without the tag the input is not of this format, whatever else is wrong with it.
    if (have >= kStart.size() && record.tag != kStart)
        return fail(ErrorCode::Corrupt,
                    "tag: {}, wanted {}: this is not a stream of live latents; a file of latents is given by its name",
                    quoted(record.tag), quoted(kStart));
    if (have < bytes.size())
        return fail(ErrorCode::Corrupt, "the input ends after {} of {} bytes of a start record", have, bytes.size());
    if (record.number != streams_) return fail(ErrorCode::Corrupt, "number: {}, wanted {}", record.number, streams_);
    // A longer payload may be another version's: decode_start() then says so.
    const auto known = std::min<std::uint64_t>(record.payload_bytes, kStartBytes);
    KG_CHECK(read_all(bytes_, known, "a start record"));
    KG_TRY(StreamHeader header, decode_start(bytes_));
    if (record.payload_bytes != kStartBytes)
        return fail(ErrorCode::Corrupt, "payload: {} bytes, wanted {}", record.payload_bytes, kStartBytes);
    header_ = header;
    ++streams_;
    chunks_ = left_ = 0;
    return header;
}

Result<void> Reader::check_chunk(const RecordHeader& record) const {
    if (record.number != chunks_) return fail(ErrorCode::Corrupt, "number: {}, wanted {}", record.number, chunks_);
    const std::uint64_t frame = header_->frame_bytes(), frames = record.payload_bytes / frame;
    if (record.payload_bytes % frame != 0 || frames == 0)
        return fail(ErrorCode::Corrupt, "payload: {} bytes, wanted a multiple of {}, the bytes of a latent frame",
                    record.payload_bytes, frame);
    if (frames > kMostFramesOfAChunk)
        return fail(ErrorCode::Corrupt, "payload: {} latent frames, wanted at most {}", frames, kMostFramesOfAChunk);
    return {};
}

Result<void> Reader::check_mark(const RecordHeader& record, const char* what) const {
    if (record.number != chunks_)
        return fail(ErrorCode::Corrupt, "number of {}: {}, but {} chunks came", what, record.number, chunks_);
    if (record.payload_bytes != 0)
        return fail(ErrorCode::Corrupt, "payload of {}: {} bytes, wanted 0", what, record.payload_bytes);
    return {};
}

Result<Item> Reader::read_item() {
    if (left_ > 0) return read_latent();
    KG_CHECK(read_all(bytes_, kRecordBytes, "a record that continues or ends the stream"));
    const RecordHeader record = decode_record(std::span(bytes_).first<kRecordBytes>());
    if (record.tag == kChunk) {
        KG_CHECK(check_chunk(record));
        left_ = record.payload_bytes / header_->frame_bytes();
        ++chunks_;
        return read_latent();
    }
    if (record.tag == kReset) {
        KG_CHECK(check_mark(record, "a reset"));
        return Reset{};
    }
    if (record.tag != kEnd)
        return fail(ErrorCode::Corrupt, "tag: {}, wanted {}, {} or {}", quoted(record.tag), quoted(kChunk),
                    quoted(kReset), quoted(kEnd));
    KG_CHECK(check_mark(record, "the end"));
    header_.reset();
    return End{};
}

Result<Item> Reader::read_latent() {
    KG_CHECK(read_all(bytes_, header_->frame_bytes(), "a latent frame"));
    LatentValues latent{.chunk = chunks_ - 1};
    const tensor::TensorView view{header_->dtype, {header_->values()}, bytes_.data(), bytes_.size()};
    KG_TRY(latent.values, tensor::to_f32(view, "latents"));
    --left_;
    return latent;
}

}  // namespace kinetograph::live
