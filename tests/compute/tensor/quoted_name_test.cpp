#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace kinetograph::tensor {
namespace {

TEST(FirstTen, ListsTenThingsAndCountsTheRest) {
    const std::vector<std::string> items = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    EXPECT_EQ(first_ten(std::span(items).first(2)), "a, b");
    EXPECT_EQ(first_ten(std::span(items).first(10)), "a, b, c, d, e, f, g, h, i, j");
    EXPECT_EQ(first_ten(items), "a, b, c, d, e, f, g, h, i, j and 2 more");
}

}  // namespace
}  // namespace kinetograph::tensor
