#include <gtest/gtest.h>
#include <kinetograph/engine/base/result.hpp>

#include <memory>

namespace kinetograph {
namespace {

Result<int> open(int handle) {
    if (handle < 0) return fail(ErrorCode::NotFound, "handle {} is not open", handle);
    return handle;
}

Result<int> sum_of_open(int first, int second) {
    KG_CHECK(open(first));
    KG_TRY(int sum, open(first));
    KG_TRY(const int other, open(second));
    sum += other;
    return sum;
}

Result<std::unique_ptr<int>> boxed(int handle) {
    std::unique_ptr<int> box;
    KG_TRY(box, open(handle).map([](int value) { return std::make_unique<int>(value); }));
    return box;
}

Result<int> open_for(int handle, std::string_view user) {
    KG_CHECK_IN(user, open(handle));
    KG_TRY_IN(user, const int opened, open(handle / 2));
    return opened;
}

TEST(Results, CarryAValueOrACodeAndASentence) {
    EXPECT_EQ(*open(3), 3);
    const auto failed = open(-1);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::NotFound);
    EXPECT_EQ(failed.error().message, "handle -1 is not open");
}

TEST(Results, CallersPutTheirContextInFrontAndKeepTheCode) {
    EXPECT_EQ(*open_for(6, "viewer"), 3);
    const auto failed = open_for(-1, "viewer");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::NotFound);
    EXPECT_EQ(failed.error().message, "viewer: handle -1 is not open");
}

TEST(Results, TryTakesTheValueOutOrReturnsTheError) {
    EXPECT_EQ(*sum_of_open(3, 4), 7);
    EXPECT_EQ(sum_of_open(3, -4).error().message, "handle -4 is not open");
    EXPECT_EQ(sum_of_open(-3, -4).error().message, "handle -3 is not open");
    EXPECT_EQ(**boxed(5), 5);
    EXPECT_EQ(boxed(-5).error().code, ErrorCode::NotFound);
}

TEST(ErrorCodes, HaveNames) {
    EXPECT_EQ(to_string(ErrorCode::OutOfMemory), "OutOfMemory");
    EXPECT_EQ(to_string(ErrorCode::Cancelled), "Cancelled");
}

}  // namespace
}  // namespace kinetograph
