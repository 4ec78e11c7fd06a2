#include <gtest/gtest.h>
#include <kinetograph/engine/graph/handles.hpp>

#include <set>

namespace kinetograph::graph {
namespace {

TEST(Lanes, AreTheEntriesOfOneTable) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kMaxLanes; ++i) {
        const Lane lane = kLanes[i];
        EXPECT_EQ(lane.index(), i);
        EXPECT_EQ(lane.is_vulkan(), i < 3);
        names.insert(to_string(lane));
        EXPECT_EQ(lane, lane.kind() == LaneKind::Accelerator ? Lane::accelerator(lane.device()) : kLanes[i]);
        EXPECT_TRUE(lane.device() == 0 || lane.kind() == LaneKind::Accelerator);
    }
    EXPECT_EQ(names.size(), kMaxLanes);
    EXPECT_EQ(Lane::accelerator(0), Lane::Accelerator);
    EXPECT_EQ(Lane::accelerator(2).kind(), LaneKind::Accelerator);
    EXPECT_EQ(to_string(Lane::accelerator(7)), "accelerator7");
}

TEST(MemoryDomains, AreTheEntriesOfOneTable) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kMaxDomains; ++i) {
        const MemoryDomain domain = kDomains[i];
        EXPECT_EQ(domain.index(), i);
        names.insert(to_string(domain));
        EXPECT_EQ(domain.kind() == MemoryKind::Accelerator, domain == MemoryDomain::accelerator(domain.device()));
        EXPECT_EQ(domain.kind() == MemoryKind::Shared, domain == MemoryDomain::shared(domain.device()));
    }
    EXPECT_EQ(names.size(), kMaxDomains);
    EXPECT_EQ(MemoryDomain::shared(0), MemoryDomain::Shared);
    EXPECT_EQ(MemoryDomain::accelerator(3).device(), 3U);
    EXPECT_EQ(to_string(MemoryDomain::shared(7)), "shared7");
}

}  // namespace
}  // namespace kinetograph::graph
