// The format of live latents (docs/live.md): the records that a generator writes and a viewer reads, and the replies
// that go back over a socket. All numbers are little endian.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::live {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kRecordBytes = 16;  ///< of the header that every record begins with
constexpr std::size_t kStartBytes = 112;  ///< of a start record's payload
constexpr std::int64_t kMostChannels = 1024, kLargestSide = 1024;
constexpr std::uint64_t kLargestLatentFrame = 256ULL << 20U;  ///< bytes
constexpr std::uint64_t kMostFramesOfAChunk = 256;            ///< latent frames
constexpr std::uint64_t kLongestSentence = 4096;              ///< bytes of a refusal
constexpr double kLowestFps = 0.01, kHighestFps = 1000;

/// Four characters at the beginning of every record.
using Tag = std::array<char, 4>;
constexpr Tag kStart{'K', 'G', 'L', 'V'};  ///< a stream begins
constexpr Tag kChunk{'C', 'H', 'N', 'K'};  ///< latent frames
constexpr Tag kReset{'R', 'S', 'E',
                     'T'};               ///< the next latent frame is a clip's first; what is not shown yet is dropped
constexpr Tag kEnd{'D', 'O', 'N', 'E'};  ///< the stream is complete
constexpr Tag kCredit{'C', 'R', 'D',
                      'T'};  ///< a reply: how many latent frames may have been sent on the connection, in all
constexpr Tag kRefusal{'F', 'A', 'I', 'L'};  ///< a reply: a sentence that says why the viewer takes no more

struct RecordHeader {
    Tag tag{};
    std::uint32_t payload_bytes = 0;
    std::uint64_t number = 0;  ///< of a stream in its connection, of a chunk in its stream; from 0
};

/// What a stream states about its latents.
struct StreamHeader {
    std::string family{};                      ///< of the VAE, as families::Family::name: "wan2.1"; at most 20 bytes
    std::string name{};                        ///< for titles and messages, UTF-8; at most 64 bytes
    tensor::DType dtype = tensor::DType::F32;  ///< F32, F16 or BF16
    std::int64_t channels = 0, height = 0, width = 0;
    double fps = 24.0;  ///< of the decoded video

    std::int64_t values() const { return channels * height * width; }  ///< of one latent frame
    std::uint64_t frame_bytes() const {
        return static_cast<std::uint64_t>(values()) * tensor::bytes_per_element(dtype);
    }
};

std::array<std::byte, kRecordBytes> encode(const RecordHeader& record);
RecordHeader decode_record(std::span<const std::byte, kRecordBytes> bytes);

/// The payload of a start record. Names longer than their fields are cut.
std::array<std::byte, kStartBytes> encode(const StreamHeader& header);
/// Errors: Corrupt, Unsupported (version); they name the field, what it is and what was wanted.
Result<StreamHeader> decode_start(std::span<const std::byte> payload);

/// Appends the records of a generator to `bytes`, which then go to a pipe or a socket.
class Writer {
  public:
    explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) {}
    void start(const StreamHeader& header);
    /// `latents` [frames, channels, height, width] in the stream's dtype.
    void chunk(std::span<const std::byte> latents);
    void reset();
    void end();

  private:
    void append(Tag tag, std::uint64_t number, std::span<const std::byte> payload);
    std::vector<std::byte>& bytes_;
    std::uint64_t streams_ = 0, chunks_ = 0;
};

}  // namespace kinetograph::live
