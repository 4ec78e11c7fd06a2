#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>

#include <gtest/gtest.h>

namespace kinetograph::nn {
namespace {

using conv::FrameLayout;
using conv::TestFrames;
using tensor::DType;

TEST(UpsampleNearest2xTest, MakesEveryPixelATwoByTwoBlock) {
    const auto device = accel::cpu::create_device();
    const auto operators = Operators::create(*device).value();
    const auto stream = device->create_stream("test").value();
    for (const DType dtype : {DType::F32, DType::BF16}) {
        for (const std::int64_t channels : {1, 3, 64}) {
            constexpr std::int64_t kHeight = 5, kWidth = 7;
            TestFrames input(1, 2, kHeight * kWidth * channels, dtype, FrameLayout::Ring, 1);
            TestFrames output(1, 2, 4 * kHeight * kWidth * channels, dtype, FrameLayout::EveryOther);
            input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame * 97 + i) % 251); });
            const auto inputs = input.readable();
            ASSERT_TRUE(enqueue(*operators, *stream, "up",
                                conv::UpsampleProblem{kHeight, kWidth, channels, dtype, dtype},
                                {.input = inputs, .output = output.writable()}));
            ASSERT_TRUE(stream->synchronize());
            const auto from = input.values(), to = output.values();
            for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.size()); ++i) {
                const std::int64_t c = i % channels, x = i / channels % (2 * kWidth);
                const std::int64_t y = i / channels / (2 * kWidth) % (2 * kHeight);
                const std::int64_t frame = i / channels / (2 * kWidth) / (2 * kHeight);
                ASSERT_EQ(to[i], from[((frame * kHeight + y / 2) * kWidth + x / 2) * channels + c]) << i;
            }
            EXPECT_TRUE(output.gaps_untouched());
        }
    }
}

TEST(UpsampleNearest2xTest, RefusesUnequalFrameCountsNamingThePass) {
    const auto device = accel::cpu::create_device();
    const auto stream = device->create_stream("test").value();
    TestFrames output(1, 1, 4, DType::F32, FrameLayout::Dense);
    const auto enqueued =
        enqueue(*Operators::create(*device).value(), *stream, "up",
                conv::UpsampleProblem{1, 1, 1, DType::F32, DType::F32}, {.output = output.writable()});
    ASSERT_FALSE(enqueued);
    EXPECT_EQ(enqueued.error().message, "pass \"up\": upsampling of 0 input and 1 output frames");
}

}  // namespace
}  // namespace kinetograph::nn
