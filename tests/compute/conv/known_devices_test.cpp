#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

TEST(KnownDevices, DescribeThemselvesAsTheirDriversWould) {
    for (const KnownDevice& known : known_devices()) {
        const auto info = describe_known_device(known.architecture);
        ASSERT_TRUE(info) << known.architecture;
        EXPECT_EQ(info->kind, known.architecture.starts_with("gfx") ? accel::Kind::Hip : accel::Kind::Cuda);
        EXPECT_EQ(info->architecture, known.architecture);
        EXPECT_EQ(info->wave_size, info->kind == accel::Kind::Hip ? 64U : 32U);
        EXPECT_FALSE(info->can_load) << "not opened: " << info->name;
    }
}

TEST(KnownDevices, LackArchitecturesThatNoKernelIsWrittenFor) {
    EXPECT_FALSE(describe_known_device("sm_70"));
    EXPECT_FALSE(describe_known_device(""));
}

TEST(KnownDevices, GiveTheRatesOfAChipToWhatHasItsArchitecture) {
    accel::DeviceInfo info = *describe_known_device("sm_100");
    info.compute_units = 20;
    const Chip chip = chip_of(info);
    EXPECT_EQ(chip.compute_units, 20U);
    EXPECT_EQ(chip.cuda_architecture(), 100);
    EXPECT_EQ(chip.memory_bytes_per_second, 8e12);
    info.architecture = "sm_87";
    EXPECT_EQ(chip_of(info).memory_bytes_per_second, 4.8e12) << "an H200's, for what is not in the list";
}

TEST(KnownDevices, OfAmdOpenTheCandidatesOfAmdOnly) {
    ConvProblem p;
    p.d = 3;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    for (const DispatchRow& row : explain(*describe_known_device("gfx950"), p))
        EXPECT_EQ(row.open, row.candidate == "four-wave-gfx950" || row.candidate == "im2col-gfx950") << row.candidate;
}

}  // namespace
}  // namespace kinetograph::conv
