#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <cmath>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/tests/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <numeric>

namespace kinetograph::vae {
namespace {

using tensor::DType;

class LatentsTest : public testing::Test {
  protected:
    /// 0, 1, 2, ... for `shape`, exact in every format that latents may have.
    static std::vector<float> counted(const tensor::Shape& shape) {
        std::vector<float> values(static_cast<std::size_t>(tensor::element_count(shape).value()));
        std::iota(values.begin(), values.end(), 0.0F);
        return values;
    }

    Result<Latents> open(test::StoredTensor tensor, std::map<std::string, std::string> metadata = {}) {
        test::CheckpointFile{{std::move(tensor)}, std::move(metadata)}.write(path_);
        return Latents::open(path_);
    }

    /// The sentence a person reads, without the path that it starts with.
    std::string refusal(const Result<Latents>& latents, ErrorCode code = ErrorCode::InvalidArgument) {
        if (latents) return "accepted";
        EXPECT_EQ(latents.error().code, code) << latents.error().message;
        EXPECT_TRUE(latents.error().message.starts_with(path_ + ": ")) << latents.error().message;
        return latents.error().message.substr(path_.size() + 2);
    }

    std::string refusal_of_shape(const tensor::Shape& shape) {
        return refusal(open(test::stored("latents", DType::F32, shape, counted(shape))));
    }

