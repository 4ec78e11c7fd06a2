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
    ASSERT_EQ(checkpoint->notes().size(), 1U);
    EXPECT_EQ(checkpoint->notes().front().level, LogLevel::Warning);
    EXPECT_NE(checkpoint->notes().front().text.find("no statistics of 4 latent channels are known"), std::string::npos);
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
    EXPECT_EQ(refusal(twice), "two whole decoders, \"conv2.weight\" and \"ema.conv2.weight\": --weights " + path_ +
                                  ": or " + path_ + ":ema takes one of them");
    for (auto& tensor : twice.tensors)
        if (tensor.name == "ema.conv2.bias") std::ranges::fill(tensor.bytes, std::byte{});
    twice.write(path_);
    EXPECT_EQ(Checkpoint::open(path_ + ":ema")->load("conv2.bias"), std::vector<float>(16, 0.0F));
    EXPECT_NE(Checkpoint::open(path_ + ":")->load("conv2.bias"), std::vector<float>(16, 0.0F));
    EXPECT_EQ(Checkpoint::open(path_ + ":vae").error().message,
              path_ + ": no tensor of a decoder begins with \"vae\"; there are \"\", \"ema\"");
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
    file_.at("decoder.middle.1.proj.weight").shape = {4, 16};
    file_.at("conv2.bias").shape = {16, 1};
    EXPECT_EQ(refusal(file_),
              "tensors of the wrong shape for dim 2, z_dim 16: \"decoder.middle.1.proj.weight\" [4, 16], wanted "
              "[8, 8, 1, 1]");
    file_.at("decoder.middle.1.proj.weight").shape = {8, 8};  // an axis of 1 more or less changes no element
    EXPECT_EQ(refusal(file_), "accepted");
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
    file_.at("decoder.head.2.bias").dtype = DType::I32;
    EXPECT_EQ(refusal(file_), "tensors of a dtype that is not floating-point: \"decoder.head.2.bias\" I32");
}

TEST_F(CheckpointTest, WidensDoublesAndEightBitsWithTheirFactors) {
    const std::string weight = "decoder.middle.1.proj.weight";  // [8, 8, 1, 1]
    auto& stored = file_.at(weight);
    stored.dtype = DType::F8E4M3;
    stored.bytes.assign(64, std::byte{0x38});  // 1
    std::vector<double> doubles(16, 0.25);
    file_.at("conv2.bias") = test::StoredTensor::of("conv2.bias", DType::F64, {16}, std::span<const double>(doubles));
    const auto values = [&](const std::string& name, const tensor::Shape& shape, const std::vector<float>& factors) {
        CheckpointFile file = file_;
        if (!factors.empty()) file.tensors.push_back(test::stored(name, DType::F32, shape, factors));
        const auto checkpoint = open(file);
        EXPECT_TRUE(checkpoint) << checkpoint.error().message;
        if (!checkpoint) return std::vector<float>{};
        EXPECT_EQ(*checkpoint->load("conv2.bias"), std::vector<float>(16, 0.25F));
        return *checkpoint->load(weight);
    };
    EXPECT_EQ(values("", {}, {}), std::vector<float>(64, 1.0F));
    const std::string module = "decoder.middle.1.proj.";
    for (const char* name : {"scale_weight", "weight_scale", "weight_scale_inv", "weight.scale"})
        EXPECT_EQ(values(module + name, {}, {3}), std::vector<float>(64, 3.0F)) << name;
    std::vector<float> by_row, by_block;
    for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column) {
            by_row.push_back(static_cast<float>(row));
            by_block.push_back(row < 4 ? 2.0F : column < 4 ? 3.0F : 5.0F);
        }
    EXPECT_EQ(values(module + "weight_scale", {8, 1}, {0, 1, 2, 3, 4, 5, 6, 7}), by_row);
    EXPECT_EQ(values(module + "weight_scale_inv", {2, 2}, {2, 2, 3, 5}), by_block);
    CheckpointFile wrong = file_;
    wrong.tensors.push_back(test::stored(module + "scale_weight", DType::F32, {3}, {1, 2, 3}));
    EXPECT_EQ(refusal(wrong),
              "the factors \"" + module + "scale_weight\" F32 [3] are not of \"" + weight + "\" [8, 8, 1, 1]");
}

