// config.json identifies the file beside it in a diffusers folder.
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

namespace kinetograph::formats {
namespace {

class DiffusersFolder : public testing::Test {
  protected:
    Result<vae::Checkpoint> open(const std::string& config, const std::string& name) {
        folder_.write("config.json", config);
        const std::string path = (folder_.path() / name).string();
        test::CheckpointFile::synthetic(2).rename(families::wan::diffusers_name).write(path);
        return vae::Checkpoint::open(path);
    }
    const test::TemporaryFolder folder_;
};

/// A whole safetensors file of one tensor.
std::string floats_file() {
    return test::safetensors_bytes(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcd");
}

constexpr const char* kFile = "diffusion_pytorch_model.safetensors";

TEST_F(DiffusersFolder, SaysWhoseTheTensorsAreAndTheirStatistics) {
    const auto checkpoint = open(R"({"_class_name": "AutoencoderKLQwenImage", "z_dim": 16,
        "latents_mean": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,-1.5],
        "latents_std": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0.5]})",
                                 kFile);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->family().name, "qwen-image");
    EXPECT_EQ(checkpoint->latents_mean().back(), -1.5F);
    EXPECT_EQ(checkpoint->latents_std().back(), 0.5F);
}

TEST_F(DiffusersFolder, IsWan21WhereItSaysSoOrNothing) {
    EXPECT_EQ(open(R"({"_class_name": "AutoencoderKLWan"})", kFile)->family().name, "wan2.1");
    EXPECT_EQ(open("{}", kFile)->family().name, "wan2.1");
}

TEST_F(DiffusersFolder, NamesAClassThatCannotBeDecoded) {
    const auto checkpoint = open(R"({"_class_name": "AutoencoderKLMochi"})", kFile);
    ASSERT_FALSE(checkpoint);
    EXPECT_TRUE(checkpoint.error().message.ends_with(
        ": this is an AutoencoderKLMochi by its metadata; `kinetograph families` lists what can be decoded"))
        << checkpoint.error().message;
}

TEST_F(DiffusersFolder, NamesTheClassOfAVaeWhoseTensorsAreNamedAsThoseOfImageVaes) {
    folder_.write("config.json", R"({"_class_name": "AutoencoderKLHunyuanVideo"})");
    test::CheckpointFile file;
    file.tensors.push_back(test::stored("decoder.mid_block.attentions.0.to_q.weight", tensor::DType::F32, {1}, {1.0F}));
    file.write((folder_.path() / kFile).string());
    const auto checkpoint = vae::Checkpoint::open((folder_.path() / kFile).string());
    ASSERT_FALSE(checkpoint);
    EXPECT_TRUE(checkpoint.error().message.ends_with(
        ": this is an AutoencoderKLHunyuanVideo by its metadata; `kinetograph families` lists what can be decoded"))
        << checkpoint.error().message;
}

TEST_F(DiffusersFolder, NamesAClassThatIsCalledAfterOneThatIsDecodedButHasOtherTensors) {
    folder_.write("config.json", R"({"_class_name": "AutoencoderKLQwenImage21"})");
    auto file = test::CheckpointFile::synthetic(2);
    file.tensors.pop_back();
    file.write((folder_.path() / kFile).string());
    const auto checkpoint = vae::Checkpoint::open((folder_.path() / kFile).string());
    ASSERT_FALSE(checkpoint);
    EXPECT_TRUE(checkpoint.error().message.ends_with(
        ": this is an AutoencoderKLQwenImage21 by its metadata; `kinetograph families` lists what can be decoded"))
        << checkpoint.error().message;
}

TEST_F(DiffusersFolder, DoesNotSpeakForFilesOfOtherNames) {
    EXPECT_EQ(open(R"({"_class_name": "AutoencoderKLMochi"})", "vae.safetensors")->family().name, "wan2.1");
}

TEST_F(DiffusersFolder, StandsForTheCheckpointInIt) {
    ASSERT_TRUE(open(R"({"_class_name": "AutoencoderKLQwenImage"})", kFile));
    const auto opened = vae::Checkpoint::open(folder_.path().string());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->family().name, "qwen-image");
    EXPECT_EQ(opened->name(), (folder_.path() / kFile).string());

    const auto pipeline = folder_.path() / "pipeline";
    std::filesystem::create_directories(pipeline / "vae");
    const auto empty = vae::Checkpoint::open(pipeline.string());
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().message,
              pipeline.string() +
                  ": a folder without the checkpoint of a VAE: neither diffusion_pytorch_model.safetensors, here or in "
                  "vae/, nor a file with vae in its name");
    for (const char* name : {kFile, "config.json"})
        std::filesystem::rename(folder_.path() / name, pipeline / "vae" / name);
    EXPECT_EQ(vae::Checkpoint::open(pipeline.string())->family().name, "qwen-image");
}

