#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Chips, OfferTheMethodsOfANewFolderToItsDevice) {
    const auto rows = explain(describe_known_device("sm_130").value(), problem());
    EXPECT_EQ(rows.front().candidate, "implicit-gemm-sm130");
    EXPECT_TRUE(rows.front().open);
    EXPECT_EQ(rows[1].candidate, "implicit-gemm-sm80") << "which run on every later chip";
}

TEST(Chips, KeepTheMethodsOfANewFolderFromOtherDevices) {
    const auto rows = explain(describe_known_device("sm_90").value(), problem());
    const auto row = std::ranges::find(rows, "implicit-gemm-sm130", &DispatchRow::candidate);
    ASSERT_NE(row, rows.end());
    EXPECT_EQ(row->reason, "wants an sm_130 device, met sm_90");
}

TEST(Chips, AreListedInTheOrderOfTheirFolders) {
    EXPECT_EQ(candidates().front().name, "implicit-gemm-sm130");
    EXPECT_EQ(known_devices().front().architecture, "sm_130");
    EXPECT_EQ(known_devices().back().architecture, "gfx950");
}

}  // namespace
}  // namespace kinetograph::conv