TEST_F(CheckpointTest, SkipsThePartsOfNamesThatWrappersPutIn) {
    const auto wanted = *Checkpoint::open("synthetic:wan2.1,dim=2");
    for (const std::string part : {"_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}) {
        CheckpointFile wrapped = file_;
        wrapped.rename([&](const std::string& name) {
            const std::size_t dot = name.find('.');
            return "vae." + name.substr(0, dot) + "." + part + name.substr(dot);
        });
        const auto checkpoint = open(wrapped);
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        expect_same_values(*checkpoint, wanted);
    }
}

/// The checkpoint's tensors with filters and norms without a time axis: the newest tap counts for a single picture.
CheckpointFile without_time(CheckpointFile file, std::size_t last_axes_of_ones) {
    std::erase_if(file.tensors, [](const auto& tensor) { return tensor.name.find("time_conv") != std::string::npos; });
    for (auto& tensor : file.tensors) {
        if (tensor.shape.size() != 5) continue;
        const auto taps = static_cast<std::size_t>(tensor.shape[2]);
        const std::size_t plane = sizeof(float) * static_cast<std::size_t>(tensor.shape[3] * tensor.shape[4]);
        std::vector<std::byte> kept;
        for (std::size_t at = (taps - 1) * plane; at < tensor.bytes.size(); at += taps * plane)
            kept.insert(kept.end(), tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                        tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at + plane));
        tensor.bytes = std::move(kept);
        tensor.shape.erase(tensor.shape.begin() + 2);
        if (last_axes_of_ones != 0) tensor.shape.insert(tensor.shape.begin() + 2, 1);
    }
    return file;
}

TEST_F(CheckpointTest, RecognisesFiltersWithoutATimeAxisAndWithOneTap) {
    for (const std::size_t ones : {0U, 1U}) {
        const auto pictures = open(without_time(file_, ones));
        ASSERT_TRUE(pictures) << pictures.error().message;
        EXPECT_TRUE(pictures->one_latent_frame());
        EXPECT_EQ(nn::rates(pictures->network()), (nn::Rates{.time = {1, 1}, .space = {1, 8}}));
        EXPECT_EQ(pictures->shape("decoder.conv1.weight"), (tensor::Shape{8, 16, 3, 3}));
    }
    EXPECT_FALSE(open(file_)->one_latent_frame());
}

/// Gives the last layer `channels` channels, the first three of which are as before.
void widen_end(CheckpointFile& file, std::int64_t channels) {
    for (const char* name : {"decoder.head.2.weight", "decoder.head.2.bias"}) {
        auto& tensor = file.at(name);
        tensor.bytes.resize(tensor.bytes.size() / 3 * static_cast<std::size_t>(channels));
        tensor.shape.front() = channels;
    }
}

TEST_F(CheckpointTest, RecognisesAnEndThatEnlargesAndAFourthChannel) {
    const auto three = *open(file_)->load("decoder.head.2.weight");
    widen_end(file_, 12);
    const auto larger = open(file_);
    ASSERT_TRUE(larger) << larger.error().message;
    EXPECT_EQ(nn::rates(larger->network()), (nn::Rates{.time = {1, 4}, .space = {1, 16}}));
    file_ = CheckpointFile::synthetic(kDim);
    widen_end(file_, 4);
    const auto alpha = open(file_);
    ASSERT_TRUE(alpha) << alpha.error().message;
    EXPECT_EQ(nn::rates(alpha->network()), (nn::Rates{.time = {1, 4}, .space = {1, 8}}));
    EXPECT_EQ(*alpha->load("decoder.head.2.weight"), three);
    ASSERT_FALSE(alpha->notes().empty());
    EXPECT_NE(alpha->notes().back().text.find("its alpha is not"), std::string::npos);
    file_ = CheckpointFile::synthetic(kDim);
    widen_end(file_, 5);
    EXPECT_TRUE(refusal(file_).ends_with("wanted [3]")) << refusal(file_);
}

TEST_F(CheckpointTest, SaysWhatIsThereInPlaceOfWhatIsMissing) {
    file_.at("decoder.head.0.gamma").name = "decoder.head.0.scale";
    EXPECT_EQ(refusal(file_, ErrorCode::NotFound),
              "1 of the Wan 2.1 decoder's 108 tensors are missing: \"decoder.head.0.gamma\"; in their place there are "
              "\"decoder.head.0.scale\" [2, 1, 1, 1]");
}

