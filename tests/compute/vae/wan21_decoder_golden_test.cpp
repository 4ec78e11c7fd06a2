// The Wan 2.1 decoder, through the real frame graph, against the reference decoder's outputs.
#include <gtest/gtest.h>
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/compute/vae/decoder_golden.hpp>
#include <kinetograph/tests/sanitizers.hpp>

namespace kinetograph::vae {
namespace {

struct Wan21Decoder : test::DecoderGolden {
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

void round_tensors(test::CheckpointFile& file, std::string_view with_suffix) {
    for (test::StoredTensor& stored : file.tensors)
        if (stored.name.ends_with(with_suffix))
            test::round_to_bf16({reinterpret_cast<float*>(stored.bytes.data()), stored.bytes.size() / sizeof(float)});
}

void round_conv_weights(test::CheckpointFile& file) { round_tensors(file, ".weight"); }

TEST_F(Wan21Decoder, OfDim32InFp32MatchesTheReferenceStepByStep) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    test::expect_decodes_to(*decoder("synthetic:wan2.1,dim=32", latents, Precision::Fp32), latents,
                            file.tensor("frames.fp32"), test::kFp32Decode);
}

TEST_F(Wan21Decoder, OfDim32InFp32MatchesWithRoundedConvWeights) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    test::expect_decodes_to(*decoder(dim32(round_conv_weights), latents, Precision::Fp32), latents,
                            file.tensor("frames.bf16w"), test::kFp32Decode);
}

TEST_F(Wan21Decoder, OfDim32InFp32MatchesFromDiffusersKeysWithEveryParameterRounded) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = test::rounded(file.tensor("latents"));
    const auto path = dim32([](test::CheckpointFile& checkpoint) {
        round_tensors(checkpoint, "");
        checkpoint.rename(families::wan::diffusers_name);
    });
    test::expect_decodes_to(*decoder(path, latents, Precision::Fp32), latents, file.tensor("frames.bf16all"),
                            test::kFp32Decode);
}

TEST_F(Wan21Decoder, OfDim32InBf16StaysWithinTheBf16ToleranceInEveryStep) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto bf16 = decoder("synthetic:wan2.1,dim=32", latents, Precision::Bf16);
    test::expect_decodes_to(*bf16, latents, file.tensor("frames.bf16all"), test::kBf16AgainstBf16All);
    ASSERT_TRUE(bf16->reset());
    test::expect_decodes_to(*bf16, latents, file.tensor("frames.fp32"), test::kBf16AgainstFp32);
}

TEST_F(Wan21Decoder, OfFullWidthInFp32MatchesTheReferenceStepByStep) {
    if (test::kAddressSanitized) GTEST_SKIP() << "the same code as of dim 32, for nine times as long";
    const golden::File file("wan21_full.safetensors");
    const auto latents = file.tensor("latents");
    test::expect_decodes_to(*decoder("synthetic:wan2.1", latents, Precision::Fp32), latents, file.tensor("frames.fp32"),
                            test::kFp32Decode);
}

TEST_F(Wan21Decoder, OfFullWidthInBf16StaysWithinTheBf16ToleranceInEveryStep) {
    if (test::kAddressSanitized) GTEST_SKIP() << "the same code as of dim 32, for nine times as long";
    const golden::File file("wan21_full.safetensors");
    const auto latents = file.tensor("latents");
    const auto bf16 = decoder("synthetic:wan2.1", latents, Precision::Bf16);
    test::expect_decodes_to(*bf16, latents, file.tensor("frames.bf16all"), test::kBf16AgainstBf16All);
    ASSERT_TRUE(bf16->reset());
    test::expect_decodes_to(*bf16, latents, file.tensor("frames.fp32"), test::kBf16AgainstFp32);
}

/// Where the CPU has no method of two frames at once, sums are exact.
TEST_F(Wan21Decoder, WithFastSumsStaysWithinTheTolerancesOfEachTypeInEveryStep) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto wanted = file.tensor("frames.fp32");
    for (const auto& [precision, limit] :
         {std::pair(Precision::Fp32, test::kFp32Decode), std::pair(Precision::Bf16, test::kBf16AgainstFp32)})
        test::expect_decodes_to(
            *decoder("synthetic:wan2.1,dim=32", latents, precision, LatentScale::Raw, conv::Sums::Fast), latents,
            wanted, test::of_fast_sums(limit));
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
    test::expect_decodes_to(*decoder(path, latents, Precision::Fp32, LatentScale::Normalized), latents,
                            file.tensor("frames.meanstd"), test::kFp32Decode);
}

std::vector<std::string> modules() {
    std::vector<std::string> names{"conv2", "decoder.conv1", "decoder.head.2"};
    for (int i = 0; i < 3; ++i) names.push_back("decoder.middle." + std::to_string(i));
    for (int i = 0; i < 15; ++i) names.push_back("decoder.upsamples." + std::to_string(i));
    return names;
}

TEST_F(Wan21Decoder, MatchesTheReferenceModuleByModule) {
    const golden::File file("wan21_dim32_trace.safetensors");
    test::expect_traces_match(*decoder("synthetic:wan2.1,dim=32", file.tensor("latents"), Precision::Fp32), file,
                              modules());
}

TEST_F(Wan21Decoder, MatchesTheReferenceModuleByModuleWithRoundedConvWeights) {
    const golden::File file("wan21_dim32_trace_bf16w.safetensors");
    test::expect_traces_match(*decoder(dim32(round_conv_weights), file.tensor("latents"), Precision::Fp32), file,
                              modules());
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
