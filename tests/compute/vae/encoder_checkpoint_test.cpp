// Encoders of checkpoints: found beside the decoder, under the names that it has.
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/vae/encoder_model.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::vae {
namespace {

using tensor::DType;
using test::CheckpointFile;

class EncoderCheckpoint : public testing::Test {
  protected:
    static constexpr std::int64_t kDim = 2;

    /// Both networks, the encoder of width `dim`.
    static CheckpointFile whole(std::int64_t dim = kDim) {
        CheckpointFile file = CheckpointFile::synthetic(kDim);
        const Checkpoint encoder = synthetic(dim);
        for (const std::string& name : encoder.tensor_names())
            file.tensors.push_back(test::stored(name, DType::F32, *encoder.shape(name), *encoder.load(name)));
        return file;
    }
    static Checkpoint synthetic(std::int64_t dim) {
        return Checkpoint::open(fmt::format("synthetic:wan2.1,dim={}", dim)).value().encoder().value();
    }
    Result<Checkpoint> encoder_of(const CheckpointFile& file) {
        file.write(path_);
        return Checkpoint::open(path_).value().encoder();
    }
    std::string refusal(const CheckpointFile& file, ErrorCode code) {
        const auto encoder = encoder_of(file);
        if (encoder) return "accepted";
        EXPECT_EQ(encoder.error().code, code) << encoder.error().message;
        EXPECT_TRUE(encoder.error().message.starts_with(path_ + ": ")) << encoder.error().message;
        return encoder.error().message.substr(path_.size() + 2);
    }
    static void expect_same_values(const Checkpoint& actual, const Checkpoint& expected) {
        ASSERT_EQ(actual.tensor_names(), expected.tensor_names());
        for (const std::string& name : expected.tensor_names()) EXPECT_EQ(*actual.load(name), *expected.load(name));
    }

    const test::TemporaryFolder folder_;
    const std::string path_ = (folder_.path() / "vae.safetensors").string();
};

TEST_F(EncoderCheckpoint, IsReadUnderTheNamesAndPrefixOfItsDecoder) {
    for (const std::string prefix : {"", "vae."})
        for (const bool diffusers : {false, true}) {
            CheckpointFile file = whole();
            file.rename(
                [&](const auto& name) { return prefix + (diffusers ? families::wan::diffusers_name(name) : name); });
            const auto encoder = encoder_of(file);
            ASSERT_TRUE(encoder) << encoder.error().message;
            EXPECT_EQ(encoder->naming(), diffusers ? KeyNaming::Diffusers : KeyNaming::Original);
            EXPECT_EQ(encoder->network().ends().input, nn::End::Pictures);
            expect_same_values(*encoder, synthetic(kDim));
        }
}

/// diffusers' own names, in a file that its save_pretrained() has written.
TEST_F(EncoderCheckpoint, IsReadFromAFileOfDiffusers) {
    const auto path = (golden::folder() / "wan21_diffusers_dim1.safetensors").string();
    const auto decoder = Checkpoint::open(path);
    ASSERT_TRUE(decoder) << decoder.error().message;
    const auto encoder = decoder->encoder();
    ASSERT_TRUE(encoder) << encoder.error().message;
    EXPECT_EQ(encoder->dtype(), DType::BF16);
    const Checkpoint wanted = synthetic(1);
    ASSERT_EQ(encoder->tensor_names(), wanted.tensor_names());
    for (const std::string& name : wanted.tensor_names()) {
        std::vector<float> rounded = *wanted.load(name);
        for (float& value : rounded) value = tensor::from_bf16(tensor::to_bf16(value));
        EXPECT_EQ(*encoder->load(name), rounded) << name;
    }
}

TEST_F(EncoderCheckpoint, HasAWidthOfItsOwn) {
    const auto encoder = encoder_of(whole(3));
    ASSERT_TRUE(encoder) << encoder.error().message;
    EXPECT_EQ(encoder->dim(), 3);
    expect_same_values(*encoder, synthetic(3));
}

TEST_F(EncoderCheckpoint, IsMissedByItsFirstTensorOrByAllThatAreNotThere) {
    EXPECT_EQ(refusal(CheckpointFile::synthetic(kDim), ErrorCode::NotFound),
              "it holds a decoder alone, no encoder: tensor \"encoder.conv1.weight\" and the encoder's other 85 are "
              "missing; to encode, take a file with both, as the authors of Wan 2.1 publish it");
    CheckpointFile file = whole();
    file.remove("encoder.downsamples.5.time_conv.bias").remove("conv1.weight");
    EXPECT_EQ(refusal(file, ErrorCode::NotFound),
              "2 of the Wan 2.1 encoder's 86 tensors are missing: \"encoder.downsamples.5.time_conv.bias\", "
              "\"conv1.weight\"");
}

TEST_F(EncoderCheckpoint, IsCheckedWhenItIsWanted) {
    CheckpointFile file = whole();
    const float nan = std::nanf("");
    std::memcpy(file.at("encoder.head.2.bias").bytes.data(), &nan, sizeof(nan));
    EXPECT_EQ(refusal(file, ErrorCode::InvalidArgument),
              "tensor \"encoder.head.2.bias\" holds a value that is not finite at index 0 of 32");
    file.at("encoder.head.2.bias").shape = {4, 8};
    EXPECT_EQ(refusal(file, ErrorCode::InvalidArgument),
              "tensors of the wrong shape for dim 2, z_dim 16: \"encoder.head.2.bias\" [4, 8], wanted [32]");
    EXPECT_TRUE(Checkpoint::open(path_));
}

TEST(CanEncode, WhereThereIsAnEncoderAndAMethodOfStride2) {
    const auto decoder = Checkpoint::open("synthetic:wan2.1,dim=8").value(),
               tiny = Checkpoint::open("synthetic:lighttaew2.1,dim=8").value();
    const accel::DeviceInfo host;
    accel::DeviceInfo old;
    old.kind = "cuda";
    old.architecture = old.features = "sm_75";
    EXPECT_TRUE(can_encode(host, decoder, {}));
    EXPECT_FALSE(can_encode(host, tiny, {}));
    EXPECT_FALSE(can_encode(old, decoder, {}));
}

}  // namespace
}  // namespace kinetograph::vae
