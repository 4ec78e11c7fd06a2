#include <gtest/gtest.h>
#include <xxhash.h>

#include <cmath>
#include <iterator>
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/source_tree.hpp>

namespace kinetograph::vae {
namespace {

using tensor::DType;
using test::CheckpointFile;

/// One file at a time, of a decoder narrow enough to be rewritten in every test.
class CheckpointTest : public testing::Test {
  protected:
    static constexpr std::int64_t kDim = 2;

    Result<Checkpoint> open(const CheckpointFile& file) {
        file.write(path_);
        return Checkpoint::open(path_);
    }

    /// The sentence a person reads, without the path that it starts with.
    std::string refusal(const CheckpointFile& file, ErrorCode code = ErrorCode::InvalidArgument) {
        const auto checkpoint = open(file);
        if (checkpoint) return "accepted";
        EXPECT_EQ(checkpoint.error().code, code) << checkpoint.error().message;
        EXPECT_TRUE(checkpoint.error().message.starts_with(path_ + ": ")) << checkpoint.error().message;
        return checkpoint.error().message.substr(path_.size() + 2);
    }

    static void expect_same_values(const Checkpoint& actual, const Checkpoint& expected) {
        ASSERT_EQ(actual.tensor_names(), expected.tensor_names());
        for (const std::string& name : expected.tensor_names()) {
            EXPECT_EQ(*actual.shape(name), *expected.shape(name)) << name;
            EXPECT_EQ(*actual.load(name), *expected.load(name)) << name;
        }
    }

    const test::TemporaryFolder folder_;
    const std::string path_ = (folder_.path() / "vae.safetensors").string();
    CheckpointFile file_ = CheckpointFile::synthetic(kDim);
};

TEST_F(CheckpointTest, ReadsDimAndZDimFromTheShapes) {
    const auto checkpoint = open(file_);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->name(), path_);
    EXPECT_EQ(checkpoint->family().name, "wan2.1");
    EXPECT_EQ(checkpoint->dim(), kDim);
    EXPECT_EQ(checkpoint->z_dim(), 16);
    EXPECT_FALSE(checkpoint->synthetic());
    EXPECT_EQ(checkpoint->naming(), KeyNaming::Original);
    EXPECT_EQ(checkpoint->dtype(), DType::F32);

    const auto synthetic = Checkpoint::open("synthetic:wan2.1,dim=2");
    EXPECT_EQ(checkpoint->parameters(), synthetic->parameters());
    expect_same_values(*checkpoint, *synthetic);
}

TEST_F(CheckpointTest, ReadsAnotherNumberOfLatentChannels) {
    for (const auto& parameter : nn::parameters(families::wan::decoder({kDim, 4}))) {
        file_.at(parameter.name) = test::stored(parameter.name, DType::F32, parameter.shape,
                                                *synthetic_tensor(parameter.name, parameter.shape));
    }
    const auto checkpoint = open(file_);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->z_dim(), 4);
    EXPECT_EQ(checkpoint->latents_std(), std::vector<float>(4, 1.0F));
}

TEST_F(CheckpointTest, HoldsTheSameValuesUnderDiffusersNames) {
    CheckpointFile wide = CheckpointFile::synthetic(32);
    const auto original = open(wide);
    ASSERT_TRUE(original) << original.error().message;

    const std::string diffusers_path = (folder_.path() / "diffusers.safetensors").string();
    wide.rename(families::wan::diffusers_name).write(diffusers_path);
    const auto diffusers = Checkpoint::open(diffusers_path);
    ASSERT_TRUE(diffusers) << diffusers.error().message;
    EXPECT_EQ(diffusers->naming(), KeyNaming::Diffusers);
    expect_same_values(*diffusers, *original);
}

TEST_F(CheckpointTest, SkipsThePrefixOfAWrappingModel) {
    for (const std::string prefix : {"vae.", "first_stage_model.", "model.", "module.vae.model."}) {
        for (const bool diffusers : {false, true}) {
            CheckpointFile wrapped = file_;
            wrapped.rename(
                [&](const auto& name) { return prefix + (diffusers ? families::wan::diffusers_name(name) : name); });
            const auto checkpoint = open(wrapped);
            ASSERT_TRUE(checkpoint) << checkpoint.error().message;
            EXPECT_EQ(checkpoint->naming(), diffusers ? KeyNaming::Diffusers : KeyNaming::Original);
            expect_same_values(*checkpoint, *Checkpoint::open("synthetic:wan2.1,dim=2"));
        }
    }
}

TEST_F(CheckpointTest, AsksWhichDecoderIsMeantWhenThereAreTwo) {
    CheckpointFile twice = file_;
    twice.rename([](const auto& name) { return "ema." + name; });
    std::ranges::copy(file_.tensors, std::back_inserter(twice.tensors));
    EXPECT_EQ(refusal(twice), "two whole decoders, \"conv2.weight\" and \"ema.conv2.weight\": which one is meant?");
    twice.remove("ema.decoder.head.2.bias");
    EXPECT_TRUE(open(twice));
}

