// A checkpoint from a caller's bytes instead of a file.
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace kinetograph::formats {
namespace {

class CheckpointBytes : public testing::Test {
  protected:
    CheckpointBytes() : path_((folder_.path() / "vae.safetensors").string()) {
        test::CheckpointFile::synthetic(2).write(path_);
        std::ifstream file(path_, std::ios::binary);
        contents_ =
            std::make_shared<std::string>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    OwnedBytes owned() const { return {std::as_bytes(std::span(*contents_)), contents_}; }

    const test::TemporaryFolder folder_;
    const std::string path_;
    std::shared_ptr<std::string> contents_;
};

TEST_F(CheckpointBytes, AreTheCheckpointOfTheFile) {
    const auto parsed = vae::Checkpoint::parse(owned(), "in memory");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto opened = vae::Checkpoint::open(path_).value();
    EXPECT_EQ(parsed->name(), "in memory");
    EXPECT_EQ(parsed->content_hash(), opened.content_hash());
    ASSERT_EQ(parsed->tensor_names(), opened.tensor_names());
    for (const std::string& name : opened.tensor_names())
        EXPECT_EQ(parsed->load(name).value(), opened.load(name).value()) << name;
}

TEST_F(CheckpointBytes, AreKeptForAsLongAsTheCheckpoint) {
    const std::weak_ptr<std::string> kept = contents_;
    {
        const auto checkpoint = vae::Checkpoint::parse(owned(), "in memory").value();
        contents_.reset();
        EXPECT_FALSE(kept.expired());
    }
    EXPECT_TRUE(kept.expired());
}

TEST_F(CheckpointBytes, SayWhatIsWrongUnderTheirName) {
    contents_->resize(contents_->size() - 1);
    const auto truncated = vae::Checkpoint::parse(owned(), "a download");
    ASSERT_FALSE(truncated);
    EXPECT_EQ(truncated.error().code, ErrorCode::Corrupt);
    EXPECT_EQ(truncated.error().message.rfind("a download: ", 0), 0U) << truncated.error().message;
}

TEST_F(CheckpointBytes, AreCheckedUntilAStopIsRequested) {
    std::stop_source source;
    const tensor::ReadOptions options{.allocator = {}, .limits = {.until = {}, .stop = source.get_token()}};
    ASSERT_TRUE(vae::Checkpoint::parse(owned(), "in memory", options));
    source.request_stop();
    const auto stopped = vae::Checkpoint::parse(owned(), "in memory", options);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(stopped.error().message, "in memory: a stop was requested");
}

TEST_F(CheckpointBytes, OfAnIndexAreNotACheckpoint) {
    const auto index = vae::Checkpoint::parse(owned(), "vae.safetensors.index.json");
    ASSERT_FALSE(index);
    EXPECT_EQ(index.error().message,
              "vae.safetensors.index.json: a *.index.json names several files: it is opened by its path");
}

}  // namespace
}  // namespace kinetograph::formats
