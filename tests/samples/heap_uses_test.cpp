#include <kinetograph/samples/viewer/heap_uses.hpp>

#include <gtest/gtest.h>

#include <set>

namespace kinetograph::viewer {
namespace {

TEST(HeapUses, GiveTwoHeapsOfOneKindNamesOfTheirOwn) {
    const std::vector<vulkan::MemoryHeap> heaps{
        {.device_local = true, .bytes = 24U << 20U, .used = 3U << 20U, .budget = 20U << 20U},
        {.device_local = false, .bytes = 64U << 20U, .used = 1U << 20U, .budget = 0},  // its budget is not told
        {.device_local = false, .bytes = 64U << 20U, .used = 5U << 20U, .budget = 60U << 20U},
        {.device_local = true, .bytes = 1U << 20U, .used = 7, .budget = 1U << 20U}};
    const auto uses = heap_uses("a GPU", heaps);
    ASSERT_EQ(uses.size(), 3U);
    std::set<std::string> names;
    for (const profile::MemoryUse& use : uses) {
        EXPECT_EQ(use.device, "a GPU");
        names.insert(use.what);
    }
    EXPECT_EQ(names, (std::set<std::string>{"device heap 0", "host heap 2", "device heap 3"}));
    EXPECT_EQ(uses[0].bytes, 3U << 20U);
    EXPECT_EQ(uses[0].budget, 20U << 20U);
    EXPECT_EQ(uses[2].bytes, 7U);
}

}  // namespace
}  // namespace kinetograph::viewer
