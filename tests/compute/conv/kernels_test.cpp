// The kernels of a back end that only the tests have, with an image in its format in the table of images.
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/tests/engine/accel/script/device.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

TEST(Kernels, AreFoundInAFormatOfTheDevicesBackEnd) {
    accel::script::Machine machine;
    const auto device = accel::adopt("script", &machine).value();
    const Kernels kernels(*device);
    const auto twice = kernels.get("steps", "twice");
    ASSERT_TRUE(twice) << twice.error().message;
    EXPECT_EQ(Kernels(*device).get("steps", "twice").value(), *twice);
    EXPECT_EQ(machine.loads, 1);
    const auto missing = kernels.get("steps", "thrice");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::Unsupported);
}

TEST(Kernels, SayWhatThisBuildLacks) {
    const auto device = accel::open("script").value();
    const auto image = Kernels(*device).get("jumps", "twice");
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(image.error().message, "kernel \"twice\": no script \"jumps\" in this build: written by hand");
    const auto cpu = accel::open("cpu").value();
    const auto none = Kernels(*cpu).get("steps", "twice");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "kernel \"twice\": this build has no device code for cpu");
}

}  // namespace
}  // namespace kinetograph::conv
