#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>

#include <gtest/gtest.h>

namespace kinetograph::nn {
namespace {

using conv::FrameLayout;
using conv::PixelOrder;
using conv::TestFrames;
using tensor::DType;

constexpr std::int64_t kHeight = 3, kWidth = 5;

/// Whether channel c of every output pixel is channel `wanted(c, dy, dx)` of the pixel that it was made of.
template <class Wanted>
void expect_channels(std::int64_t channels_in, std::int64_t channels_out, PixelOrder order, const Wanted& wanted) {
    const auto device = accel::cpu::create_device();
    const auto operators = Operators::create(*device).value();
    const auto stream = device->create_stream("test").value();
    for (const DType dtype : {DType::F32, DType::BF16}) {
        TestFrames input(1, 2, kHeight * kWidth * channels_in, dtype, FrameLayout::Ring, 1);
        TestFrames output(1, 2, 4 * kHeight * kWidth * channels_out, dtype, FrameLayout::EveryOther);
        input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame * 97 + i) % 251); });
        const auto inputs = input.readable();
        ASSERT_TRUE(enqueue(*operators, *stream, "up",
                            conv::DepthToSpaceProblem{kHeight, kWidth, channels_in, channels_out, order, dtype, dtype},
                            {.input = inputs, .output = output.writable()}));
        ASSERT_TRUE(stream->synchronize());
        const auto from = input.values(), to = output.values();
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.size()); ++i) {
            const std::int64_t c = i % channels_out, x = i / channels_out % (2 * kWidth);
            const std::int64_t row = i / channels_out / (2 * kWidth), frame = row / (2 * kHeight);
            const std::int64_t y = row % (2 * kHeight), pixel = (frame * kHeight + y / 2) * kWidth + x / 2;
            ASSERT_EQ(to[i], from[pixel * channels_in + wanted(c, y % 2, x % 2)]) << i;
        }
        EXPECT_TRUE(output.gaps_untouched());
    }
}

TEST(DepthToSpaceTest, IsPyTorchsPixelShuffle) {
    expect_channels(12, 3, PixelOrder::RowsFirst,
                    [](std::int64_t c, std::int64_t dy, std::int64_t dx) { return 4 * c + 2 * dy + dx; });
}

TEST(DepthToSpaceTest, GoesDownTheColumnsFirst) {
    expect_channels(12, 3, PixelOrder::ColumnsFirst,
                    [](std::int64_t c, std::int64_t dy, std::int64_t dx) { return 4 * c + 2 * dx + dy; });
}

TEST(DepthToSpaceTest, RepeatsChannelsThatAreTooFew) {
    expect_channels(16, 8, PixelOrder::RowsFirst,
                    [](std::int64_t c, std::int64_t dy, std::int64_t) { return 2 * c + dy; });
    expect_channels(8, 8, PixelOrder::RowsFirst, [](std::int64_t c, std::int64_t, std::int64_t) { return c; });
    expect_channels(4, 8, PixelOrder::RowsFirst, [](std::int64_t c, std::int64_t, std::int64_t) { return c / 2; });
}

TEST(DepthToSpaceTest, RefusesWhatDoesNotDivide) {
    const auto device = accel::cpu::create_device();
    const auto refused = Operators::create(*device).value()->get(conv::DepthToSpaceProblem{1, 2, 5, 4});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(refused.error().message,
              "channels to pixels wants input channels that divide four times the output's, met 5 for 4");
}

}  // namespace
}  // namespace kinetograph::nn