    const test::TemporaryFolder folder_;
    const std::string path_ = (folder_.path() / "clip.safetensors").string();
};

TEST_F(LatentsTest, ReadsEveryFormatWithAndWithoutABatchAxis) {
    const std::vector<float> values = counted({2, 3, 4, 5});
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        for (const tensor::Shape& shape : {tensor::Shape{2, 3, 4, 5}, tensor::Shape{1, 2, 3, 4, 5}}) {
            const auto latents = open(test::stored("latents", dtype, shape, values));
            ASSERT_TRUE(latents) << latents.error().message;
            EXPECT_EQ(latents->name, path_);
            EXPECT_EQ(latents->channels, 2);
            EXPECT_EQ(latents->frames, 3);
            EXPECT_EQ(latents->height, 4);
            EXPECT_EQ(latents->width, 5);
            EXPECT_EQ(latents->values, values);
            EXPECT_EQ(latents->fps, 24.0);
        }
    }
}

TEST_F(LatentsTest, HashesTheBytesOfTheFile) {
    const auto latents = open(test::stored("latents", DType::F32, {1, 1, 1, 1}, {1.0F}));
    const auto file = tensor::SafetensorsFile::open(path_);
    EXPECT_EQ(latents->content_hash, XXH3_64bits(file->bytes().data(), file->bytes().size()));
}

TEST_F(LatentsTest, TakesTheFrameRateFromTheMetadata) {
    const auto fps = [&](const std::string& text) {
        return open(test::stored("latents", DType::F32, {1, 1, 1, 1}, {1.0F}), {{"fps", text}});
    };
    EXPECT_EQ(fps("16")->fps, 16.0);
    EXPECT_EQ(fps("23.976")->fps, 23.976);
    for (const std::string text : {"", "0", "-24", "1001", "nan", "inf", "24fps", "0x18", "1e999", "1e-300"}) {
        EXPECT_EQ(refusal(fps(text)), "metadata fps: \"" + text + "\" is not a number from 0.01 to 1000");
    }
}

TEST_F(LatentsTest, SaysWhatIsThereWhenTheTensorIsAbsent) {
    EXPECT_EQ(refusal(open(test::stored("frames", DType::F32, {1}, {1.0F})), ErrorCode::NotFound),
              "no tensor \"latents\" in it, but \"frames\"");
    test::CheckpointFile{}.write(path_);
    EXPECT_EQ(refusal(Latents::open(path_), ErrorCode::NotFound), "no tensor \"latents\" in it, but nothing");
    test::CheckpointFile::synthetic(2).write(path_);
    EXPECT_TRUE(refusal(Latents::open(path_), ErrorCode::NotFound).ends_with(", 98 more"));
}

TEST_F(LatentsTest, RefusesAWrongRank) {
    EXPECT_EQ(refusal_of_shape({2, 3, 4}),
              "latents [2, 3, 4] have 3 dimensions, wanted [C, T, h, w] or [1, C, T, h, w]");
    EXPECT_EQ(refusal_of_shape({}), "latents [] have 0 dimensions, wanted [C, T, h, w] or [1, C, T, h, w]");
    EXPECT_EQ(refusal_of_shape({1, 1, 2, 3, 4, 5}),
              "latents [1, 1, 2, 3, 4, 5] have 6 dimensions, wanted [C, T, h, w] or [1, C, T, h, w]");
}

TEST_F(LatentsTest, RefusesABatch) {
    EXPECT_EQ(refusal_of_shape({2, 3, 1, 4, 5}),
              "latents [2, 3, 1, 4, 5] are a batch of 2: only one clip can be decoded");
    EXPECT_EQ(refusal_of_shape({0, 3, 1, 4, 5}),
              "latents [0, 3, 1, 4, 5] are a batch of 0: only one clip can be decoded");
}

TEST_F(LatentsTest, RefusesClipsWithoutFramesChannelsOrPixels) {
    EXPECT_EQ(refusal_of_shape({16, 0, 4, 5}), "latents [16, 0, 4, 5] have no frames");
    EXPECT_EQ(refusal_of_shape({1, 16, 0, 4, 5}), "latents [1, 16, 0, 4, 5] have no frames");
    EXPECT_EQ(refusal_of_shape({0, 1, 4, 5}), "latents [0, 1, 4, 5] have no channels");
    EXPECT_EQ(refusal_of_shape({16, 1, 0, 5}),
              "latents [16, 1, 0, 5]: frames of 5 x 0 latent pixels, a side may have 1 to 1024");
}

TEST_F(LatentsTest, RefusesAbsurdSizes) {
    EXPECT_EQ(refusal_of_shape({1, 1, 1025, 2}),
              "latents [1, 1, 1025, 2]: frames of 2 x 1025 latent pixels, a side may have 1 to 1024");
    EXPECT_EQ(refusal_of_shape({1, 1, 2, 100000}),
              "latents [1, 1, 2, 100000]: frames of 100000 x 2 latent pixels, a side may have 1 to 1024");
    EXPECT_EQ(refusal_of_shape({1, 1, 1024, 1024}), "accepted");

    folder_.write("clip.safetensors",
                  test::safetensors_bytes(R"({"latents":{"dtype":"F32","shape":[16,4000000000,4000000000,64],)"
                                          R"("data_offsets":[0,4]}})",
                                          "abcd"));
    EXPECT_EQ(refusal(Latents::open(path_), ErrorCode::Corrupt),
              "tensor \"latents\": shape [16, 4000000000, 4000000000, 64] has more than 2^62 elements");
}

TEST_F(LatentsTest, RefusesOtherTypes) {
    const std::vector<std::int32_t> numbers(4);
    EXPECT_EQ(refusal(open(
                  test::StoredTensor::of("latents", DType::I32, {1, 1, 2, 2}, std::span<const std::int32_t>(numbers)))),
              "latents are I32, wanted F32, F16 or BF16");
}

TEST_F(LatentsTest, SaysWhereAValueIsNotFinite) {
    const auto refusal_at = [&](int c, int t, int y, int x, DType dtype, float poison) {
        std::vector<float> values = counted({2, 3, 4, 5});
        values[static_cast<std::size_t>(((c * 3 + t) * 4 + y) * 5 + x)] = poison;
        return refusal(open(test::stored("latents", dtype, {2, 3, 4, 5}, values)));
    };
    const std::string sentence =
        "latents hold a value that is not finite at (c, t, y, x) = ({}, {}, {}, {}): it would "
        "spread over every later frame";
    for (const auto& [c, t, y, x] : {std::array{0, 0, 0, 0}, {1, 2, 3, 1}, {0, 1, 0, 4}, {1, 0, 2, 3}, {1, 2, 3, 4}}) {
        EXPECT_EQ(refusal_at(c, t, y, x, DType::F32, std::nanf("")), fmt::format(fmt::runtime(sentence), c, t, y, x));
    }
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        EXPECT_EQ(refusal_at(1, 1, 2, 3, dtype, INFINITY), fmt::format(fmt::runtime(sentence), 1, 1, 2, 3));
    }
}

TEST_F(LatentsTest, OpensTheBundledClips) {
    for (const std::string name : {"orbit", "tunnel", "bounce"}) {
        const auto latents = Latents::open(test::source_tree() / "assets" / (name + ".safetensors"));
        ASSERT_TRUE(latents) << latents.error().message;
        EXPECT_EQ(latents->channels, 16);
        EXPECT_EQ(latents->frames, 16);
        EXPECT_EQ(latents->height, 36);
        EXPECT_EQ(latents->width, 64);
        EXPECT_EQ(latents->fps, 24.0);
        EXPECT_EQ(latents->values.size(), 16U * 16U * 36U * 64U);
    }
}

}  // namespace
}  // namespace kinetograph::vae
