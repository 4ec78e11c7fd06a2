// Which passes primitives become: the whole expectation is one line.
#include <kinetograph/compute/nn/fusion.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kinetograph::nn {
namespace {

using namespace primitive;

std::string norm_of(const FusedNorm& norm) {
    return norm.norm->key + (norm.activation == conv::Activation::Silu ? "+silu" : "");
}

/// "conv: 2x a/2 +silu +3 & n": a convolution that doubles its input, stores halves as frames, adds value 3, and stores
/// its norm beside (&) or instead (>).
std::string in_words(const Pass& pass) {
    if (const auto* norm = std::get_if<NormPass>(&pass)) return "norm " + norm_of(norm->norm);
    if (const auto* attention = std::get_if<AttentionPass>(&pass))
        return "attention " + attention->attention->key +
               (attention->norm ? fmt::format(" +{} & {}", *attention->residual, norm_of(*attention->norm)) : "");
    if (const auto* own = std::get_if<OperatorPass>(&pass))
        return (std::holds_alternative<UpsampleSpace>(*own->primitive) ? "upsample " : "") + own->key() +
               (own->repeat > 1 ? fmt::format(" *{}", own->repeat) : "");
    if (const auto* drop = std::get_if<DropPass>(&pass)) return fmt::format("drop {}", drop->frames);
    if (const auto* kept = std::get_if<KeepPass>(&pass)) return "keep " + kept->conv->key;
    const auto& conv = std::get<ConvPass>(pass);
    std::string text = conv.conv->key;
    if (conv.upsample) text = "2x " + text;
    if (conv.shuffle > 1) text += fmt::format("/{}", conv.shuffle);
    if (conv.activation != conv::Activation::None) text += fmt::format("+{}", conv::to_string(conv.activation));
    if (conv.negative_slope != 0) text += fmt::format("({})", conv.negative_slope);
    if (conv.residual) text += fmt::format(" +{}", *conv.residual);
    if (conv.norm) text += (conv.stored == conv::Norm::Beside ? " & " : " > ") + norm_of(*conv.norm);
    return text;
}

std::string passes_of(const Network& network, const FusionOptions& options = {}) {
    const auto passes = fuse(network, options);
    if (!passes) return passes.error().message;
    std::string text;
    for (const Pass& pass : *passes) text += (text.empty() ? "" : " | ") + in_words(pass);
    return text;
}

Conv pointwise(const std::string& key) { return {.key = key, .c_in = 8, .filter = {8, 1, 1, 1}}; }

TEST(Fusion, MakesOnePassOfAConvolutionAndTheNormAndActivationThatAloneReadIt) {
    Network network(8);
    Value x = network.append(Network::input(), pointwise("a"));
    x = network.append(network.append(x, Norm{"n", 8}), Activate{});
    network.append(x, pointwise("b"));
    EXPECT_EQ(passes_of(network), "a > n+silu | b");
}

TEST(Fusion, StoresTheNormBesideWhatIsReadAgain) {
    Network network(8);
    const Value x = network.append(Network::input(), pointwise("a"));
    const Value h = network.append(network.append(x, Norm{"n", 8}), pointwise("b"));
    network.add(h, x);
    EXPECT_EQ(passes_of(network), "a & n | b +1");
}

TEST(Fusion, RunsAConvolutionThatAddsOnceBothOperandsAreThere) {
    Network network(8);
    const Value h = network.append(Network::input(), pointwise("a"));
    const Value skip = network.append(Network::input(), pointwise("shortcut"));
    const Value sum = network.add(h, skip);
    network.append(sum, Norm{"n", 8});
    EXPECT_EQ(passes_of(network), "shortcut | a +2 & n");
}

TEST(Fusion, DoublesOnTheWayIntoA2dConvolution) {
    Network network(8);
    const Value doubled = network.append(Network::input(), UpsampleSpace{"up"});
    network.append(doubled, pointwise("a"));
    EXPECT_EQ(passes_of(network), "2x a");
}

TEST(Fusion, DoublesInAPassOfItsOwnWhatIsReadTwiceOrByAConvolutionInTime) {
    Network twice(8);
    const Value doubled = twice.append(Network::input(), UpsampleSpace{"up"});
    twice.add(twice.append(doubled, pointwise("a")), doubled);
    EXPECT_EQ(passes_of(twice), "upsample up | a +1");
    Network causal(8);
    causal.append(causal.append(Network::input(), UpsampleSpace{"up"}),
                  Conv{.key = "a", .c_in = 8, .filter = {8, 3, 3, 3}});
    EXPECT_EQ(passes_of(causal), "upsample up | a");
}

TEST(Fusion, LeavesOutWhatTheFirstStepSkips) {
    Network network(8);
    const Conv twice{.key = "time", .c_in = 8, .filter = {16, 3, 1, 1}};
    Value x = network.append(Network::input(), twice, Steps::AfterFirst);
    x = network.append(x, TimeShuffle{2}, Steps::AfterFirst);
    network.append(x, pointwise("b"));
    EXPECT_EQ(passes_of(network), "time/2 | b");
    EXPECT_EQ(passes_of(network, {.first_step = true}), "b");
    EXPECT_EQ(std::get<ConvPass>(fuse(network, {.first_step = true})->front()).input, Network::input());
}

TEST(Fusion, KeepsWhatASkippedConvolutionThatKeepsWouldHaveRead) {
    Network network(8);
    const Conv half{.key = "time", .c_in = 8, .filter = {8, 3, 1, 1}, .stride = {2, 1, 1}, .keeps_skipped = true};
    Value x = network.append(Network::input(), Conv{.key = "a", .c_in = 8, .filter = {8, 1, 3, 3}});
    x = network.append(x, half, Steps::AfterFirst);
    x = network.append(network.append(x, Norm{"n", 8}), Activate{});
    network.append(x, pointwise("b"));
    EXPECT_EQ(passes_of(network), "a | time > n+silu | b");
    EXPECT_EQ(passes_of(network, {.first_step = true}), "a & n+silu | keep time | b");
    const auto first = fuse(network, {.first_step = true}).value();
    EXPECT_EQ(input_of(first[1]), std::get<ConvPass>(first[0]).output);
}

TEST(Fusion, BeginsWithANormThatFollowsNoConvolution) {
    Network network(8);
    const Value x = network.append(network.append(Network::input(), Norm{"n", 8}), Activate{});
    network.append(network.append(x, pointwise("a")), Activate{});
    EXPECT_EQ(passes_of(network), "norm n+silu | a+silu");
}

TEST(Fusion, RepeatsFramesInThePassThatMakesThemLarger) {
    Network network(8);
    const Value twice = network.append(Network::input(), RepeatFrames{2}, Steps::AfterFirst);
    const Value nearest = network.append(twice, UpsampleSpace{"up"});
    const Value shuffled = network.append(twice, DepthToSpace{"shuffle", 8});
    network.add(network.append(nearest, pointwise("a")), shuffled);
    EXPECT_EQ(passes_of(network), "upsample up *2 | shuffle *2 | a +3");
    EXPECT_EQ(passes_of(network, {.first_step = true}), "shuffle | 2x a +3");
    EXPECT_EQ(extents(network, {3, 1, 1, 8}, false).back().frames, 6);
    EXPECT_EQ(extents(network, {3, 1, 1, 8}, true).back().frames, 3);
}

TEST(Fusion, RefusesALastPrimitiveThatAFirstStepLeavesOut) {
    Network network(8);
    network.append(network.append(Network::input(), pointwise("a")), pointwise("b"), Steps::AfterFirst);
    EXPECT_EQ(fuse(network, {.first_step = true}).error().message,
              "the network's last primitive does not run in every step");
    EXPECT_TRUE(fuse(network, {}));
}

TEST(Fusion, RefusesRepeatedFramesThatNothingMakesLarger) {
    Network network(8);
    network.append(network.append(Network::input(), RepeatFrames{2}), pointwise("a"));
    EXPECT_EQ(passes_of(network),
              "primitive 0 of the network: repeated frames are read by something that takes no repeated frames");
}

TEST(Fusion, TakesAReluAfterTheSumAndAnyActivationAfterAShuffle) {
    Network network(8);
    Value x = network.append(network.append(Network::input(), pointwise("a")), Activate{conv::Activation::Relu});
    x = network.append(network.add(network.append(x, pointwise("b")), x), Activate{conv::Activation::Relu, 0.25F});
    x = network.append(network.append(x, Conv{.key = "c", .c_in = 8, .filter = {16, 1, 1, 1}}), TimeShuffle{2});
    network.append(x, Activate{conv::Activation::Relu, 0.5F});
    EXPECT_EQ(passes_of(network), "a+relu | b+relu(0.25) +2 | c/2+relu(0.5)");
    const auto passes = fuse(network, {}).value();
    const auto stored = storages(network, Element::F32);
    EXPECT_EQ(conv_problem(std::get<ConvPass>(passes[1]), {1, 1, 1, 8}, stored).negative_slope, 0.25F);
}

TEST(Fusion, LeavesTheSoftLimitToWhatStoresTheInputAndDropsFramesWithoutAPass) {
    Network network(8);
    Value x = network.append(network.append(Network::input(), SoftLimit{3}), pointwise("a"));
    x = network.append(x, DropFrames{1}, Steps::First);
    network.append(x, pointwise("b"));
    EXPECT_EQ(passes_of(network, {.first_step = true}), "a | drop 1 | b");
    EXPECT_EQ(passes_of(network), "a | b");
    EXPECT_EQ(input_limit(network), 3.0F);
    EXPECT_EQ(std::get<ConvPass>(fuse(network, {})->front()).input, stored_input(network));
    EXPECT_EQ(extents(network, {4, 1, 1, 8}, true).back().frames, 3);
    EXPECT_EQ(extents(network, {4, 1, 1, 8}, false).back().frames, 4);
}

TEST(Fusion, LeavesAFirstPointwiseConvolutionThatOnlyConvolutionsReadToWhatStoresTheInput) {
    Network network(8);
    const Value x = network.append(Network::input(), pointwise("map"));
    const Value y = network.append(x, pointwise("a"));
    network.add(network.append(x, pointwise("b")), y);
    EXPECT_EQ(passes_of(network), "a | b +2");
    EXPECT_EQ(input_map(network), std::get_if<Conv>(&network.nodes().front().primitive));
    EXPECT_EQ(std::get<ConvPass>(fuse(network, {})->front()).input, stored_input(network));
    network.append(x, Norm{"n", 8});
    EXPECT_EQ(input_map(network), nullptr);
    EXPECT_EQ(stored_input(network), Network::input());
    EXPECT_EQ(passes_of(network), "map & n | a | b +2");

    Network wider(8);
    wider.append(wider.append(Network::input(), Conv{.key = "map", .c_in = 8, .filter = {16, 1, 1, 1}}),
                 Conv{.key = "a", .c_in = 16, .filter = {8, 1, 1, 1}});
    EXPECT_EQ(passes_of(wider), "map | a");
    Network read_again(8);
    const Value z = read_again.append(Network::input(), pointwise("map"));
    read_again.add(read_again.append(z, pointwise("a")), Network::input());
    EXPECT_EQ(passes_of(read_again), "map | a +0");
    Network alone(8);
    alone.append(Network::input(), pointwise("map"));
    EXPECT_EQ(passes_of(alone), "map");
}

const std::string kNoSum =
    "a sum's first operand is made by no convolution, nor by an attention whose sum a norm reads";

TEST(Fusion, AddsAndNormsInAnAttentionsPassWhereANormReadsItsSum) {
    const auto attended = [](bool normed) {
        Network network(8);
        const Value qkv = network.append(network.append(Network::input(), Norm{"n", 8}),
                                         Conv{.key = "qkv", .c_in = 8, .filter = {24, 1, 1, 1}});
        const Value sum = network.add(network.append(qkv, primitive::Attention{"a"}), Network::input());
        if (normed) network.append(network.append(sum, Norm{"m", 8}), Activate{});
        return passes_of(network);
    };
    EXPECT_EQ(attended(true), "norm n | qkv | attention a +0 & m+silu");
    EXPECT_EQ(attended(false), "primitive 3 of the network: " + kNoSum);
}

TEST(Fusion, RefusesASumAfterARelu) {
    Network network(8);
    const Value x = network.append(Network::input(), pointwise("a"));
    network.add(network.append(network.append(x, pointwise("b")), Activate{conv::Activation::Relu}), x);
    EXPECT_EQ(passes_of(network), "primitive 3 of the network: " + kNoSum);
}

TEST(Fusion, RefusesASumThatNoConvolutionBegins) {
    Network network(8);
    network.add(Network::input(), Network::input());
    EXPECT_EQ(passes_of(network), "primitive 0 of the network: " + kNoSum);
}

}  // namespace
}  // namespace kinetograph::nn
