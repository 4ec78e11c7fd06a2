#include <kinetograph/engine/base/exceptions.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kinetograph {
namespace {

template <class Thrown>
Error error_of(Thrown thrown) {
    const auto done = without_exceptions("a thread", [&]() -> Result<int> { throw thrown; });
    return done ? Error{ErrorCode::InvalidArgument, "none"} : done.error();
}

TEST(Exceptions, BecomeErrorsWhateverTheirType) {
    EXPECT_EQ(error_of(std::bad_alloc()).code, ErrorCode::OutOfMemory);
    EXPECT_EQ(error_of(std::bad_alloc()).message, "a thread: the host is out of memory");
    EXPECT_EQ(error_of(std::runtime_error("its file is gone")).message, "a thread: its file is gone");
    EXPECT_EQ(error_of(42).message, "a thread: it has thrown what is no std::exception");
}

TEST(Exceptions, AreNotMadeOfResults) {
    EXPECT_EQ(without_exceptions("a thread", []() -> Result<int> { return 7; }).value(), 7);
    const auto refused =
        without_exceptions("a thread", []() -> Result<int> { return fail(ErrorCode::NotFound, "no such file"); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "no such file");
}

}  // namespace
}  // namespace kinetograph
