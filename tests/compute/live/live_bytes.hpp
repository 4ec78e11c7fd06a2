// Bytes of live latents as a generator writes them, and a source that gives them in pieces.
#pragma once

#include <kinetograph/compute/live/reader.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kinetograph::live::testing {

using Bytes = std::vector<std::byte>;

class MemorySource final : public ByteSource {
  public:
    explicit MemorySource(std::span<const std::byte> bytes, std::size_t piece = 4096) : bytes_(bytes), piece_(piece) {}
    Result<std::size_t> read(std::span<std::byte> bytes) override {
        const std::size_t count = std::min({piece_, bytes.size(), bytes_.size()});
        std::copy_n(bytes_.begin(), count, bytes.begin());
        bytes_ = bytes_.subspan(count);
        return count;
    }
    const std::string& name() const override { return name_; }

  private:
    std::span<const std::byte> bytes_;
    std::size_t piece_;
    std::string name_ = "a generator";
};

/// The header of a stream for a decoder of 16 channels and 1 x 2 latent pixels.
inline StreamHeader small_header() {
    return {.family = "wan2.1",
            .name = "orbit",
            .dtype = tensor::DType::F32,
            .channels = 16,
            .height = 1,
            .width = 2,
            .fps = 25.0};
}

/// Latent frame `index` of such a stream, no two alike.
inline std::vector<float> small_latent(std::int64_t index) {
    std::vector<float> values;
    for (int i = 0; i < 32; ++i) values.push_back(3.0F * std::sin(0.7F * static_cast<float>(32 * index + i)));
    return values;
}

/// Latent frames [first, first + count) as a chunk's payload.
inline Bytes small_latents(std::int64_t first, std::int64_t count) {
    Bytes bytes;
    for (std::int64_t t = first; t < first + count; ++t) {
        const auto values = small_latent(t);
        const auto frame = std::as_bytes(std::span(values));
        bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
    return bytes;
}

}  // namespace kinetograph::live::testing
