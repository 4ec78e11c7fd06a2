#include <gtest/gtest.h>

#include <kinetograph/engine/base/host_memory.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <limits>

namespace kinetograph {
namespace {

TEST(HostMemory, HasSomethingLeftAndNotMoreThanAMachineHas) {
    EXPECT_GT(available_host_memory(), 1ULL << 20U);
    EXPECT_LT(available_host_memory(), 1ULL << 50U);
}

TEST(HostMemory, IsBoundByTheTightestControlGroupOfThoseAround) {
    const test::TemporaryFolder root;
    std::filesystem::create_directories(root.path() / "service" / "decoder");
    root.write("service/memory.max", "1000000\n");
    root.write("service/memory.current", "400000\n");
    root.write("service/memory.stat", "anon 300000\ninactive_file 100000\n");
    root.write("service/decoder/memory.max", "max\n");
    root.write("service/decoder/memory.current", "300000\n");
    EXPECT_EQ(left_in_control_group(root.path(), "/service/decoder"), 700'000U);
    root.write("service/decoder/memory.max", "350000\n");
    EXPECT_EQ(left_in_control_group(root.path(), "/service/decoder"), 50'000U);
}

TEST(HostMemory, UnderstandsTheFilesOfVersion1AndKnowsNoLimitWithoutFiles) {
    const test::TemporaryFolder root;
    EXPECT_EQ(left_in_control_group(root.path(), "/"), std::numeric_limits<std::uint64_t>::max());
    root.write("memory.limit_in_bytes", "5000\n");
    root.write("memory.usage_in_bytes", "7000\n");
    EXPECT_EQ(left_in_control_group(root.path(), "/docker/1"), 0U);
}

}  // namespace
}  // namespace kinetograph
