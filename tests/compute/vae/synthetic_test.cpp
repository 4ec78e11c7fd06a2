#include <gtest/gtest.h>

#include <bit>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/vae/golden_checkpoints.hpp>
#include <kinetograph/tests/sanitizers.hpp>
#include <set>

namespace kinetograph::vae {
namespace {

/// Sum of word[i] * (2 i + 1) modulo 2^64: sensitive to every bit and to the order.
template <class Words>
std::uint64_t check_sum(const Words& words) {
    std::uint64_t sum = 0;
    std::uint64_t factor = 1;
    for (const auto word : words) sum += std::exchange(factor, factor + 2) * word;
    return sum;
}

std::vector<std::uint32_t> f32_words(const std::vector<float>& values) {
    std::vector<std::uint32_t> words;
    words.reserve(values.size());
    for (const float value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
    return words;
}

std::vector<std::uint16_t> bf16_words(const std::vector<float>& values) {
    std::vector<std::uint16_t> words;
    words.reserve(values.size());
    for (const float value : values) words.push_back(tensor::to_bf16(value));
    return words;
}

TEST(SyntheticTensor, StartsWithThePublishedBitsOfEachKind) {
    const auto first = [](std::string_view name, const tensor::Shape& shape) {
        auto words = f32_words(synthetic_tensor(name, shape).value());
        words.resize(4);
        return words;
    };
    EXPECT_EQ(first("conv2.weight", {16, 16, 1, 1, 1}),
              (std::vector<std::uint32_t>{0x3ea849dc, 0x3e9c5bee, 0x3de53ee3, 0xbe8a5cd8}));
    EXPECT_EQ(first("conv2.bias", {16}), (std::vector<std::uint32_t>{0xbd33eed7, 0xbd0852e7, 0xbd8e41f2, 0xbbaecd00}));
    EXPECT_EQ(first("decoder.middle.0.residual.0.gamma", {384, 1, 1, 1}),
              (std::vector<std::uint32_t>{0x3f8b4b49, 0x3f8754ce, 0x3f8a343c, 0x3f8117c2}));
}

TEST(SyntheticTensor, MakesTheWeightsOfANormAsItsGamma) {
    const auto of = [](const std::string& name) { return synthetic_tensor(name, {8}).value(); };
    for (const float value : of("norm.weight")) EXPECT_NEAR(value, 1, 0.1);
    EXPECT_NE(of("norm.weight"), of("norm.gamma")) << "of another name";
}

TEST(SyntheticTensor, MakesTheGoldenLatents) {
    EXPECT_EQ(check_sum(f32_words(*synthetic_tensor("latents", {16, 4, 6, 8}))), 0x00485be788d990d8U);
    EXPECT_EQ(check_sum(f32_words(*synthetic_tensor("latents", {16, 5, 10, 14}))), 0x03c2fcc6280999eeU);
    EXPECT_EQ(check_sum(f32_words(*synthetic_tensor("latents", {48, 3, 4, 6}))), 0x005c291e436d7bccU);
    EXPECT_EQ(check_sum(f32_words(*synthetic_tensor("latents", {3, 16, 8, 10}))), 0x0071f9279ee49cf3U);
}

TEST(SyntheticTensor, RefusesANameWithoutARuleAndAShapeThatIsTooLarge) {
    EXPECT_EQ(synthetic_tensor("decoder.conv1.running_mean", {4}).error().message,
              "synthetic tensor \"decoder.conv1.running_mean\": there is no rule for \"running_mean\"");
    EXPECT_EQ(synthetic_tensor("latents", {1LL << 40U, 1LL << 40U}).error().message,
              "shape [1099511627776, 1099511627776] has more than 2^62 elements");
}

/// Name in checkpoints.json, and what to open.
using GoldenModel = std::pair<std::string, std::string>;
class GoldenSyntheticCheckpoint : public testing::TestWithParam<GoldenModel> {};

TEST_P(GoldenSyntheticCheckpoint, HasTheGoldenNamesShapesAndBits) {
    if (test::kAddressSanitized && GetParam().first == "wan21 dim=96") GTEST_SKIP() << "the same code as of dim 32";
    const auto golden = test::golden_checkpoint(GetParam().first);
    const auto checkpoint = Checkpoint::open(GetParam().second);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->parameters(), golden.at("parameters").get<std::uint64_t>());
    const auto& tensors = golden.at("tensors");
    ASSERT_EQ(checkpoint->tensor_names().size(), tensors.size());
    const std::set<std::string> names(checkpoint->tensor_names().begin(), checkpoint->tensor_names().end());
    for (const auto& tensor : tensors) {
        const auto name = tensor.at("name").get<std::string>();
        ASSERT_TRUE(names.contains(name)) << name;
        ASSERT_EQ(*checkpoint->shape(name), tensor.at("shape").get<tensor::Shape>()) << name;
        const std::vector<float> values = checkpoint->load(name).value();
        EXPECT_EQ(check_sum(f32_words(values)), test::hex64(tensor.at("sum_f32"))) << name;
        EXPECT_EQ(check_sum(bf16_words(values)), test::hex64(tensor.at("sum_bf16"))) << name;
        const auto& first = tensor.at("first");
        for (std::size_t k = 0; k < first.size(); ++k) {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(values[k]), test::hex32(first[k])) << name << " [" << k << "]";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenSyntheticCheckpoint,
                         testing::Values(GoldenModel{"wan21 dim=32", "synthetic:wan2.1,dim=32"},
                                         GoldenModel{"wan21 dim=96", "synthetic:wan2.1,dim=96"},
                                         GoldenModel{"taew21", "synthetic:taew2.1"}));

TEST(SyntheticCheckpoint, IsDim96UnlessSaidOtherwiseAndNeedsNoLatentStatistics) {
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1");
    ASSERT_TRUE(checkpoint);
    EXPECT_EQ(checkpoint->dim(), 96);
    EXPECT_EQ(checkpoint->z_dim(), 16);
    EXPECT_EQ(checkpoint->parameters(), 73'295'603U);
    EXPECT_TRUE(checkpoint->synthetic());
    EXPECT_EQ(checkpoint->naming(), KeyNaming::Original);
    EXPECT_EQ(checkpoint->dtype(), tensor::DType::F32);
    EXPECT_EQ(checkpoint->latents_mean(), std::vector<float>(16, 0.0F));
    EXPECT_EQ(checkpoint->latents_std(), std::vector<float>(16, 1.0F));
    EXPECT_NE(checkpoint->content_hash(), Checkpoint::open("synthetic:wan2.1,dim=32")->content_hash());
}

TEST(SyntheticCheckpoint, SaysHowASpecIsSpelledWhenItIsNot) {
    for (const std::string spec :
         {"synthetic:", "synthetic:wan9", "synthetic:wan2.1,", "synthetic:wan2.1,dim=", "synthetic:wan2.1,dim=0",
          "synthetic:wan2.1,dim=-32", "synthetic:wan2.1,dim=32x", "synthetic:wan2.1,dim=1025", "synthetic:wan2.1,z=16",
          "synthetic:wan2.1,dim=99999999999999999999"}) {
        const auto checkpoint = Checkpoint::open(spec);
        ASSERT_FALSE(checkpoint) << spec;
        EXPECT_EQ(checkpoint.error().code, ErrorCode::InvalidArgument);
        EXPECT_EQ(checkpoint.error().message,
                  spec +
                      ": a synthetic checkpoint is synthetic:FAMILY or synthetic:FAMILY,dim=N with N from 1 to 1024; a "
                      "family is " +
                      families::any_of(&families::Family::name));
    }
}

}  // namespace
}  // namespace kinetograph::vae
