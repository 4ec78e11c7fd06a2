#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <kinetograph/engine/base/host_pages.hpp>
#include <limits>

namespace kinetograph {
namespace {

bool are_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte value) { return value == std::byte{0}; });
}

TEST(HostPages, AreWholeZeroedAndTheOperatingSystemsWithoutAnAllocator) {
    const auto pages = HostPages::allocate(5000);
    ASSERT_TRUE(pages);
    EXPECT_EQ(pages->bytes().size(), 2 * kHostPageBytes);
    EXPECT_TRUE(are_zero(pages->bytes()));
    EXPECT_TRUE(HostPages::allocate(0)->bytes().empty());
    EXPECT_FALSE(HostPages::allocate(std::numeric_limits<std::uint64_t>::max()));
}

TEST(HostPages, ComeFromTheApplicationsAllocatorZeroedAndGoBackOnce) {
    std::size_t held = 0;
    int calls = 0;
    HostAllocator allocator{.allocate =
                                [&](std::size_t bytes, std::size_t alignment) {
                                    ++calls;
                                    held += bytes;
                                    void* memory = std::aligned_alloc(alignment, bytes);
                                    std::memset(memory, 1, bytes);
                                    return memory;
                                },
                            .release =
                                [&](void* memory, std::size_t bytes) {
                                    held -= bytes;
                                    std::free(memory);
                                }};
    {
        auto pages = HostPages::allocate(5000, allocator);
        ASSERT_TRUE(pages);
        EXPECT_TRUE(are_zero(pages->bytes()));
        HostPages moved = *std::move(pages);
        EXPECT_EQ(held, 2 * kHostPageBytes);
    }
    EXPECT_EQ(held, 0U);
    EXPECT_EQ(calls, 1);
    allocator.allocate = [](std::size_t, std::size_t) -> void* { return nullptr; };
    EXPECT_FALSE(HostPages::allocate(1, allocator));
}

}  // namespace
}  // namespace kinetograph
