// Wan 2.2 (TI2V-5B): causal in time, 16 times larger and 4 times more frames, 48 latent channels.
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/families/wan22.hpp>

#include <fmt/format.h>

#include <array>

namespace kinetograph::families {

namespace wan_2_2 {

namespace {

using namespace nn::primitive;

constexpr std::string_view kStages = "decoder.upsamples.", kDownStages = "encoder.downsamples.";

/// The stage's input repeated to the size of its output: its `c_in` channels are repeated to fill 2 x 2 pixels of
/// `c_out` channels, and each frame is repeated if the stage doubles the frames. With equal widths that is
/// nearest-neighbour upsampling.
nn::Value duplicate_up(nn::Network& network, nn::Value x, const std::string& key, std::int64_t c_in, std::int64_t c_out,
                       bool more_frames) {
    if (more_frames) x = network.append(x, RepeatFrames{2}, nn::Steps::AfterFirst);
    const nn::Value larger =
        c_in == c_out ? network.append(x, UpsampleSpace{key}) : network.append(x, DepthToSpace{key, c_out});
    return network.module(key, larger);
}

/// Stages are 4, 4, 2 and 1 times `dim` wide. Around each of the first three goes a shortcut without parameters. The
/// last layer makes 12 channels: 2 x 2 pixels. Source: wan/modules/vae2_2.py, Wan-Video/Wan2.2.
nn::Network decoder(const Widths& widths) {
    const std::int64_t dim = widths.dim, widest = 4 * dim;
    const wan::Time time = wan::time_of(widths);
    nn::Network network(widths.z_dim);
    nn::Value x = wan::middle(network, widths.z_dim, widest, time);

    struct Stage {
        std::int64_t c_in, c_out;
        bool more_pixels, more_frames;
    };
    const std::array<Stage, 4> stages{{{widest, widest, true, true},
                                       {widest, widest, true, true},
                                       {widest, 2 * dim, true, false},
                                       {2 * dim, dim, false, false}}};
    for (std::size_t i = 0; i < stages.size(); ++i) {
        Stage stage = stages[i];
        stage.more_frames = stage.more_frames && time == wan::Time::Causal;
        const std::string key = fmt::format("{}{}", kStages, i);
        const auto shortcut = [&, input = x] {
            return duplicate_up(network, input, key + ".avg_shortcut", stage.c_in, stage.c_out, stage.more_frames);
        };
        // If the widths are equal, the first block's sum overwrites the stage's input in memory, so the shortcut is
        // made before it. Otherwise the input stays until it is needed again, and the shortcut, which is as large as
        // the stage's output, is made last.
        const bool early = stage.more_pixels && stage.c_in == stage.c_out;
        nn::Value skip = early ? shortcut() : x;
        for (int block = 0; block < 3; ++block)
            x = wan::residual_block(network, x, fmt::format("{}.upsamples.{}", key, block),
                                    block == 0 ? stage.c_in : stage.c_out, stage.c_out, time);
        if (!stage.more_pixels) continue;
        if (!early) skip = shortcut();
        const std::string up = key + ".upsamples.3";
        if (stage.more_frames) x = wan::upsample_time(network, x, up, stage.c_out);
        x = network.module(key, network.add(wan::upsample_space(network, x, up, stage.c_out, stage.c_out), skip));
    }
    const End end = end_of(widths.end, 12).value_or(End{2});
    x = wan::head(network, x, dim, end.channels(), time);
    if (end.side > 1) network.append(x, DepthToSpace{"unpatchify", 3, conv::PixelOrder::ColumnsFirst});
    return network;
}

/// Means of the stage's input in the size of its output: of `c_in` channels and blocks of `frames` x `side` x `side`
/// values, groups in this order, zeros before a clip's first frame. Exact in bf16, as groups are powers of two.
nn::Value average_down(nn::Network& network, nn::Value x, const std::string& key, std::int64_t c_in, std::int64_t c_out,
                       std::int64_t frames, std::int64_t side, wan::Time time) {
    Conv first{.key = key + ".avg_shortcut",
               .c_in = c_in,
               .filter = {c_out, 1, side, side},
               .bias = false,
               .averages = frames,
               .stride = {1, side, side}};
    if (frames == 1 || time == wan::Time::None) return network.append(x, first);
    Conv later = first;
    first.key += ".first";
    later.filter.q = later.stride.d = frames;
    return network.append(network.append(x, first, nn::Steps::First), later, nn::Steps::AfterFirst);
}

/// Pictures to moments; stages are 1, 2, 4 and 4 times `dim` wide. The first layer reads blocks of 2 x 2 pixels. Around
/// each stage goes a shortcut without parameters. Source: wan/modules/vae2_2.py, Wan-Video/Wan2.2.
nn::Network encoder(const Widths& widths) {
    const std::int64_t dim = widths.dim;
    const wan::Time time = wan::time_of(widths);
    const bool causal = time == wan::Time::Causal;
    nn::Network network(3, {nn::End::Pictures, nn::End::Moments});
    nn::Value x = network.append(nn::Network::input(), Conv{.key = "encoder.conv1",
                                                            .c_in = 3,
                                                            .filter = {dim, causal ? 3 : 1, 6, 6},
                                                            .weight_rank = causal ? 5 : 4,
                                                            .block = 2,
                                                            .block_order = conv::PixelOrder::ColumnsFirst,
                                                            .stride = {1, 2, 2}});
    network.module("encoder.conv1", x);

    const auto stages = wan::down_stages(dim);
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const wan::DownStage& stage = stages[i];
        const std::string key = fmt::format("{}{}", kDownStages, i);
        const std::int64_t side = stage.fewer_pixels ? 2 : 1;
        const bool same_width = stage.c_in == stage.c_out;
        // Of equal widths the first block's sum overwrites the stage's input in memory: the shortcut is made before it,
        // or, if it is no smaller than that, the blocks run on a copy.
        const auto shortcut = [&, input = x] {
            return average_down(network, input, key, stage.c_in, stage.c_out, stage.fewer_frames ? 2 : 1, side, time);
        };
        const bool early = same_width && stage.fewer_pixels;
        const nn::Value skip = early ? shortcut() : x;
        if (same_width && !early) x = average_down(network, x, key + ".copy", stage.c_in, stage.c_in, 1, 1, time);
        for (int block = 0; block < 2; ++block)
            x = wan::residual_block(network, x, fmt::format("{}.downsamples.{}", key, block),
                                    block == 0 ? stage.c_in : stage.c_out, stage.c_out, time);
        if (stage.fewer_pixels)
            x = wan::downsample(network, x, key + ".downsamples.2", stage.c_out, stage.fewer_frames && causal);
        x = network.module(key, early ? network.add(x, skip) : network.add(shortcut(), x));
    }
    wan::moments(network, x, 4 * dim, widths.z_dim, time);
    return network;
}

/// Source: scripts/convert_wan_to_diffusers.py, huggingface/diffusers.
std::string diffusers_name(std::string_view original) {
    if (original.starts_with(kDownStages)) {
        // encoder.downsamples.B.downsamples.J.leaf, with one digit each
        constexpr std::string_view kInStage = "0.downsamples.0.";
        const std::string_view rest = original.substr(kDownStages.size()), leaf = rest.substr(kInStage.size());
        const char stage = rest.front(), position = rest[kInStage.size() - 2];
        if (position == '2') return fmt::format("encoder.down_blocks.{}.downsampler.{}", stage, leaf);
        return fmt::format("encoder.down_blocks.{}.resnets.{}.{}", stage, position, wan::diffusers_name_in_block(leaf));
    }
    if (!original.starts_with(kStages)) return wan::diffusers_name(original);
    // decoder.upsamples.B.upsamples.J.leaf, with one digit each
    constexpr std::string_view kWithin = "0.upsamples.0.";
    const std::string_view rest = original.substr(kStages.size()), leaf = rest.substr(kWithin.size());
    const char stage = rest.front(), position = rest[kWithin.size() - 2];
    if (position == '3') return fmt::format("decoder.up_blocks.{}.upsampler.{}", stage, leaf);
    return fmt::format("decoder.up_blocks.{}.resnets.{}.{}", stage, position, wan::diffusers_name_in_block(leaf));
}

std::vector<std::pair<std::string, std::string>> config(const Widths& widths) {
    return {{"decoder_base_dim", std::to_string(widths.dim)},
            {"z_dim", std::to_string(widths.z_dim)},
            {"dim_mult", "[1,2,4,4]"},
            {"num_res_blocks", "2"},
            {"temperal_downsample", "[false,true,true]"},
            {"is_residual", "true"},
            {"out_channels", std::to_string(widths.end == 0 ? 12 : widths.end)},
            {"patch_size", "2"}};
}

}  // namespace

LatentStatistics statistics() {
    return {.mean = {-0.2289F, -0.0052F, -0.1323F, -0.2339F, -0.2799F, 0.0174F,  0.1838F,  0.1557F,  -0.1382F, 0.0542F,
                     0.2813F,  0.0891F,  0.1570F,  -0.0098F, 0.0375F,  -0.1825F, -0.2246F, -0.1207F, -0.0698F, 0.5109F,
                     0.2665F,  -0.2108F, -0.2158F, 0.2502F,  -0.2055F, -0.0322F, 0.1109F,  0.1567F,  -0.0729F, 0.0899F,
                     -0.2799F, -0.1230F, -0.0313F, -0.1649F, 0.0117F,  0.0723F,  -0.2839F, -0.2083F, -0.0520F, 0.3748F,
                     0.0152F,  0.1957F,  0.1433F,  -0.2944F, 0.3573F,  -0.0548F, -0.1681F, -0.0667F},
            .std = {0.4765F, 1.0364F, 0.4514F, 1.1677F, 0.5313F, 0.4990F, 0.4818F, 0.5013F, 0.8158F, 1.0344F,
                    0.5894F, 1.0901F, 0.6885F, 0.6165F, 0.8454F, 0.4978F, 0.5759F, 0.3523F, 0.7135F, 0.6804F,
                    0.5833F, 1.4146F, 0.8986F, 0.5659F, 0.7069F, 0.5338F, 0.4889F, 0.4917F, 0.4069F, 0.4999F,
                    0.6866F, 0.4093F, 0.5709F, 0.6065F, 0.6415F, 0.4944F, 0.5726F, 1.2042F, 0.5458F, 1.6887F,
                    0.3971F, 1.0600F, 0.3943F, 0.5537F, 0.5444F, 0.4089F, 0.7468F, 0.7744F}};
}

}  // namespace wan_2_2

namespace {

/// Of `decoder`, a stage's blocks.
std::vector<std::string> blocks(int stage) {
    std::vector<std::string> keys;
    for (int block = 0; block < 3; ++block)
        keys.push_back(fmt::format("decoder.upsamples.{}.upsamples.{}.residual.", stage, block));
    return keys;
}

}  // namespace

Family wan22() {
    return {.name = "wan2.2",
            .title = "Wan 2.2",
            .diffusers_class = "AutoencoderKLWan",
            .latents = "Wan 2.2",
            .rates = {.time = {1, 4}, .space = {1, 16}},
            .published = {.dim = 256, .z_dim = 48},
            .dim = {"decoder.head.0.gamma", 0},
            .z_dim = {"conv2.bias", 0},
            .end = "decoder.head.2",
            .is_causal = true,
            .statistics = wan_2_2::statistics(),
            .config = wan_2_2::config,
            .decoder = wan_2_2::decoder,
            .encoder = wan_2_2::encoder,
            .encoder_dim = {"encoder.conv1.weight", 0},
            .published_encoder_dim = 160,
            .bytes = wan::byte_recipes({blocks(1), blocks(2), blocks(3)}),
            .diffusers_name = wan_2_2::diffusers_name};
}

}  // namespace kinetograph::families
