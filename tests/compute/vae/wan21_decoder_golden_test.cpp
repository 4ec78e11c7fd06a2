// The Wan 2.1 decoder, through the real frame graph, against the reference decoder's outputs.
#include <gtest/gtest.h>
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/golden/golden.hpp>

namespace kinetograph::vae {
namespace {

// Limits of tests/golden/README.md.
constexpr golden::Limit kFp32Decode{2e-5, 1e-4};
constexpr golden::Limit kFp32Trace{1e-5, 5e-5};
constexpr golden::Limit kBf16AgainstBf16All{2e-2, 0.08};
constexpr golden::Limit kBf16AgainstFp32{2.5e-2, 0.10};

/// Decodes [C, T, h, w] latents one frame a step and compares every step, and then the whole, with [3, T', H, W]
/// frames.
void expect_decodes_to(Decoder& decoder, const golden::Tensor& latents, const golden::Tensor& frames,
                       golden::Limit limit) {
    std::vector<float> all;
    for (std::int64_t t = 0; t < latents.shape[1]; ++t) {
        const auto step = decoder.step(golden::tchw(latents, t, 1));
        ASSERT_TRUE(step) << step.error().message;
        EXPECT_EQ(step->frames.count, t == 0 ? 1 : 4);
        EXPECT_EQ(step->frames.first, t == 0 ? 0 : 4 * t - 3);
        EXPECT_TRUE(golden::within(step->thwc, golden::thwc(frames, step->frames.first, step->frames.count), limit))
            << "step " << t;
        all.insert(all.end(), step->thwc.begin(), step->thwc.end());
    }
    EXPECT_TRUE(golden::within(all, golden::thwc(frames, 0, frames.shape[1]), limit)) << "whole clip";
}

struct Wan21Decoder : testing::Test {
    std::unique_ptr<accel::Device> device = accel::cpu::create_device();

    std::unique_ptr<Decoder> decoder(const std::string& checkpoint, const golden::Tensor& latents, Precision precision,
                                     LatentScale scale = LatentScale::Raw) {
        auto opened = Checkpoint::open(checkpoint);
        EXPECT_TRUE(opened) << opened.error().message;
        const auto model = Model::create(*device, *opened, {.precision = precision, .latents = scale, .clamp = false});
        auto created = Decoder::create(model.value(), {latents.shape[2], latents.shape[3]});
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }
    /// The synthetic checkpoint of dim 32, changed and written to a file.
    std::string dim32(const std::function<void(test::CheckpointFile&)>& change) {
        auto file = test::CheckpointFile::synthetic(32);
        change(file);
        const auto path = folder_.path() / "dim32.safetensors";
        file.write(path);
        return path.string();
    }
    test::TemporaryFolder folder_;
};

void round_to_bf16(std::span<float> values) {
    for (float& value : values) value = tensor::from_bf16(tensor::to_bf16(value));
}

void round_tensors(test::CheckpointFile& file, std::string_view with_suffix) {
    for (test::StoredTensor& stored : file.tensors)
        if (stored.name.ends_with(with_suffix))
            round_to_bf16({reinterpret_cast<float*>(stored.bytes.data()), stored.bytes.size() / sizeof(float)});
}

void round_conv_weights(test::CheckpointFile& file) { round_tensors(file, ".weight"); }

golden::Tensor rounded(golden::Tensor tensor) {
    round_to_bf16(tensor.values);
    return tensor;
}

TEST_F(Wan21Decoder, OfDim32InFp32MatchesTheReferenceStepByStep) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    expect_decodes_to(*decoder("synthetic:wan2.1,dim=32", latents, Precision::Fp32), latents,
                      file.tensor("frames.fp32"), kFp32Decode);
}

TEST_F(Wan21Decoder, OfDim32InFp32MatchesWithRoundedConvWeights) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    expect_decodes_to(*decoder(dim32(round_conv_weights), latents, Precision::Fp32), latents,
                      file.tensor("frames.bf16w"), kFp32Decode);
}

TEST_F(Wan21Decoder, OfDim32InFp32MatchesFromDiffusersKeysWithEveryParameterRounded) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = rounded(file.tensor("latents"));
    const auto path = dim32([](test::CheckpointFile& checkpoint) {
        round_tensors(checkpoint, "");
        checkpoint.rename(families::wan::diffusers_name);
    });
    expect_decodes_to(*decoder(path, latents, Precision::Fp32), latents, file.tensor("frames.bf16all"), kFp32Decode);
}

TEST_F(Wan21Decoder, OfDim32InBf16StaysWithinTheBf16ToleranceInEveryStep) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto bf16 = decoder("synthetic:wan2.1,dim=32", latents, Precision::Bf16);
    expect_decodes_to(*bf16, latents, file.tensor("frames.bf16all"), kBf16AgainstBf16All);
    ASSERT_TRUE(bf16->reset());
    expect_decodes_to(*bf16, latents, file.tensor("frames.fp32"), kBf16AgainstFp32);
}