TEST_F(CheckpointTest, IsTakenForTheFamilyThatIsChosenAndSaysWhatItGuessed) {
    const std::string path = (folder_.path() / "lighttaew2_1.safetensors").string();
    CheckpointFile::synthetic(kDim, DType::F32, "taew2.1").write(path);
    const auto guessed = Checkpoint::open(path);
    ASSERT_TRUE(guessed) << guessed.error().message;
    EXPECT_EQ(guessed->family().name, "lighttaew2.1");
    ASSERT_EQ(guessed->notes().size(), 1U);
    EXPECT_EQ(guessed->notes().front().text,
              path +
                  ": taken for LightTAE for Wan 2.1 (lighttaew2.1) by the file's name alone; --family taehv or taew2.1 "
                  "takes the same tensors for another's");
    const auto chosen = Checkpoint::open(path, {}, {.family = "taehv"});
    EXPECT_EQ(chosen->family().name, "taehv");
    EXPECT_TRUE(chosen->notes().empty());
    EXPECT_EQ(Checkpoint::open(path, {}, {.family = "taew9"}).error().message.substr(0, path.size() + 24),
              path + ": family taew9: wanted f");
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
    constexpr const char* kImageVae = "this is an image VAE of other stages than those of Stable Diffusion and FLUX.1";
    const std::pair<const char*, const char*> families[] = {
        {"vae.decoder.mid.attn_1.q.weight", kImageVae},
        {"decoder.mid_block.attentions.0.to_q.weight", kImageVae},
        {"decoder.conv_in.conv_s.weight", "this is another video VAE (Cosmos)"},
        {"decoder.temp_conv_in.weight", "this is another video VAE (Allegro)"},
        {"decoder.time_conv_out.weight", "this is another video VAE (Stable Video Diffusion)"},
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

TEST_F(CheckpointTest, DoesNotTakeAnotherModelThatHasAFewOfTheNamesForADamagedOne) {
    CheckpointFile other;
    for (const char* name : {"decoder.conv_in.weight", "decoder.conv_out.weight", "a", "b", "c"})
        other.tensors.push_back(test::stored(name, DType::F32, {1}, {1.0F}));
    EXPECT_EQ(refusal(other),
              "this is no decoder that is known: 2 of the 140 tensors of FLUX.1 are among its 5; `kinetograph "
              "families` lists what can be decoded");
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

TEST_F(CheckpointTest, HasTheStatisticsOfItsLatentSpaceWhateverItsWidth) {
    for (const auto& [family, dim] : {std::pair("wan2.1", 2), {"wan2.1", 24}, {"wan2.2", 4}}) {
        const auto checkpoint = open(CheckpointFile::synthetic(dim, DType::BF16, family));
        EXPECT_EQ(checkpoint->latents_mean(), families::find(family)->statistics.mean) << family << " " << dim;
        EXPECT_EQ(checkpoint->latents_std(), families::find(family)->statistics.std) << family << " " << dim;
        EXPECT_TRUE(checkpoint->notes().empty());
    }
    EXPECT_EQ(Checkpoint::open("synthetic:wan2.1,dim=2")->latents_std(), std::vector<float>(16, 1.0F));
}

TEST_F(CheckpointTest, TakesTheStatisticsThatAreChosen) {
    file_.write(path_);
    const auto std_of = [&](const std::string& choice) {
        const auto checkpoint = Checkpoint::open(path_, {}, {.statistics = choice});
        return checkpoint ? fmt::format("{:g}", checkpoint->latents_std().front()) : checkpoint.error().message;
    };
    EXPECT_EQ(std_of("none"), "1");
    EXPECT_EQ(std_of("wan2.1"), "2.8184");
    EXPECT_EQ(std_of("wan2.2"), "statistics wan2.2: of 48 latent channels, the decoder has 16");
    const std::string list = "[0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]";
    const std::string json =
        folder_.write("config.json", R"({"latents_mean": )" + list + R"(, "latents_std": )" + list + "}");
    EXPECT_EQ(std_of(json), "0.5");
    const std::string empty = folder_.write("empty.json", "{}");
    EXPECT_EQ(std_of(empty), empty + ": neither latents_mean nor latents_std is in it");
    EXPECT_TRUE(std_of("nothing").starts_with("statistics nothing: wanted none, a JSON file"));
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
