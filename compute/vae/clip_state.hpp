// ClipState: what a clip remembers between two steps, in the host's memory or a file.
#pragma once

#include <kinetograph/compute/conv/sums.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/compute/vae/step_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// A value: a clip that it is loaded into makes the frames that the clip it was saved from makes next, bit for bit.
///
/// The file is a safetensors file: a tensor of U8 for each causal convolution, and in its metadata the version of the
/// format, what the state belongs to, and the XXH3-64 of all of it.
struct ClipState {
    /// What a clip must be of to take it.
    struct Owner {
        std::string family;         ///< title, "Wan 2.1"
        std::uint64_t weights = 0;  ///< Checkpoint::content_hash()
        LatentSize size;
        tensor::DType dtype = tensor::DType::BF16;  ///< of the network
        conv::Sums sums = conv::Sums::Exact;
        friend bool operator==(const Owner&, const Owner&) = default;
    };
    static constexpr int kVersion = 1;

    std::string name = "the state";  ///< the file that it was read from, for messages
    Owner owner{};
    std::int64_t latent_frames = 0, frames = 0;            ///< taken and made so far
    std::map<std::string, std::vector<std::byte>> kept{};  ///< by key of the causal convolution

    std::uint64_t bytes() const;  ///< of what is kept
    /// The file appears complete or not at all. Errors: Io.
    Result<void> write(const std::filesystem::path& path) const;
    /// Errors: those of tensor::SafetensorsFile::open, which name the file: Corrupt also for contents that do not match
    /// their hash; InvalidArgument (another safetensors file), Unsupported (a later version of the format).
    static Result<ClipState> read(const std::filesystem::path& path, const tensor::ReadOptions& options = {});
    /// Checks that a clip of `wanted` which keeps `kept_bytes` takes it. Errors: InvalidArgument naming both sides.
    Result<void> check_fits(const Owner& wanted, const std::map<std::string, std::uint64_t>& kept_bytes) const;
};

}  // namespace kinetograph::vae