TEST_F(Wan21Decoder, OfFullWidthInFp32MatchesTheReferenceStepByStep) {
    const golden::File file("wan21_full.safetensors");
    const auto latents = file.tensor("latents");
    expect_decodes_to(*decoder("synthetic:wan2.1", latents, Precision::Fp32), latents, file.tensor("frames.fp32"),
                      kFp32Decode);
}

TEST_F(Wan21Decoder, OfFullWidthInBf16StaysWithinTheBf16ToleranceInEveryStep) {
    const golden::File file("wan21_full.safetensors");
    const auto latents = file.tensor("latents");
    const auto bf16 = decoder("synthetic:wan2.1", latents, Precision::Bf16);
    expect_decodes_to(*bf16, latents, file.tensor("frames.bf16all"), kBf16AgainstBf16All);
    ASSERT_TRUE(bf16->reset());
    expect_decodes_to(*bf16, latents, file.tensor("frames.fp32"), kBf16AgainstFp32);
}

TEST_F(Wan21Decoder, UndoesTheNormalisationThatTheCheckpointsMetadataStates) {
    const golden::File file("wan21_dim32_trace.safetensors");
    // The published Wan 2.1 statistics, which a synthetic checkpoint does not have by itself.
    const std::map<std::string, std::string> published{
        {"latents_mean",
         "-0.7571,-0.7089,-0.9113,0.1075,-0.1745,0.9653,-0.1517,1.5508,0.4134,-0.0715,0.5517,-0.3632,-0.1922,"
         "-0.9497,0.2503,-0.2921"},
        {"latents_std",
         "2.8184,1.4541,2.3275,2.6558,1.2196,1.7708,2.6052,2.0743,3.2687,2.1526,2.8652,1.5579,1.6382,1.1253,"
         "2.8251,1.9160"}};
    const auto path = dim32([&](test::CheckpointFile& checkpoint) { checkpoint.metadata = published; });
    const auto latents = file.tensor("latents");
    expect_decodes_to(*decoder(path, latents, Precision::Fp32, LatentScale::Normalized), latents,
                      file.tensor("frames.meanstd"), kFp32Decode);
}

std::vector<std::string> modules() {
    std::vector<std::string> names{"conv2", "decoder.conv1", "decoder.head.2"};
    for (int i = 0; i < 3; ++i) names.push_back("decoder.middle." + std::to_string(i));
    for (int i = 0; i < 15; ++i) names.push_back("decoder.upsamples." + std::to_string(i));
    return names;
}

/// Every module's output in step 0 and step 1; conv2's golden holds both steps in one tensor.
void expect_traces_match(Decoder& decoder, const golden::File& file) {
    const auto latents = file.tensor("latents");
    for (const std::string& module : modules()) {
        ASSERT_TRUE(decoder.reset());
        for (std::int64_t step = 0; step < 2; ++step) {
            const auto traced = decoder.trace(golden::tchw(latents, step, 1), module);
            ASSERT_TRUE(traced) << traced.error().message;
            const bool whole_clip = module == "conv2";
            const auto expected = file.tensor(whole_clip ? module : "chunk" + std::to_string(step) + "." + module);
            const auto wanted =
                whole_clip ? golden::thwc(expected, step, 1) : golden::thwc(expected, 0, expected.shape[1]);
            const std::int64_t frames = whole_clip ? 1 : expected.shape[1];
            EXPECT_TRUE(golden::within(golden::upper_rows(*traced, frames, wanted.size()), wanted, kFp32Trace))
                << module << " in step " << step;
        }
    }
}

TEST_F(Wan21Decoder, MatchesTheReferenceModuleByModule) {
    const golden::File file("wan21_dim32_trace.safetensors");
    expect_traces_match(*decoder("synthetic:wan2.1,dim=32", file.tensor("latents"), Precision::Fp32), file);
}

TEST_F(Wan21Decoder, MatchesTheReferenceModuleByModuleWithRoundedConvWeights) {
    const golden::File file("wan21_dim32_trace_bf16w.safetensors");
    expect_traces_match(*decoder(dim32(round_conv_weights), file.tensor("latents"), Precision::Fp32), file);
}

TEST_F(Wan21Decoder, TracesNothingForAModuleThatDoesNotExist) {
    const golden::File file("wan21_dim32_trace.safetensors");
    const auto latents = file.tensor("latents");
    const auto traced =
        decoder("synthetic:wan2.1,dim=32", latents, Precision::Fp32)->trace(golden::tchw(latents, 0, 1), "decoder.x");
    ASSERT_TRUE(traced);
    EXPECT_TRUE(traced->empty());
}

}  // namespace
}  // namespace kinetograph::vae
