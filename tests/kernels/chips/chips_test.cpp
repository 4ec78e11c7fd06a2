#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/tests/source_tree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace kinetograph::conv {
namespace {

ConvProblem problem() {
    ConvProblem p;
    p.dtype = p.output_dtype = Element::BF16;
    p.d = 3;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    return p;
}

/// Whether the folder has a file of that name; "*_configs.hpp": one that ends so, of any kernel.
bool has(const std::filesystem::path& folder, std::string_view name) {
    if (!std::filesystem::exists(folder)) return false;
    if (!name.starts_with('*')) return std::filesystem::exists(folder / name);
    return std::ranges::any_of(std::filesystem::directory_iterator(folder), [&](const auto& entry) {
        return entry.path().filename().string().ends_with(name.substr(1));
    });
}

/// Each in the chip's folder, or in the folder that the vendor's chips share.
TEST(Chips, HaveTheSameFiles) {
    std::istringstream folders(KINETOGRAPH_CHIP_FOLDERS);
    std::size_t count = 0;
    for (std::string folder; folders >> folder; ++count)
        for (const std::string_view name : {"gates.hpp", "gates.cpp", "*_configs.hpp", "cost.hpp", "cost.cpp",
                                            "plan.hpp", "plan.cpp", "pack.hpp", "pack.cpp"})
            EXPECT_TRUE(has(test::source_tree() / folder, name) || has(test::source_tree() / folder / "../host", name))
                << folder << " has no " << name;
    EXPECT_EQ(count + 2, chips().size()) << "sm130 and gfx1300 are only in this test";
}

TEST(Chips, OfferTheMethodsOfANewFolderToItsDevice) {
    const auto rows = explain(chip_of(describe_known_device("sm_130").value()), problem());
    EXPECT_EQ(rows.front().candidate, "implicit-gemm-sm130");
    EXPECT_TRUE(rows.front().open);
    EXPECT_EQ(rows[1].candidate, "implicit-gemm-sm80") << "which run on every later chip";
}

TEST(Chips, OfferTheMethodsOfASecondAmdFolderToItsDevice) {
    const auto rows = explain(chip_of(describe_known_device("gfx1300").value()), problem());
    EXPECT_EQ(rows.front().candidate, "implicit-gemm-gfx1300");
    EXPECT_TRUE(rows.front().open);
    const auto other = std::ranges::find(rows, "four-wave-gfx950", &DispatchRow::candidate);
    ASSERT_NE(other, rows.end());
    EXPECT_EQ(other->reason, "wants a gfx950 device, met gfx1300");
}

TEST(Chips, KeepTheMethodsOfANewFolderFromOtherDevices) {
    const auto rows = explain(chip_of(describe_known_device("sm_90").value()), problem());
    const auto row = std::ranges::find(rows, "implicit-gemm-sm130", &DispatchRow::candidate);
    ASSERT_NE(row, rows.end());
    EXPECT_EQ(row->reason, "wants an sm_130 device, met sm_90");
}

TEST(Chips, OfferTheAttentionOfANewFolderToItsDevice) {
    const auto& method = std::get<OpMethodOf<AttentionProblem>>(chips().front().operators().front());
    EXPECT_EQ(method.name, "tiles-sm130");
    EXPECT_TRUE(method.runs_on(chip_of(describe_known_device("sm_130").value())));
    EXPECT_FALSE(method.runs_on(chip_of(describe_known_device("sm_90").value())));
}

TEST(Chips, AreListedInTheOrderOfTheirFolders) {
    EXPECT_EQ(candidates().front().name, "implicit-gemm-sm130");
    EXPECT_EQ(known_devices().front().architecture, "sm_130");
    EXPECT_EQ(known_devices().back().architecture, "gfx1300");
}

}  // namespace
}  // namespace kinetograph::conv
