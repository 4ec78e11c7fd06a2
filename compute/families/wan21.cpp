// Wan 2.1: causal in time, 8 times larger and 4 times more frames, 16 latent channels.
#include <kinetograph/compute/families/wan21.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace kinetograph::families {

namespace wan {

namespace {

using namespace nn::primitive;

constexpr int weight_rank(Time time) { return time == Time::Causal ? 5 : 4; }

Conv pointwise(std::string key, std::int64_t c_in, std::int64_t c_out, Time time) {
    return {.key = std::move(key), .c_in = c_in, .filter = {c_out, 1, 1, 1}, .weight_rank = weight_rank(time)};
}

Conv causal(std::string key, std::int64_t c_in, std::int64_t c_out, Time time) {
    const std::int64_t q = time == Time::Causal ? 3 : 1;
    return {.key = std::move(key), .c_in = c_in, .filter = {c_out, q, 3, 3}, .weight_rank = weight_rank(time)};
}

/// Within one frame: the checkpoint's tensor has no time axis.
Conv within_frame(std::string key, std::int64_t c_in, std::int64_t c_out, std::int64_t side) {
    return {.key = std::move(key), .c_in = c_in, .filter = {c_out, 1, side, side}, .weight_rank = 4};
}

nn::Value norm_silu(nn::Network& network, nn::Value x, std::string key, std::int64_t channels, Time time) {
    const Norm norm{std::move(key), channels, weight_rank(time) - 1};
    return network.append(network.append(x, norm), Activate{conv::Activation::Silu});
}

}  // namespace

nn::Value residual_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t c_in,
                         std::int64_t c_out, Time time) {
    nn::Value h = norm_silu(network, x, key + ".residual.0", c_in, time);
    h = network.append(h, causal(key + ".residual.2", c_in, c_out, time));
    h = norm_silu(network, h, key + ".residual.3", c_out, time);
    h = network.append(h, causal(key + ".residual.6", c_out, c_out, time));
    const nn::Value skip = c_in == c_out ? x : network.append(x, pointwise(key + ".shortcut", c_in, c_out, time));
    return network.module(key, network.add(h, skip));
}

nn::Value attention_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels) {
    nn::Value h = network.append(x, Norm{key + ".norm", channels, 3});
    Conv to_qkv = within_frame(key + ".to_qkv", channels, 3 * channels, 1);
    to_qkv.projected_by = key + ".proj";
    h = network.append(network.append(h, to_qkv), Attention{key + ".attention"});
    return network.module(key, network.add(h, x));
}

nn::Value upsample_space(nn::Network& network, nn::Value x, const std::string& key, std::int64_t c_in,
                         std::int64_t c_out) {
    const nn::Value doubled = network.append(x, UpsampleSpace{key + ".upsample"});
    return network.append(doubled, within_frame(key + ".resample.1", c_in, c_out, 3));
}

nn::Value upsample_time(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels) {
    const Conv conv{.key = key + ".time_conv", .c_in = channels, .filter = {2 * channels, 3, 1, 1}};
    const nn::Value both = network.append(x, conv, nn::Steps::AfterFirst);
    return network.module(conv.key, network.append(both, TimeShuffle{2}, nn::Steps::AfterFirst));
}

nn::Value middle(nn::Network& network, std::int64_t z_dim, std::int64_t widest, Time time) {
    nn::Value x = network.module("conv2", network.append(nn::Network::input(), pointwise("conv2", z_dim, z_dim, time)));
    x = network.module("decoder.conv1", network.append(x, causal("decoder.conv1", z_dim, widest, time)));
    x = residual_block(network, x, "decoder.middle.0", widest, widest, time);
    x = attention_block(network, x, "decoder.middle.1", widest);
    return residual_block(network, x, "decoder.middle.2", widest, widest, time);
}

nn::Value head(nn::Network& network, nn::Value x, std::int64_t dim, std::int64_t channels, Time time) {
    x = norm_silu(network, x, "decoder.head.0", dim, time);
    Conv conv = causal("decoder.head.2", dim, channels, time);
    conv.stored = Conv::Stored::Float32;
    return network.module(conv.key, network.append(x, conv));
}

std::array<DownStage, 4> down_stages(std::int64_t dim) {
    return {{{dim, dim, true, false},
             {dim, 2 * dim, true, true},
             {2 * dim, 4 * dim, true, true},
             {4 * dim, 4 * dim, false, false}}};
}

nn::Value downsample(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels,
                     bool fewer_frames) {
    Conv half = within_frame(key + ".resample.1", channels, channels, 3);
    half.stride = {1, 2, 2};
    half.edges = Conv::Edges::After;
    x = network.append(x, half);
    if (!fewer_frames) return x;
    return network.append(x,
                          Conv{.key = key + ".time_conv",
                               .c_in = channels,
                               .filter = {channels, 3, 1, 1},
                               .stride = {2, 1, 1},
                               .keeps_skipped = true},
                          nn::Steps::AfterFirst);
}