TEST_F(CheckpointTest, IgnoresTheEncoderWhateverItHolds) {
    const std::vector<float> nan(8, std::nanf(""));
    file_.tensors.push_back(test::stored("encoder.conv1.weight", DType::F32, {8}, nan));
    file_.tensors.push_back(test::stored("encoder.downsamples.0.residual.0.gamma", DType::F16, {2, 4}, nan));
    const std::int64_t seven = 7;
    file_.tensors.push_back(test::StoredTensor::of("conv1.weight", DType::I64, {1}, std::span(&seven, 1)));
    EXPECT_EQ(refusal(file_), "accepted");
}

TEST_F(CheckpointTest, ReadsF16AndBf16AsTheRoundedValues) {
    const auto exact = Checkpoint::open("synthetic:wan2.1,dim=2");
    const struct {
        DType dtype;
        float (*rounded)(float);
    } formats[] = {{DType::F16, [](float value) { return tensor::from_f16(tensor::to_f16(value)); }},
                   {DType::BF16, [](float value) { return tensor::from_bf16(tensor::to_bf16(value)); }}};
    for (const auto& format : formats) {
        const auto checkpoint = open(CheckpointFile::synthetic(kDim, format.dtype));
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        EXPECT_EQ(checkpoint->dtype(), format.dtype);
        for (const std::string& name : exact->tensor_names()) {
            std::vector<float> expected = exact->load(name).value();
            std::ranges::transform(expected, expected.begin(), format.rounded);
            EXPECT_EQ(*checkpoint->load(name), expected) << name;
        }
    }
}

TEST_F(CheckpointTest, HashesTheBytesOfTheFile) {
    const auto checkpoint = open(file_);
    ASSERT_TRUE(checkpoint);
    const auto file = tensor::SafetensorsFile::open(path_);
    EXPECT_EQ(checkpoint->content_hash(), XXH3_64bits(file->bytes().data(), file->bytes().size()));
    file_.at("decoder.head.2.bias").bytes[0] ^= std::byte{1};
    EXPECT_NE(open(file_)->content_hash(), checkpoint->content_hash());
}

TEST_F(CheckpointTest, NamesAllMissingTensorsTogetherAsTheFileWouldSpellThem) {
    file_.remove("decoder.upsamples.7.time_conv.bias").remove("decoder.head.0.gamma");
    EXPECT_EQ(refusal(file_, ErrorCode::NotFound),
              "2 of the Wan 2.1 decoder's 108 tensors are missing: \"decoder.upsamples.7.time_conv.bias\", "
              "\"decoder.head.0.gamma\"");
    EXPECT_EQ(refusal(file_.rename([](const auto& name) { return "vae." + families::wan::diffusers_name(name); }),
                      ErrorCode::NotFound),
              "2 of the Wan 2.1 decoder's 108 tensors are missing: "
              "\"vae.decoder.up_blocks.1.upsamplers.0.time_conv.bias\", \"vae.decoder.norm_out.gamma\"");
}

TEST_F(CheckpointTest, NamesTenMissingTensorsAndCountsTheRest) {
    file_.tensors.resize(96);
    EXPECT_EQ(refusal(file_, ErrorCode::NotFound),
              "12 of the Wan 2.1 decoder's 108 tensors are missing: \"decoder.upsamples.13.residual.3.gamma\", "
              "\"decoder.upsamples.13.residual.6.weight\", \"decoder.upsamples.13.residual.6.bias\", "
              "\"decoder.upsamples.14.residual.0.gamma\", \"decoder.upsamples.14.residual.2.weight\", "
              "\"decoder.upsamples.14.residual.2.bias\", \"decoder.upsamples.14.residual.3.gamma\", "
              "\"decoder.upsamples.14.residual.6.weight\", \"decoder.upsamples.14.residual.6.bias\", "
              "\"decoder.head.0.gamma\" and 2 more");
}

TEST_F(CheckpointTest, SaysWhatAFileHoldsThatHasNothingOfADecoder) {
    CheckpointFile other;
    EXPECT_EQ(
        refusal(other, ErrorCode::NotFound),
        "no tensor of any decoder is in it (0 tensors, the first absent); `kinetograph families` lists what can be "
        "decoded");
    other.tensors.push_back(test::stored("lora.up", DType::F32, {1}, {1.0F}));
    EXPECT_EQ(refusal(other, ErrorCode::NotFound),
              "no tensor of any decoder is in it (1 tensor, the first \"lora.up\"); `kinetograph families` lists what "
              "can be decoded");
}

