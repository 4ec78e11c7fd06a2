// TAESD's autoencoders as their authors publish them: a decoder's file and an encoder's, numbered layers in each.
#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace kinetograph::vae {
namespace {

using test::CheckpointFile;

/// "decoder.layers.2.conv.0.weight" as "3.conv.0.weight": the layer that limits latents is the authors' first.
std::string authors_name(const std::string& name, int before) {
    constexpr std::string_view kLayers = ".layers.";
    const std::string rest = name.substr(name.find(kLayers) + kLayers.size());
    const std::size_t dot = rest.find('.');
    return std::to_string(std::stoi(rest.substr(0, dot)) + before) + rest.substr(dot);
}

class TaesdFiles : public testing::TestWithParam<const char*> {
  protected:
    CheckpointFile half(const Checkpoint& network, const std::string& prefix, int before) const {
        CheckpointFile file;
        for (const std::string& name : network.tensor_names())
            file.tensors.push_back(test::stored(prefix + authors_name(name, before), tensor::DType::F32,
                                                *network.shape(name), *network.load(name)));
        return file;
    }
    CheckpointFile decoder(const std::string& prefix = "") const { return half(synthetic_, prefix, 1); }
    CheckpointFile encoder(const std::string& prefix = "") const { return half(*synthetic_.encoder(), prefix, 0); }
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    static void expect_same_values(const Checkpoint& actual, const Checkpoint& expected) {
        ASSERT_EQ(actual.tensor_names(), expected.tensor_names());
        for (const std::string& name : expected.tensor_names())
            EXPECT_EQ(*actual.load(name), *expected.load(name)) << name;
    }

    const test::TemporaryFolder folder_;
    const std::string family_ = GetParam();
    const Checkpoint synthetic_ = Checkpoint::open("synthetic:" + family_ + ",dim=4").value();
};
INSTANTIATE_TEST_SUITE_P(Families, TaesdFiles, testing::Values("taesd", "taesdxl", "taef1", "taesd3"));

TEST_P(TaesdFiles, AreTheTwoNetworksOfTheFamily) {
    const std::string file = path(family_ + "_decoder.safetensors");
    decoder().write(file);
    const auto alone = Checkpoint::open(file);
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ(alone->family().name, family_);
    EXPECT_FALSE(alone->has_encoder());
    expect_same_values(*alone, synthetic_);
    encoder().write(path(family_ + "_encoder.safetensors"));
    const auto both = Checkpoint::open(file);
    ASSERT_TRUE(both) << both.error().message;
    EXPECT_TRUE(both->has_encoder());
    expect_same_values(*both, synthetic_);
    expect_same_values(both->encoder().value(), synthetic_.encoder().value());
    EXPECT_NE(both->content_hash(), alone->content_hash());
}

TEST_P(TaesdFiles, AreReadInOneFileAsComfyUiJoinsThem) {
    CheckpointFile file = decoder("taesd_decoder.");
    std::ranges::move(encoder("taesd_encoder.").tensors, std::back_inserter(file.tensors));
    const std::string name = path(family_ + ".safetensors");
    file.write(name);
    const auto both = Checkpoint::open(name);
    ASSERT_TRUE(both) << both.error().message;
    EXPECT_EQ(both->family().name, family_);
    expect_same_values(*both, synthetic_);
    expect_same_values(both->encoder().value(), synthetic_.encoder().value());
}

TEST_P(TaesdFiles, ThatAreNoDecoderAreRefusedInASentence) {
    const std::string of_encoder = path(family_ + "_encoder.safetensors"),
                      file = path(family_ + "_decoder.safetensors");
    encoder().write(of_encoder);
    const auto encoder_alone = Checkpoint::open(of_encoder);
    ASSERT_FALSE(encoder_alone);
    EXPECT_TRUE(encoder_alone.error().message.starts_with(of_encoder + ": this is the encoder of a TAESD alone"))
        << encoder_alone.error().message;
    CheckpointFile broken = decoder();
    broken.remove("17.weight").write(file);
    const auto incomplete = Checkpoint::open(file);
    ASSERT_FALSE(incomplete);
    EXPECT_NE(incomplete.error().message.find("\"decoder.layers.16.weight\""), std::string::npos)
        << incomplete.error().message;
    decoder().write(file);
    std::ofstream(of_encoder) << "nothing of the kind";
    const auto beside = Checkpoint::open(file);
    ASSERT_FALSE(beside);
    EXPECT_NE(beside.error().message.find(of_encoder), std::string::npos) << beside.error().message;
}

}  // namespace
}  // namespace kinetograph::vae
