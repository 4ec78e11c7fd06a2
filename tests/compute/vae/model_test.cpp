// Clips that share a model: the same frames as alone, and the parameters once.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <future>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

class Models : public ::testing::Test {
  protected:
    std::shared_ptr<Model> model() {
        auto made = Model::create(*device_, *checkpoint_, {.precision = Precision::Fp32});
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
    static std::unique_ptr<Decoder> decoder(const std::shared_ptr<Model>& model, LatentSize size = {2, 1}) {
        auto made = Decoder::create(model, size);
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
    /// Latent frame `step` of clip `clip`, of `pixels` pixels.
    static std::vector<float> latent(int clip, int step, std::size_t pixels = 2) {
        std::vector<float> values(16 * pixels);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 2.0F * std::sin(static_cast<float>(i) + 0.7F * static_cast<float>(step) +
                                        3.1F * static_cast<float>(clip));
        return values;
    }
    static std::vector<float> frames_of(Decoder& decoder, int clip, int step, std::size_t pixels = 2) {
        const auto frames = decoder.step(latent(clip, step, pixels));
        EXPECT_TRUE(frames) << frames.error().message;
        return frames ? frames->thwc() : std::vector<float>{};
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    Result<Checkpoint> checkpoint_ = Checkpoint::open("synthetic:wan2.1,dim=4");
};

TEST_F(Models, DecodeClipsInTurnToTheFramesOfDecodersOfTheirOwn) {
    const auto shared = model();
    const auto first = decoder(shared), second = decoder(shared), other_size = decoder(shared, {1, 3});
    const auto alone = decoder(model()), other_alone = decoder(model()), other_size_alone = decoder(model(), {1, 3});
    for (int step = 0; step < 4; ++step) {
        EXPECT_EQ(frames_of(*first, 0, step), frames_of(*alone, 0, step)) << "step " << step;
        EXPECT_EQ(frames_of(*other_size, 2, step, 3), frames_of(*other_size_alone, 2, step, 3)) << "step " << step;
        if (step == 0) continue;  // the second clip starts one step later
        EXPECT_EQ(frames_of(*second, 1, step - 1), frames_of(*other_alone, 1, step - 1)) << "step " << step;
    }
    ASSERT_TRUE(first->reset());
    EXPECT_EQ(frames_of(*second, 1, 3), frames_of(*other_alone, 1, 3)) << "a reset is of one clip";
}

TEST_F(Models, DecodeClipsOfSeveralThreadsAtOnce) {
    const auto shared = model();
    const auto decode = [&](int clip) {
        const auto made = decoder(shared, {clip + 1, 1});
        std::vector<float> all;
        for (int step = 0; step < 3; ++step) {
            const auto frames = frames_of(*made, clip, step, static_cast<std::size_t>(clip) + 1);
            all.insert(all.end(), frames.begin(), frames.end());
        }
        return all;
    };
    std::vector<std::future<std::vector<float>>> together;
    for (const int clip : {0, 1, 0, 1}) together.push_back(std::async(std::launch::async, decode, clip));
    const std::vector<float> one = decode(0), two = decode(1);
    EXPECT_EQ(together[0].get(), one);
    EXPECT_EQ(together[1].get(), two);
    EXPECT_EQ(together[2].get(), one);
    EXPECT_EQ(together[3].get(), two);
}

TEST_F(Models, HoldTheirParametersOnceAndSayWhatEachClipTakesBesideThem) {
    if (device_->info().features.find("avx512f") == std::string::npos)
        GTEST_SKIP() << "without AVX-512 images smaller than filters are the reference's, which holds its own";
    const std::uint64_t before = device_->bytes_allocated();
    const auto shared = model();
    EXPECT_EQ(device_->bytes_allocated(), before) << "no size has been planned";
    auto first = decoder(shared);
    const std::uint64_t with_one = device_->bytes_allocated() - before;
    const StackMemory memory = first->memory();
    EXPECT_GT(memory.parameters, 0U);
    EXPECT_LE(with_one, memory.parameters + memory.clip());
    const auto second = decoder(shared);
    const std::uint64_t of_the_second = device_->bytes_allocated() - before - with_one;
    EXPECT_EQ(of_the_second, with_one - memory.parameters) << "a clip takes all but the parameters";
    EXPECT_LE(of_the_second, memory.clip());
    EXPECT_EQ(second->memory().total(), memory.total()) << "both say the model's part, which is there once";
    first.reset();
    EXPECT_EQ(device_->bytes_allocated() - before, with_one) << "the parameters stay for the other clip";
    frames_of(*second, 0, 0);
}

TEST_F(Models, AreNotTouchedByTheErrorOfOneClip) {
    const auto shared = model();
    const auto broken = decoder(shared), well = decoder(shared), alone = decoder(model());
    EXPECT_EQ(frames_of(*well, 0, 0), frames_of(*alone, 0, 0));
    broken->runner().lane().stream().enqueue("a pass",
                                             [] { return Result<void>(fail(ErrorCode::OutOfMemory, "no more")); });
    ASSERT_FALSE(broken->step(latent(1, 0)));
    EXPECT_EQ(frames_of(*well, 0, 1), frames_of(*alone, 0, 1));
    ASSERT_TRUE(broken->reset());
    const auto third = decoder(model());
    EXPECT_EQ(frames_of(*broken, 1, 0), frames_of(*third, 1, 0));
}

TEST_F(Models, LeaveTheDeviceWithTheLastClip) {
    const std::uint64_t before = device_->bytes_allocated();
    auto last = decoder(model());
    EXPECT_GT(device_->bytes_allocated(), before);
    last.reset();
    EXPECT_EQ(device_->bytes_allocated(), before);
}

}  // namespace
}  // namespace kinetograph::vae