TEST_F(CheckpointTest, RefusesTensorsOfTheWrongShape) {
    file_.at("decoder.middle.1.proj.weight").shape = {8, 8};
    file_.at("decoder.head.2.bias").shape = {3, 1};
    EXPECT_EQ(refusal(file_),
              "tensors of the wrong shape for dim 2, z_dim 16: \"decoder.middle.1.proj.weight\" [8, 8], wanted "
              "[8, 8, 1, 1], \"decoder.head.2.bias\" [3, 1], wanted [3]");
}

TEST_F(CheckpointTest, RefusesShapesThatGiveNoWidth) {
    auto& gamma = file_.at("decoder.head.0.gamma");
    gamma.shape = {};
    gamma.bytes.resize(4);
    EXPECT_EQ(refusal(file_), "tensor \"decoder.head.0.gamma\" has shape []: no decoder has that");
    gamma.shape = {0, 1, 1, 1};
    gamma.bytes.clear();
    EXPECT_EQ(refusal(file_), "tensor \"decoder.head.0.gamma\" has shape [0, 1, 1, 1]: no decoder has that");
    gamma.shape = {1025, 1, 1, 1};
    gamma.bytes.resize(4100);
    EXPECT_EQ(refusal(file_), "tensor \"decoder.head.0.gamma\" has shape [1025, 1, 1, 1]: no decoder has that");
}

TEST_F(CheckpointTest, RefusesParametersOfAWrongDtype) {
    auto& bias = file_.at("decoder.head.2.bias");
    bias.dtype = DType::I32;
    file_.at("conv2.bias").dtype = DType::F8E4M3;
    file_.at("conv2.bias").bytes.resize(16);
    EXPECT_EQ(refusal(file_),
              "tensors of a dtype other than F32, F16 and BF16: \"conv2.bias\" F8_E4M3, \"decoder.head.2.bias\" I32");
}

TEST_F(CheckpointTest, RefusesValuesThatAreNotFiniteAndSaysWhere) {
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        for (const float poison : {std::nanf(""), -INFINITY}) {
            CheckpointFile file = CheckpointFile::synthetic(kDim, dtype);
            std::vector<float> values = *synthetic_tensor("decoder.middle.0.residual.2.weight", {8, 8, 3, 3, 3});
            values[1700] = poison;
            file.at("decoder.middle.0.residual.2.weight") =
                test::stored("decoder.middle.0.residual.2.weight", dtype, {8, 8, 3, 3, 3}, values);
            EXPECT_EQ(refusal(file),
                      "tensor \"decoder.middle.0.residual.2.weight\" holds a value that is not finite at index 1700 of "
                      "1728");
        }
    }
}

TEST_F(CheckpointTest, RefusesACheckpointFilledWithNan) {
    for (auto& tensor : file_.tensors) std::ranges::fill(tensor.bytes, std::byte{0xFF});
    EXPECT_EQ(refusal(file_), "tensor \"conv2.weight\" holds a value that is not finite at index 0 of 256");
}

TEST_F(CheckpointTest, RefusesATruncatedFile) {
    file_.write(path_);
    std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
    const auto checkpoint = Checkpoint::open(path_);
    ASSERT_FALSE(checkpoint);
    EXPECT_EQ(checkpoint.error().code, ErrorCode::Corrupt);
    EXPECT_NE(checkpoint.error().message.find("tensor \"decoder.head.2.bias\" has data_offsets"), std::string::npos);
    EXPECT_NE(checkpoint.error().message.find("truncated?"), std::string::npos) << checkpoint.error().message;
}

TEST_F(CheckpointTest, SaysThatAFileIsAbsent) {
    const auto checkpoint = Checkpoint::open("/no/such/vae.safetensors");
    ASSERT_FALSE(checkpoint);
    EXPECT_EQ(checkpoint.error().code, ErrorCode::NotFound);
    EXPECT_EQ(checkpoint.error().message, "/no/such/vae.safetensors: No such file or directory");
}

TEST_F(CheckpointTest, RecognisesOtherModelsByTheirTensors) {
    const std::pair<const char*, const char*> families[] = {
        {"vae.decoder.mid.attn_1.q.weight", "this is an image VAE (Stable Diffusion, Flux and the like)"},
        {"decoder.mid_block.attentions.0.to_q.weight", "this is an image VAE (Stable Diffusion, Flux and the like)"},
        {"decoder.conv_in.conv.weight", "this is another video VAE (HunyuanVideo, LTX or CogVideoX)"},
        {"blocks.0.self_attn.q.weight", "this is a Wan diffusion transformer, not a VAE"},
        {"blocks.0.attn1.to_q.weight", "this is a diffusion transformer, not a VAE"},
        {"encoder.block.0.layer.0.SelfAttention.q.weight", "this is a T5 text encoder, not a VAE"},
    };
    for (const auto& [name, sentence] : families) {
        CheckpointFile other;
        other.tensors.push_back(test::stored(name, DType::F32, {1}, {1.0F}));
        EXPECT_EQ(refusal(other), std::string(sentence) + "; `kinetograph families` lists what can be decoded");
    }
}

