// The TAEHV decoders on the CPU, against the reference's outputs and against themselves.
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/vae/taehv_cases.hpp>

namespace kinetograph::vae {
namespace {

// Limits of tests/golden/README.md.
constexpr golden::Limit kFp32{2e-5, 1e-4}, kFp32Modules{1e-5, 5e-5}, kBf16{2.5e-2, 0.10};

struct Taehv : testing::Test {
    std::unique_ptr<accel::Device> device = accel::cpu::create_device();
};

TEST_F(Taehv, DecodesAsTheReferenceDoesInFp32) { expect_taew21_decodes(*device, Precision::Fp32, 3, kFp32); }
TEST_F(Taehv, DecodesAsTheReferenceDoesInBf16) { expect_taew21_decodes(*device, Precision::Bf16, 3, kBf16); }
TEST_F(Taehv, MatchesTheReferenceModuleByModule) { expect_taew21_modules(*device, Precision::Fp32, 2, kFp32Modules); }

TEST_F(Taehv, MembersDecodeAsAnIndependentImplementation) {
    expect_taehv_members(*device, Precision::Fp32, kFp32);
    expect_taehv_members(*device, Precision::Bf16, kBf16);
}

TEST_F(Taehv, LayersMatchFloat64ForEveryCutOfTheStream) {
    for (const auto dtype : {tensor::DType::F32, tensor::DType::BF16}) expect_taehv_units({*device, dtype});
}

TEST_F(Taehv, DecodesTheSameBitsHoweverStepsAreCut) {
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) expect_taehv_cuts_agree(*device, precision);
}

}  // namespace
}  // namespace kinetograph::vae
