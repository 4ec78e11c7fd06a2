#include <gtest/gtest.h>
#include <kinetograph/engine/base/result.hpp>

namespace kinetograph {
namespace {

Result<int> open(int handle) {
    if (handle < 0) return fail(ErrorCode::NotFound, "handle {} is not open", handle);
    return handle;
}

Result<int> open_for(int handle, std::string_view user) {
    auto opened = open(handle);
    if (!opened) return fail(std::move(opened.error()), user);
    return *opened;
}

TEST(Results, CarryAValueOrACodeAndASentence) {
    EXPECT_EQ(*open(3), 3);
    const auto failed = open(-1);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::NotFound);
    EXPECT_EQ(failed.error().message, "handle -1 is not open");
}

TEST(Results, CallersPutTheirContextInFrontAndKeepTheCode) {
    const auto failed = open_for(-1, "viewer");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::NotFound);
    EXPECT_EQ(failed.error().message, "viewer: handle -1 is not open");
}

TEST(ErrorCodes, HaveNames) {
    EXPECT_EQ(to_string(ErrorCode::OutOfMemory), "OutOfMemory");
    EXPECT_EQ(to_string(ErrorCode::Cancelled), "Cancelled");
}

}  // namespace
}  // namespace kinetograph
