// Reader: streams of live latents out of bytes that arrive, every length and field checked.
#pragma once

#include <kinetograph/compute/live/format.hpp>

#include <optional>
#include <variant>

namespace kinetograph::live {

/// Where the bytes come from.
class ByteSource {
  public:
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;

    /// Waits for bytes and stores them from the front of `bytes`, which is not empty. Returns how many; 0: the input
    /// has ended. Errors: Io, Cancelled.
    virtual Result<std::size_t> read(std::span<std::byte> bytes) = 0;
    virtual const std::string& name() const = 0;  ///< for messages: "standard input"
};

/// A latent frame.
struct LatentValues {
    std::uint64_t chunk = 0;      ///< that it came in
    std::vector<float> values{};  ///< [channels, height, width]
};
struct Reset {};
struct End {};
using Item = std::variant<LatentValues, Reset, End>;

/// An Error is final: every later call returns it again. It names the input, the stream, the chunk and the field.
/// Memory grows with the bytes that have arrived, not with what a header claims.
class Reader {
  public:
    /// `source` outlives this.
    explicit Reader(ByteSource& source) : source_(source) {}

    /// What the next stream states; nothing at the input's end. Call it at first and after an End.
    /// Errors: Corrupt, Unsupported (another version), those of the source.
    Result<std::optional<StreamHeader>> next_stream();
    /// What comes next in that stream. Errors: Corrupt, also for an input that ends before the stream does; those of
    /// the source.
    Result<Item> next();

    /// "standard input: stream 0 "orbit"": the one that is being read, or the one to come; for messages.
    std::string stream() const;

  private:
    std::string place() const;
    Result<std::optional<StreamHeader>> read_start();
    Result<Item> read_item();
    Result<Item> read_latent();
    Result<void> check_chunk(const RecordHeader& record) const;
    Result<void> check_mark(const RecordHeader& record, const char* what) const;
    /// Fills `bytes`, or fewer at the input's end.
    Result<std::size_t> read_some(std::span<std::byte> bytes);
    Result<void> read_all(std::vector<std::byte>& bytes, std::uint64_t count, const std::string& what);

    ByteSource& source_;
    std::optional<StreamHeader> header_;  ///< of the stream that is being read
    std::uint64_t streams_ = 0;           ///< streams begun
    std::uint64_t chunks_ = 0;            ///< chunks begun in that stream
    std::uint64_t left_ = 0;              ///< latent frames of the current chunk that are not read yet
    std::vector<std::byte> bytes_;
    std::optional<Error> error_;
};

}  // namespace kinetograph::live
