// Small latents files for the program to decode.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <string>
#include <vector>

namespace kinetograph::test {

/// A matching checkpoint: small, with synthetic weights.
inline constexpr const char* kSmallWeights = "synthetic:wan2.1,dim=32";

/// Writes `name` into `folder`: synthetic latents [channels, frames, height, width], by default for 48x32 pixels.
inline std::string write_latents(const TemporaryFolder& folder, const std::string& name, std::int64_t frames = 2,
                                 std::int64_t channels = 16, std::int64_t height = 4, std::int64_t width = 6) {
    const tensor::Shape shape{channels, frames, height, width};
    const std::vector<float> values = vae::synthetic_tensor("latents", shape).value();
    const std::array tensors{tensor::NamedTensor{
        "latents",
        {tensor::DType::F32, shape, reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)}}};
    const auto path = folder.path() / name;
    const auto written = tensor::write_safetensors(path, tensors, {{"fps", "12"}});
    EXPECT_TRUE(written) << written.error().message;
    return path.string();
}

/// The program's words that decode them.
inline std::vector<std::string> decode(const std::string& latents, const std::string& out,
                                       const std::string& weights = kSmallWeights) {
    return {"decode", latents, "--weights", weights, "-o", out};
}

}  // namespace kinetograph::test
