// A checkpoint in shards equals the checkpoint in one file; a wrong index is refused with a sentence.
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <future>

namespace kinetograph::formats {
namespace {

using test::CheckpointFile;

class ShardedSafetensors : public testing::Test {
  protected:
    /// Writes every third tensor to the same shard, and the index; writes nothing for shard `absent`.
    void write(int absent = -1) {
        CheckpointFile shards[3];
        for (std::size_t i = 0; i < whole_.tensors.size(); ++i) {
            shards[i % 3].tensors.push_back(whole_.tensors[i]);
            map_ += (i == 0 ? "" : ",") + ('"' + whole_.tensors[i].name + "\":\"" + name_of(i % 3) + '"');
        }
        for (int i = 0; i < 3; ++i)
            if (i != absent) shards[i].write(folder_.path() / name_of(static_cast<std::size_t>(i)));
        write_index(R"({"metadata":{"total_size":1},"weight_map":{)" + map_ + "}}");
    }
    void write_index(const std::string& text) { folder_.write("vae.safetensors.index.json", text); }
    static std::string name_of(std::size_t shard) {
        return "vae-0000" + std::to_string(shard + 1) + "-of-00003.safetensors";
    }

    /// The error's sentence without the index's path, with which it starts.
    std::string refusal() const {
        const auto opened = vae::Checkpoint::open(index_);
        if (opened) return "accepted";
        EXPECT_TRUE(opened.error().message.starts_with(index_ + ": ")) << opened.error().message;
        return opened.error().message.substr(index_.size() + 2);
    }

    const test::TemporaryFolder folder_;
    const std::string index_ = (folder_.path() / "vae.safetensors.index.json").string();
    const CheckpointFile whole_ = CheckpointFile::synthetic(2);
    std::string map_;
};

TEST_F(ShardedSafetensors, HoldTheCheckpointThatOneFileHolds) {
    write();
    const auto sharded = vae::Checkpoint::open(index_);
    ASSERT_TRUE(sharded) << sharded.error().message;
    const auto whole = vae::Checkpoint::open("synthetic:wan2.1,dim=2").value();
    ASSERT_EQ(sharded->tensor_names(), whole.tensor_names());
    for (const std::string& name : whole.tensor_names())
        EXPECT_EQ(sharded->load(name).value(), whole.load(name).value()) << name;
}

TEST_F(ShardedSafetensors, MayBeAVariantAsDiffusersNamesIt) {
    write();
    for (const std::string name :
         {"diffusion_pytorch_model.safetensors.index.fp16.json", "diffusion_pytorch_model.fp16.safetensors.index.json",
          "diffusion_pytorch_model.safetensors.index.bf16.json"}) {
        std::filesystem::copy(index_, folder_.path() / name);
        EXPECT_TRUE(vae::Checkpoint::open((folder_.path() / name).string())) << name;
        const auto found = vae::Checkpoint::open(folder_.path().string());
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->name(), (folder_.path() / name).string());
        std::filesystem::remove(folder_.path() / name);
    }
}

TEST_F(ShardedSafetensors, ListTensorsOfUnknownDtypes) {
    const std::string shard = R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(shard.size());
    folder_.write("vae-4.safetensors", bytes + shard + "x");
    write();
    write_index(R"({"weight_map":{)" + map_ + R"(,"a":"vae-4.safetensors"}})");
    const auto opened = open(index_);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->unreadable(), (std::map<std::string, std::string>{{"a", "\"F4\""}}));
    EXPECT_TRUE(vae::Checkpoint::open(index_));
}

TEST_F(ShardedSafetensors, AreHashedWithAllTheirFiles) {
    write();
    const auto before = vae::Checkpoint::open(index_)->content_hash();
    CheckpointFile last;
    for (std::size_t i = 2; i < whole_.tensors.size(); i += 3) last.tensors.push_back(whole_.tensors[i]);
    last.tensors.back().bytes[0] ^= std::byte{1};
    last.write(folder_.path() / name_of(2));
    EXPECT_NE(vae::Checkpoint::open(index_)->content_hash(), before);
}

TEST_F(ShardedSafetensors, NameAShardThatIsMissing) {
    write(1);
    EXPECT_EQ(refusal(), (folder_.path() / name_of(1)).string() + ": No such file or directory");
}

TEST_F(ShardedSafetensors, NameATensorThatIsNotWhereTheIndexHasIt) {
    write();
    write_index(R"({"weight_map":{"conv2.weight":")" + name_of(1) + "\"}}");
    EXPECT_EQ(refusal(), "tensor \"conv2.weight\" is not in \"" + name_of(1) + "\", where the index has it");
}

TEST_F(ShardedSafetensors, ReachNoFileElsewhere) {
    const std::string too_long = '"' + std::string(256, 'a') + '"';
    for (const char* shard : {R"("../vae.safetensors")", R"("/etc/passwd")", R"("..")", R"("")", R"("\u001b[2J")", "7",
                              "{}", too_long.c_str()}) {
        write_index(std::string(R"({"weight_map":{"conv2.weight":)") + shard + "}}");
        EXPECT_NE(refusal().find("which is no name of a file beside the index"), std::string::npos) << shard;
    }
}

TEST_F(ShardedSafetensors, NameATensorThatOccursTwice) {
    write_index(R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors","a":"2.safetensors"}})");
    EXPECT_EQ(refusal(), "tensor \"a\" occurs twice");
    write_index(R"({"weight_map":{},"weight_map":{}})");
    EXPECT_EQ(refusal(), "\"weight_map\" occurs twice");
}

TEST_F(ShardedSafetensors, MayBeNestedAMillionDeep) {
    const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    write_index(R"({"weight_map":{"a":)" + deep + "}}");
    EXPECT_EQ(refusal(), "tensor \"a\" is in an array, which is no name of a file beside the index");
    write();
    write_index(R"({"metadata":)" + deep + R"(,"weight_map":{)" + map_ + "}}");
    EXPECT_TRUE(vae::Checkpoint::open(index_));
}

TEST_F(ShardedSafetensors, AreNotReadFromAPipe) {
    ASSERT_EQ(::mkfifo(index_.c_str(), 0600), 0);
    auto sentence = std::async(std::launch::async, [this] { return refusal(); });
    const bool in_time = sentence.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(in_time) << "it waits for a writer";
    if (!in_time) ::close(::open(index_.c_str(), O_WRONLY | O_NONBLOCK));  // ends the wait
    EXPECT_EQ(sentence.get(), "not a regular file");
}

TEST_F(ShardedSafetensors, RefuseWhatIsNoIndex) {
    for (const std::string text : {"7", "[]", "{}", R"({"weight_map":[{}]})", R"({"a":{"weight_map":{}}})"}) {
        write_index(text);
        EXPECT_EQ(refusal(), "no JSON object with a \"weight_map\"") << text;
    }
    for (const std::string text : {"", "{", R"({"weight_map":{}}})", R"({"weight_map":{)"}) {
        write_index(text);
        EXPECT_TRUE(refusal().starts_with("not JSON from its byte ")) << text;
    }
    write_index(R"({"weight_map":{}})");
    EXPECT_EQ(
        refusal(),
        "no tensor of any decoder is in it (0 tensors, the first absent); `kinetograph families` lists what can be "
        "decoded");
}

}  // namespace
}  // namespace kinetograph::formats