TEST_F(CheckpointTest, RecognisesAWan22DecoderAmongTheNamesItSharesWithWan21) {
    const CheckpointFile other = CheckpointFile::synthetic(kDim, DType::F32, "wan2.2");
    other.write(path_);
    const auto checkpoint = Checkpoint::open(path_);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->family().name, "wan2.2");
    EXPECT_EQ(checkpoint->z_dim(), 48);
}

TEST_F(CheckpointTest, TakesLatentStatisticsFromTheMetadata) {
    file_.metadata = {{"latents_mean", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,-1.5e1"},
                      {"latents_std", "[ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0.5 ]"}};
    const auto checkpoint = open(file_);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->latents_mean(), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -15}));
    EXPECT_EQ(checkpoint->latents_std(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0.5F}));
}

TEST_F(CheckpointTest, RefusesLatentStatisticsThatAreNotOnePositiveNumberAChannel) {
    const std::string good = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
    const auto with = [&](const std::string& mean, const std::string& std) {
        file_.metadata = {{"latents_mean", mean}, {"latents_std", std}};
        return refusal(file_);
    };
    EXPECT_EQ(with(good, good), "accepted");
    EXPECT_EQ(with("1,2", good), "metadata latents_mean has 2 numbers, the decoder has 16 latent channels");
    EXPECT_EQ(with(good + ",1", good), "metadata latents_mean has 17 numbers, the decoder has 16 latent channels");
    EXPECT_EQ(with("", good), "metadata latents_mean: \"\" is not a finite number");
    EXPECT_EQ(with(good, good + ","), "metadata latents_std: \"\" is not a finite number");
    EXPECT_EQ(with("1,two", good), "metadata latents_mean: \"two\" is not a finite number");
    EXPECT_EQ(with("1,nan", good), "metadata latents_mean: \"nan\" is not a finite number");
    EXPECT_EQ(with(good, "1,1e99"), "metadata latents_std: \"1e99\" is not a finite number");
    EXPECT_EQ(with(good, "1,1,1,1,1,1,1,0,1,1,1,1,1,1,1,1"), "metadata latents_std: 0 is not above 0");
    file_.metadata = {{"latents_std", good}};
    EXPECT_EQ(refusal(file_), "metadata has latents_std but not latents_mean");
}

TEST_F(CheckpointTest, LeavesLatentsAsTheyAreWhenASmallCheckpointSaysNothing) {
    const auto checkpoint = open(file_);
    EXPECT_EQ(checkpoint->latents_mean(), std::vector<float>(16, 0.0F));
    EXPECT_EQ(checkpoint->latents_std(), std::vector<float>(16, 1.0F));
}

TEST_F(CheckpointTest, KnowsThePublishedStatisticsOfTheRealDecoder) {
    const auto checkpoint = open(CheckpointFile::synthetic(96, DType::BF16));
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->dim(), 96);
    EXPECT_EQ(checkpoint->latents_mean(), families::find("wan2.1")->statistics.mean);
    EXPECT_EQ(checkpoint->latents_std(), families::find("wan2.1")->statistics.std);
    EXPECT_FLOAT_EQ(checkpoint->latents_mean().at(5), 0.9653F);
    EXPECT_FLOAT_EQ(checkpoint->latents_std().at(15), 1.9160F);
    EXPECT_EQ(checkpoint->latents_mean().size(), 16U);
    EXPECT_EQ(checkpoint->latents_std().size(), 16U);
}

TEST_F(CheckpointTest, OpensTheBundledDemoModel) {
    const auto checkpoint = Checkpoint::open((test::source_tree() / "assets/demo_vae.safetensors").string());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->dim(), 32);
    EXPECT_EQ(checkpoint->z_dim(), 16);
    EXPECT_EQ(checkpoint->dtype(), DType::BF16);
    EXPECT_FLOAT_EQ(checkpoint->latents_mean().at(0), -0.839149F);
    EXPECT_FLOAT_EQ(checkpoint->latents_std().at(15), 1.035493F);
}

TEST(Checkpoint, NamesAParameterThatDoesNotExist) {
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1,dim=2");
    const std::string sentence = "synthetic:wan2.1,dim=2: \"decoder.conv9.weight\" is no parameter of its decoder";
    EXPECT_EQ(checkpoint->load("decoder.conv9.weight").error().message, sentence);
    EXPECT_EQ(checkpoint->shape("decoder.conv9.weight").error().message, sentence);
}

}  // namespace
}  // namespace kinetograph::vae
