// What is folded over a network: parameters, sizes, rates.
#include <kinetograph/compute/nn/network.hpp>

#include <gtest/gtest.h>

namespace kinetograph::nn {
namespace {

using namespace primitive;

Network doubling_in_time_and_space() {
    Network network(4);
    const Conv twice{.key = "time", .c_in = 4, .filter = {8, 3, 1, 1}};
    Value x = network.append(Network::input(), twice, Steps::AfterFirst);
    x = network.append(x, TimeShuffle{2}, Steps::AfterFirst);
    x = network.append(x, UpsampleSpace{"up"});
    x = network.append(x, Conv{.key = "space", .c_in = 4, .filter = {6, 1, 3, 3}, .weight_rank = 4});
    x = network.append(x, Norm{"norm", 6, 3});
    network.append(x, Activate{});
    return network;
}

TEST(Networks, ListTheParametersOfTheirPrimitivesInTheCheckpointsShapes) {
    const std::vector<Parameter> parameters = nn::parameters(doubling_in_time_and_space());
    std::string listed;
    for (const Parameter& parameter : parameters) listed += parameter.name + tensor::to_string(parameter.shape) + ' ';
    EXPECT_EQ(listed,
              "time.weight[8, 4, 3, 1, 1] time.bias[8] space.weight[6, 4, 3, 3] space.bias[6] norm.gamma[6, 1, 1] ");
}

TEST(Networks, PassWhatTheFirstStepLeavesOut) {
    const Network network = doubling_in_time_and_space();
    const Extent first = extents(network, {2, 3, 5, 4}, true).back();
    EXPECT_EQ((std::array{first.frames, first.height, first.width, first.channels}),
              (std::array<std::int64_t, 4>{2, 6, 10, 6}));
    const Extent later = extents(network, {2, 3, 5, 4}, false).back();
    EXPECT_EQ((std::array{later.frames, later.height, later.width, later.channels}),
              (std::array<std::int64_t, 4>{4, 6, 10, 6}));
    EXPECT_EQ(rates(network), (Rates{.time = {1, 2}, .space = {1, 2}}));
}

TEST(Network, StoresWhatIsMadeOfAValueAsTheValue) {
    Network network(8);
    Conv sums{.key = "sums", .c_in = 8, .filter = {8, 1, 1, 1}, .stored = Conv::Stored::Float32};
    Value x = network.append(Network::input(), Conv{.key = "a", .c_in = 8, .filter = {8, 1, 1, 1}});
    x = network.append(network.append(x, sums), UpsampleSpace{"up"});
    network.append(x, Conv{.key = "b", .c_in = 8, .filter = {3, 1, 1, 1}});
    const conv::Storage bf16 = Element::BF16, f32 = Element::F32;
    EXPECT_EQ(storages(network, bf16), (std::vector{bf16, bf16, f32, f32, f32}));
}

}  // namespace
}  // namespace kinetograph::nn