void moments(nn::Network& network, nn::Value x, std::int64_t widest, std::int64_t z_dim, Time time) {
    const std::int64_t channels = 2 * z_dim;
    x = residual_block(network, x, "encoder.middle.0", widest, widest, time);
    x = attention_block(network, x, "encoder.middle.1", widest);
    x = residual_block(network, x, "encoder.middle.2", widest, widest, time);
    x = norm_silu(network, x, "encoder.head.0", widest, time);
    x = network.module("encoder.head.2", network.append(x, causal("encoder.head.2", widest, channels, time)));
    Conv quantise = pointwise("conv1", channels, channels, time);
    quantise.stored = Conv::Stored::Float32;
    network.module(quantise.key, network.append(x, quantise));
}

nn::Network decoder(const Widths& widths) {
    const std::int64_t dim = widths.dim, widest = 4 * dim;
    const Time time = time_of(widths);
    nn::Network network(widths.z_dim);
    nn::Value x = middle(network, widths.z_dim, widest, time);

    struct Stage {
        std::int64_t c_in, c_out;
        bool more_pixels, more_frames;  // then the width is halved
    };
    const std::array<Stage, 4> stages{{{widest, widest, true, true},
                                       {widest / 2, widest, true, true},
                                       {widest / 2, 2 * dim, true, false},
                                       {dim, dim, false, false}}};
    int index = 0;
    const auto next_key = [&index] { return "decoder.upsamples." + std::to_string(index++); };
    for (const Stage& stage : stages) {
        for (int block = 0; block < 3; ++block)
            x = residual_block(network, x, next_key(), block == 0 ? stage.c_in : stage.c_out, stage.c_out, time);
        if (!stage.more_pixels) continue;
        const std::string key = next_key();
        if (stage.more_frames && time == Time::Causal) x = upsample_time(network, x, key, stage.c_out);
        x = network.module(key, upsample_space(network, x, key, stage.c_out, stage.c_out / 2));
    }
    const End end = end_of(widths.end, 3).value_or(End{});
    x = head(network, x, dim, end.channels(), time);
    if (end.side > 1) network.append(x, DepthToSpace{"pixel_shuffle", 3});
    return network;
}

nn::Network encoder(const Widths& widths) {
    using nn::End;
    const std::int64_t dim = widths.dim;
    const Time time = time_of(widths);
    nn::Network network(3, {End::Pictures, End::Moments});
    nn::Value x = network.append(nn::Network::input(), causal("encoder.conv1", 3, dim, time));
    network.module("encoder.conv1", x);

    int index = 0;
    const auto next_key = [&index] { return "encoder.downsamples." + std::to_string(index++); };
    for (const DownStage& stage : down_stages(dim)) {
        x = residual_block(network, x, next_key(), stage.c_in, stage.c_out, time);
        x = residual_block(network, x, next_key(), stage.c_out, stage.c_out, time);
        if (!stage.fewer_pixels) continue;
        const std::string key = next_key();
        const bool fewer_frames = stage.fewer_frames && time == Time::Causal;
        x = network.module(key, downsample(network, x, key, stage.c_out, fewer_frames));
    }
    moments(network, x, 4 * dim, widths.z_dim, time);
    return network;
}

std::vector<nn::ByteRecipe> byte_recipes(const std::array<std::vector<std::string>, 3>& stages) {
    using Folding = nn::ByteRecipe::Folding;
    const auto from = [&stages](std::size_t first) {
        std::vector<std::string> layers;
        for (std::size_t stage = first; stage < stages.size(); ++stage)
            layers.insert(layers.end(), stages[stage].begin(), stages[stage].end());
        return layers;
    };
    return {{"half-folded", from(0), Folding::Half},
            {"one-step", from(0), Folding::None},
            {"two-stages", from(1), Folding::Half},
            {"last-stage", from(2), Folding::Half}};
}

std::vector<std::pair<std::string, std::string>> config(const Widths& widths) {
    return {{"base_dim", std::to_string(widths.dim)},
            {"z_dim", std::to_string(widths.z_dim)},
            {"dim_mult", "[1,2,4,4]"},
            {"num_res_blocks", "2"},
            {"temperal_downsample", "[false,true,true]"},
            {"is_residual", "false"}};
}

LatentStatistics statistics() {
    return {.mean = {-0.7571F, -0.7089F, -0.9113F, 0.1075F, -0.1745F, 0.9653F, -0.1517F, 1.5508F, 0.4134F, -0.0715F,
                     0.5517F, -0.3632F, -0.1922F, -0.9497F, 0.2503F, -0.2921F},
            .std = {2.8184F, 1.4541F, 2.3275F, 2.6558F, 1.2196F, 1.7708F, 2.6052F, 2.0743F, 3.2687F, 2.1526F, 2.8652F,
                    1.5579F, 1.6382F, 1.1253F, 2.8251F, 1.9160F}};
}

namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

/// Of both networks, after "decoder." or "encoder.".
constexpr std::array<Renaming, 6> kModules = {{{"conv1.", "conv_in."},
                                               {"middle.0.", "mid_block.resnets.0."},
                                               {"middle.1.", "mid_block.attentions.0."},
                                               {"middle.2.", "mid_block.resnets.1."},
                                               {"head.0.", "norm_out."},
                                               {"head.2.", "conv_out."}}};
/// Beside them.
constexpr std::array<Renaming, 2> kQuantisers = {{{"conv1.", "quant_conv."}, {"conv2.", "post_quant_conv."}}};

constexpr std::array<Renaming, 5> kInResidualBlock = {{{"residual.0.", "norm1."},
                                                       {"residual.2.", "conv1."},
                                                       {"residual.3.", "norm2."},
                                                       {"residual.6.", "conv2."},
                                                       {"shortcut.", "conv_shortcut."}}};

/// `text` with its first matching prefix of `renamings` replaced.
template <std::size_t N>
std::string renamed(std::string_view text, const std::array<Renaming, N>& renamings) {
    for (const auto& [from, to] : renamings) {
        if (text.starts_with(from)) return std::string(to).append(text.substr(from.size()));
    }
    return std::string(text);
}

}  // namespace

std::string diffusers_name_in_block(std::string_view original) { return renamed(original, kInResidualBlock); }

namespace {

/// "upsamples.7.resample.1.weight" as the number and what follows it.
std::pair<int, std::string_view> numbered(std::string_view text, std::string_view folder) {
    int number = 0;
    const char* digits = text.data() + folder.size();
    const char* dot = std::from_chars(digits, text.data() + text.size(), number).ptr;
    return {number, text.substr(static_cast<std::size_t>(dot + 1 - text.data()))};
}

/// After "decoder." or "encoder.".
std::string diffusers_name_in_network(std::string_view name) {
    constexpr std::string_view kUpsamples = "upsamples.", kDownsamples = "downsamples.", kMiddle = "middle.0.";
    if (name.starts_with(kDownsamples)) {  // consecutive numbers in both
        const auto [block, leaf] = numbered(name, kDownsamples);
        return fmt::format("down_blocks.{}.{}", block, diffusers_name_in_block(leaf));
    }
    if (name.starts_with(kUpsamples)) {
        // The original numbers the blocks of all stages consecutively: three residual blocks and an upsampler a stage.
        const auto [index, leaf] = numbered(name, kUpsamples);
        const int stage = index / 4, position = index % 4;
        if (position == 3) return fmt::format("up_blocks.{}.upsamplers.0.{}", stage, leaf);
        return fmt::format("up_blocks.{}.resnets.{}.{}", stage, position, diffusers_name_in_block(leaf));
    }
    if (!name.starts_with("middle.")) return renamed(name, kModules);
    return renamed(name.substr(0, kMiddle.size()), kModules) + diffusers_name_in_block(name.substr(kMiddle.size()));
}

}  // namespace

std::string diffusers_name(std::string_view original) {
    for (const std::string_view network : {"decoder.", "encoder."})
        if (original.starts_with(network))
            return std::string(network) + diffusers_name_in_network(original.substr(network.size()));
    return renamed(original, kQuantisers);
}

}  // namespace wan

namespace {

/// Of `decoder`, a stage's blocks.
std::vector<std::string> blocks(int first, int last) {
    std::vector<std::string> keys;
    for (int block = first; block <= last; ++block)
        keys.push_back(fmt::format("decoder.upsamples.{}.residual.", block));
    return keys;
}

}  // namespace

Family wan21() {
    return {.name = "wan2.1",
            .title = "Wan 2.1",
            .diffusers_class = "AutoencoderKLWan",
            .latents = "Wan 2.1",
            .rates = {.time = {1, 4}, .space = {1, 8}},
            .fps = 16,
            .published = {.dim = 96, .z_dim = 16},
            .dim = {"decoder.head.0.gamma", 0},
            .z_dim = {"conv2.bias", 0},
            .end = "decoder.head.2",
            .is_causal = true,
            .statistics = wan::statistics(),
            .config = wan::config,
            .decoder = wan::decoder,
            .encoder = wan::encoder,
            .encoder_dim = {"encoder.conv1.weight", 0},
            .bytes = wan::byte_recipes({blocks(4, 6), blocks(8, 10), blocks(12, 14)}),
            .diffusers_name = wan::diffusers_name};
}

}  // namespace kinetograph::families
