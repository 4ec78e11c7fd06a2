#include <gtest/gtest.h>
#include <sys/resource.h>

#include <kinetograph/engine/base/host_memory.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <limits>
#include <sstream>

namespace kinetograph {
namespace {

TEST(HostMemory, HasSomethingLeftAndNotMoreThanAMachineHas) {
    EXPECT_GT(available_host_memory(), 1ULL << 20U);
    EXPECT_LT(available_host_memory(), 1ULL << 50U);
}

/// Exits with 0 if half of a limit of 1 PiB is left, no matter how much a sanitizer has taken.
void leave_address_space() {
    constexpr std::uint64_t kLimit = 1ULL << 50U;
    const bool is_free = left_of_address_space() == std::numeric_limits<std::uint64_t>::max();
    const rlimit limit{kLimit, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
    std::_Exit(is_free && left_of_address_space() < kLimit && left_of_address_space() > kLimit / 2 ? 0 : 1);
}

TEST(HostMemory, IsBoundByTheLimitOfTheAddressSpace) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(leave_address_space(), ::testing::ExitedWithCode(0), "");
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

TEST(HostMemory, FindsTheGroupThatHasAMemoryController) {
    const auto group_of = [](const char* lines) {
        std::istringstream groups(lines);
        return memory_group(groups);
    };
    EXPECT_EQ(group_of("0::/user/decoder\n"), "/user/decoder");
    EXPECT_EQ(group_of("0:no group\n9:cpu,cpuacct:/c\n8:hugetlb,memory:/docker/1\n0::/\n"), "/docker/1");
    EXPECT_EQ(group_of("9:cpu:/c\n"), "/");
    EXPECT_EQ(group_of(""), "/");
}

TEST(HostMemory, UnderstandsTheFilesOfVersion1AndKnowsNoLimitWithoutFiles) {
    const test::TemporaryFolder root;
    EXPECT_EQ(left_in_control_group(root.path(), "/"), std::numeric_limits<std::uint64_t>::max());
    root.write("memory.limit_in_bytes", "5000\n");
    EXPECT_EQ(left_in_control_group(root.path(), "/"), std::numeric_limits<std::uint64_t>::max());
    root.write("memory.usage_in_bytes", "7000\n");
    EXPECT_EQ(left_in_control_group(root.path(), "/docker/1"), 0U);
}

}  // namespace
}  // namespace kinetograph
