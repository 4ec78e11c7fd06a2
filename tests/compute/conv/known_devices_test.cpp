#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

TEST(KnownDevices, DescribeThemselvesAsTheirDriversWould) {
    for (const KnownDevice& known : known_devices()) {
        const auto info = describe_known_device(known.architecture);
        ASSERT_TRUE(info) << known.architecture;
        EXPECT_EQ(info->kind, known.architecture.starts_with("gfx") ? "hip" : "cuda");
        EXPECT_EQ(info->architecture, known.architecture);
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
}

TEST(KnownDevices, GiveTheRatesOfItsFamilyToAChipThatIsNotInTheList) {
    accel::DeviceInfo info = *describe_known_device("sm_80");
    for (const auto& [architecture, relative] : {std::pair{"sm_87", "sm_86"}, std::pair{"sm_103", "sm_100"},
                                                 std::pair{"sm_121", "sm_120"}, std::pair{"sm_81", "sm_80"}}) {
        info.architecture = architecture;
        const Chip chip = chip_of(info), known = chip_of(*describe_known_device(relative));
        EXPECT_TRUE(chip.rated) << architecture;
        EXPECT_EQ(chip.clocks_per_second, known.clocks_per_second) << architecture;
        EXPECT_EQ(chip.memory_bytes_per_second, known.memory_bytes_per_second) << architecture;
    }
}

TEST(KnownDevices, HaveNoRatesForAChipOfNoKnownFamilyWhichIsNotPredicted) {
    accel::DeviceInfo info = *describe_known_device("sm_90");
    info.architecture = "sm_110";
    EXPECT_FALSE(chip_of(info).rated);
    ConvProblem p;
    p.input = p.weight = p.output = p.normed = Element::BF16;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {.k = 32, .q = 1, .r = 3, .s = 3};
    const auto rows = explain(chip_of(info), p);
    EXPECT_EQ(rows.front().candidate, "implicit-gemm-sm80") << "the first of the list that runs there";
    EXPECT_TRUE(rows.front().open);
    EXPECT_FALSE(rows.front().seconds);
    EXPECT_NE(to_string(rows).find("open, no rates of this chip to predict by"), std::string::npos) << to_string(rows);
    info.kind = "hip";
    info.architecture = "sm_91";
    EXPECT_FALSE(chip_of(info).rated) << "families are of one back end";
}

TEST(KnownDevices, OfAmdOpenTheCandidatesOfAmdOnly) {
    ConvProblem p;
    p.d = 3;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    for (const DispatchRow& row : explain(chip_of(*describe_known_device("gfx950")), p))
        EXPECT_EQ(row.open, row.candidate == "four-wave-gfx950" || row.candidate == "im2col-gfx950") << row.candidate;
}

TEST(KnownDevices, OfSm90GetNoMoreClustersThanTheDriverSaysRunAtOnce) {
    accel::DeviceInfo h200 = describe_known_device("sm_90").value();
    ConvProblem p;
    p.d = 4;
    p.h = 704;
    p.w = 1280;
    p.c_in = 192;
    p.filter = {192, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = p.weight = p.output = p.normed = Element::BF16;
    const auto plan = [&] { return explain_named(chip_of(h200), p, "winograd-time-sm90").value().plan; };
    const auto even = plan();
    EXPECT_EQ(even->clusters_at_once, 66U);
    h200.resident_clusters = {60, 0, 0};
    const auto odd = plan();
    EXPECT_EQ(odd->cluster, 2U);
    EXPECT_EQ(odd->clusters_at_once, 60U);
    EXPECT_GT(odd->seconds, even->seconds);
    std::vector<std::byte*> frames(4, nullptr);
    const std::vector<const std::byte*> input(frames.begin(), frames.end());
    const auto steps = odd->steps({.input = input, .output = std::span(frames).first(2), .residual = {}}, {},
                                  [](const isa::TensorMapDesc&) { return isa::TensorMap{}; });
    EXPECT_EQ(std::get<ConvLaunch>(steps.front()).grid[0], 120U);
}

}  // namespace
}  // namespace kinetograph::conv