TEST_F(DiffusersFolder, StandsForTheFileThatDiffusersWouldOpen) {
    const auto opened = [&](const std::string& folder = "") {
        const auto source = formats::open(folder_.path() / folder);
        return source ? std::filesystem::path(source->name()).filename().string() : source.error().message;
    };
    const std::string file = floats_file(), index = R"({"weight_map": {}})", model = "diffusion_pytorch_model";
    // Each is taken before those that are there already.
    for (const auto& [name, bytes] :
         std::vector<std::pair<std::string, std::string>>{{".ema.bin", file},
                                                          {".bin.index.fp16.json", index},
                                                          {".fp16.bin", file},
                                                          {".bin.index.json", index},
                                                          {".bin", file},
                                                          {".fp32.safetensors", file},
                                                          {".safetensors.index.bf16.json", index},
                                                          {".bf16.safetensors", file},
                                                          {".fp16.safetensors.index.json", index},
                                                          {".fp16.safetensors", file},
                                                          {".safetensors.index.json", index},
                                                          {".safetensors", file}}) {
        folder_.write(model + name, bytes);
        EXPECT_EQ(opened(), model + name);
    }
    const auto cached = std::filesystem::path("models--Wan-AI--Wan2.1") / "snapshots" / "abc123";
    std::filesystem::create_directories(folder_.path() / cached / "vae");
    folder_.write((cached / "vae" / kFile).string(), file);
    EXPECT_EQ(opened("models--Wan-AI--Wan2.1"), kFile) << "as Hugging Face's cache has them";
}

class AuthorsFolder : public DiffusersFolder {
  protected:
    void write(const std::string& name) { test::CheckpointFile::synthetic(2).write(folder_.path() / name); }
    std::string opened() {
        const auto checkpoint = vae::Checkpoint::open(folder_.path().string());
        const std::string text = checkpoint ? checkpoint->name() : checkpoint.error().message;
        return text.starts_with(folder_.path().string()) ? text.substr(folder_.path().string().size()) : text;
    }
};

TEST_F(AuthorsFolder, StandsForTheFileThatItsAuthorsCallTheVae) {
    write("Wan2.1_VAE.safetensors");
    folder_.write("models_t5.safetensors", "another model's");
    EXPECT_EQ(opened(), "/Wan2.1_VAE.safetensors");
    folder_.write("config.json", R"({"_class_name": "WanModel"})");
    folder_.write(kFile, "the transformer");
    EXPECT_EQ(opened(), "/Wan2.1_VAE.safetensors") << "config.json is the transformer's";
    write("lightvae.safetensors");
    EXPECT_EQ(opened(),
              ": a folder with several checkpoints (Wan2.1_VAE.safetensors, lightvae.safetensors): name the "
              "one that is meant");
}

TEST_F(AuthorsFolder, StandsForItsOnlyCheckpointWhateverItIsCalled) {
    write("best-of-two.safetensors");
    EXPECT_EQ(opened(), "/best-of-two.safetensors");
}

TEST_F(AuthorsFolder, StandsForShardsUnderAnyName) {
    write("vae-00001-of-00001.safetensors");
    std::string map;
    for (const auto& tensor : test::CheckpointFile::synthetic(2).tensors)
        map += (map.empty() ? "\"" : ",\"") + tensor.name + R"(": "vae-00001-of-00001.safetensors")";
    folder_.write("vae.safetensors.index.json", R"({"weight_map": {)" + map + "}}");
    EXPECT_EQ(opened(), "/vae.safetensors.index.json");
}

TEST_F(DiffusersFolder, WhoseConfigIsOfAnotherDecoderIsRefused) {
    EXPECT_TRUE(open(R"({"base_dim": 2, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "is_residual": false,
        "decoder_base_dim": null, "temperal_downsample": [false, true, true], "num_res_blocks": 2})",
                     kFile));
    const auto wider = open(R"({"base_dim": 96})", kFile);
    ASSERT_FALSE(wider);
    EXPECT_TRUE(wider.error().message.ends_with(
        "its configuration says base_dim \"96\", the tensors are those of a Wan 2.1 decoder with 2"))
        << wider.error().message;
    const auto residual = open(R"({"is_residual": true})", kFile);
    ASSERT_FALSE(residual);
    EXPECT_TRUE(residual.error().message.ends_with(
        "its configuration says is_residual \"true\", the tensors are those of a Wan 2.1 decoder with false"))
        << residual.error().message;
}

TEST_F(DiffusersFolder, HasAReadableConfigOrNone) {
    const auto checkpoint = open("[1]", kFile);
    ASSERT_FALSE(checkpoint);
    EXPECT_TRUE(checkpoint.error().message.ends_with("config.json: no JSON object")) << checkpoint.error().message;
    const auto deep = open("{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}", kFile);
    ASSERT_FALSE(deep);
    EXPECT_TRUE(deep.error().message.ends_with("config.json: objects and arrays more than 64 deep"))
        << deep.error().message;
}

}  // namespace
}  // namespace kinetograph::formats
