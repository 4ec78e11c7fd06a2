#include <kinetograph/compute/conv/filter_layout.hpp>

#include <gtest/gtest.h>

#include <map>

namespace kinetograph::conv {
namespace {

ConvProblem grouped(std::int64_t q) {
    ConvProblem p;
    p.c_in = 6;
    p.groups = 2;
    p.filter = {4, q, 3, 2};
    return p;
}

/// The element of [k][c][q][r][s], told by its indices.
float code(std::int64_t k, std::int64_t c, std::int64_t q, std::int64_t r, std::int64_t s) {
    return static_cast<float>((((k * 10 + c) * 10 + q) * 10 + r) * 10 + s);
}

/// `order` names the axes from the slowest to the fastest.
std::vector<float> stored(const ConvProblem& p, std::string_view order) {
    const auto size = [&p](char axis) -> std::int64_t {
        switch (axis) {
            case 'k':
                return p.filter.k;
            case 'c':
                return p.c_in / p.groups;
            case 'q':
                return p.filter.q;
            case 'r':
                return p.filter.r;
            default:
                return p.filter.s;
        }
    };
    std::vector<float> values;
    for (std::int64_t i = 0; i < p.filter_elements(); ++i) {
        std::int64_t rest = i;
        std::map<char, std::int64_t> at;
        for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
            at[*axis] = rest % size(*axis);
            rest /= size(*axis);
        }
        values.push_back(code(at['k'], at['c'], at['q'], at['r'], at['s']));
    }
    return values;
}

TEST(FilterLayoutTest, OrdersEveryLayoutAsParametersAre) {
    const std::vector<float> wanted = stored(grouped(3), "kcqrs");
    EXPECT_EQ(in_parameter_order(grouped(3), FilterLayout::KCQRS, wanted).value(), wanted);
    EXPECT_EQ(in_parameter_order(grouped(3), FilterLayout::KQRSC, stored(grouped(3), "kqrsc")).value(), wanted);
    EXPECT_EQ(in_parameter_order(grouped(3), FilterLayout::QRSCF, stored(grouped(3), "qrsck")).value(), wanted);
    EXPECT_EQ(in_parameter_order(grouped(1), FilterLayout::RSCF, stored(grouped(1), "rsck")).value(),
              stored(grouped(1), "kcqrs"));
}

TEST(FilterLayoutTest, SaysWhichFilterItCannotOrder) {
    const std::vector<float> filter = stored(grouped(3), "qrsck");
    const auto flat = in_parameter_order(grouped(3), FilterLayout::RSCF, filter);
    ASSERT_FALSE(flat);
    EXPECT_EQ(flat.error().code, ErrorCode::InvalidArgument);
    EXPECT_TRUE(flat.error().message.ends_with("a filter in RSCF has one temporal tap, not 3")) << flat.error().message;
    const auto shorter = in_parameter_order(grouped(3), FilterLayout::QRSCF, std::span(filter).first(7));
    ASSERT_FALSE(shorter);
    EXPECT_TRUE(shorter.error().message.ends_with("the filter to reorder has 7 elements, wanted 216"))
        << shorter.error().message;
}

}  // namespace
}  // namespace kinetograph::conv
