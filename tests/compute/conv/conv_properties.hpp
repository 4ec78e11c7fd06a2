// Properties of every back end of every device: it agrees with the fp64 reference, is exact on integers, and reads
// every number from the right address.
#pragma once

#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kinetograph::conv {

/// A back end with element types.
struct Combination {
    std::string_view backend;
    tensor::DType dtype, output_dtype;
};
/// "onednn_f32_BF16_ToF32"
std::string name_of(const testing::TestParamInfo<Combination>& info);

/// Why the back end is closed here, if it is open on a processor with AVX2 alone, or with bf16 products; otherwise "".
std::string missing_instructions(const accel::DeviceInfo& cpu, const Combination& combination);

/// A back end of this processor's CPU lane; skipped, with the reason, where the processor lacks its instructions.
class CpuBackendTest : public testing::TestWithParam<Combination> {
  protected:
    void SetUp() override {
        if (const std::string missing = missing_instructions(device_->info(), GetParam()); !missing.empty())
            GTEST_SKIP() << GetParam().backend << " " << missing;
    }
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

/// ||error|| / ||output|| of a float32 output: 2e-6 (README of the goldens: torch's float32 measures 3.9e-7, factor 5).
/// Tensor cores truncate the running sum after every 16 products instead of rounding it: by 2^-24 of it on average.
double float32_limit(const accel::DeviceInfo& device, const ConvProblem& problem);

/// Each runs those of `shapes` that the back end does not decline, into poisoned outputs, and returns their number.
/// Random numbers, within the rounding of the output and, where a doubled input's taps are folded, of the filter.
int expect_agreement(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes);
/// Small integers, bit for bit, with one rounding at the end; without activations and norms.
int expect_exactness(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes);
/// Inputs that encode their position and filters of one tap, bit for bit; without activations and norms.
int expect_places(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes);

}  // namespace kinetograph::conv
