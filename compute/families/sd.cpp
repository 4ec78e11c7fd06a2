// Stable Diffusion 1 and 2, and the networks of all AutoencoderKLs.
#include <kinetograph/compute/families/autoencoder_kl.hpp>

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>

namespace kinetograph::families {

namespace kl {

namespace {

using namespace nn::primitive;

constexpr std::int64_t kGroups = 32;
constexpr int kStages = 4;

/// Of norms over `dim` and its multiples: fewer than published if `dim` is no multiple of that.
std::int64_t groups_of(std::int64_t dim) { return std::gcd(kGroups, dim); }

Conv convolution(std::string key, std::int64_t c_in, std::int64_t c_out, std::int64_t side) {
    return {.key = std::move(key), .c_in = c_in, .filter = {c_out, 1, side, side}, .weight_rank = 4};
}

/// Appends the blocks of one network.
class Blocks {
  public:
    Blocks(nn::Network& network, std::int64_t groups) : network_(network), groups_(groups) {}

    nn::Value conv(nn::Value x, const Conv& conv) { return network_.module(conv.key, network_.append(x, conv)); }
    nn::Value norm(nn::Value x, std::string key, std::int64_t channels, conv::Activation activation) {
        return network_.append(
            x, GroupNorm{.key = std::move(key), .channels = channels, .groups = groups_, .activation = activation});
    }
    nn::Value residual(nn::Value x, const std::string& key, std::int64_t c_in, std::int64_t c_out) {
        nn::Value h = norm(x, key + ".norm1", c_in, conv::Activation::Silu);
        h = network_.append(h, convolution(key + ".conv1", c_in, c_out, 3));
        h = norm(h, key + ".norm2", c_out, conv::Activation::Silu);
        h = network_.append(h, convolution(key + ".conv2", c_out, c_out, 3));
        const nn::Value skip =
            c_in == c_out ? x : network_.append(x, convolution(key + ".nin_shortcut", c_in, c_out, 1));
        return network_.module(key, network_.add(h, skip));
    }
    nn::Value attention(nn::Value x, const std::string& key, std::int64_t channels) {
        nn::Value h = norm(x, key + ".norm", channels, conv::Activation::None);
        Conv qkv = convolution(key + ".qkv", channels, 3 * channels, 1);
        qkv.parts = {key + ".q", key + ".k", key + ".v"};
        h = network_.append(network_.append(h, qkv), Attention{key + ".attention"});
        h = network_.append(h, convolution(key + ".proj_out", channels, channels, 1));
        return network_.module(key, network_.add(h, x));
    }
    nn::Value middle(nn::Value x, const std::string& key, std::int64_t channels) {
        x = residual(x, key + ".block_1", channels, channels);
        x = attention(x, key + ".attn_1", channels);
        return residual(x, key + ".block_2", channels, channels);
    }
    nn::Value head(nn::Value x, const std::string& key, std::int64_t channels, std::int64_t made, bool is_last) {
        x = norm(x, key + ".norm_out", channels, conv::Activation::Silu);
        Conv out = convolution(key + ".conv_out", channels, made, 3);
        if (is_last) out.stored = Conv::Stored::Float32;
        return conv(x, out);
    }

  private:
    nn::Network& network_;
    const std::int64_t groups_;
};

/// Channels of the stages, from the one of whole pictures on.
std::array<std::int64_t, kStages> stages(std::int64_t dim) { return {dim, 2 * dim, 4 * dim, 4 * dim}; }

nn::Network decoder(const Widths& widths) {
    const auto wide = stages(widths.dim);
    const End end = end_of(widths.end, 3).value_or(End{});
    nn::Network network(widths.z_dim);
    Blocks blocks(network, groups_of(widths.dim));
    nn::Value x = nn::Network::input();
    if (widths.quantiser) x = blocks.conv(x, convolution("post_quant_conv", widths.z_dim, widths.z_dim, 1));
    x = blocks.conv(x, convolution("decoder.conv_in", widths.z_dim, wide.back(), 3));
    x = blocks.middle(x, "decoder.mid", wide.back());
    std::int64_t channels = wide.back();
    for (int stage = kStages - 1; stage >= 0; --stage) {
        const std::string key = fmt::format("decoder.up.{}", stage);
        for (int block = 0; block < 3; ++block, channels = wide[stage])
            x = blocks.residual(x, fmt::format("{}.block.{}", key, block), channels, wide[stage]);
        if (stage == 0) continue;
        x = network.append(x, UpsampleSpace{key + ".upsample"});
        x = blocks.conv(x, convolution(key + ".upsample.conv", channels, channels, 3));
    }
    x = blocks.head(x, "decoder", channels, end.channels(), true);
    if (end.side > 1) network.append(x, DepthToSpace{"pixel_shuffle", 3});
    return network;
}

nn::Network encoder(const Widths& widths) {
    const auto wide = stages(widths.dim);
    const std::int64_t moments = 2 * widths.z_dim;
    nn::Network network(3, {nn::End::Pictures, nn::End::Moments});
    Blocks blocks(network, groups_of(widths.dim));
    nn::Value x = blocks.conv(nn::Network::input(), convolution("encoder.conv_in", 3, wide.front(), 3));
    std::int64_t channels = wide.front();
    for (int stage = 0; stage < kStages; ++stage) {
        const std::string key = fmt::format("encoder.down.{}", stage);
        for (int block = 0; block < 2; ++block, channels = wide[stage])
            x = blocks.residual(x, fmt::format("{}.block.{}", key, block), channels, wide[stage]);
        if (stage + 1 == kStages) continue;
        Conv half = convolution(key + ".downsample.conv", channels, channels, 3);
        half.stride = {1, 2, 2};
        half.edges = Conv::Edges::After;
        x = blocks.conv(x, half);
    }
    x = blocks.middle(x, "encoder.mid", channels);
    x = blocks.head(x, "encoder", channels, moments, !widths.quantiser);
    if (!widths.quantiser) return network;
    Conv quantise = convolution("quant_conv", moments, moments, 1);
    quantise.stored = Conv::Stored::Float32;
    blocks.conv(x, quantise);
    return network;
}

using Renaming = std::pair<std::string_view, std::string_view>;

/// Replaces the first of the prefixes that `text` has, and appends what follows it to `to`. Whether there is one.
template <std::size_t N>
bool rename(std::string_view& text, std::string& to, const std::array<Renaming, N>& renamings) {
    for (const auto& [from, name] : renamings) {
        if (!text.starts_with(from)) continue;
        to += name;
        text.remove_prefix(from.size());
        return true;
    }
    return false;
}

constexpr std::array<Renaming, 3> kMiddle{{{"mid.block_1.", "mid_block.resnets.0."},
                                           {"mid.block_2.", "mid_block.resnets.1."},
                                           {"mid.attn_1.", "mid_block.attentions.0."}}};
constexpr std::array<Renaming, 2> kInStage{{{"upsample.", "upsamplers.0."}, {"downsample.", "downsamplers.0."}}};
constexpr std::array<Renaming, 8> kLeaves{{{"nin_shortcut.", "conv_shortcut."},
                                           {"norm_out.", "conv_norm_out."},
                                           {"norm.", "group_norm."},
                                           {"q.", "to_q."},
                                           {"k.", "to_k."},
                                           {"v.", "to_v."},
                                           {"proj_out.", "to_out.0."},
                                           {"block.", "resnets."}}};

/// "decoder.up.3.block.0.norm1.weight" is "decoder.up_blocks.0.resnets.0.norm1.weight": diffusers numbers the stages in
/// the order in which they run. Source: convert_ldm_vae_checkpoint, diffusers/loaders/single_file_utils.py.
std::string diffusers_name(std::string_view original) {
    constexpr std::array<Renaming, 2> kNetworks{{{"decoder.", "decoder."}, {"encoder.", "encoder."}}};
    constexpr std::string_view kUp = "up.", kDown = "down.";
    std::string name;
    if (!rename(original, name, kNetworks)) return std::string(original);
    const bool is_up = original.starts_with(kUp);
    if (is_up || original.starts_with(kDown)) {
        original.remove_prefix(is_up ? kUp.size() : kDown.size());
        const int stage = original.front() - '0';
        name += is_up ? fmt::format("up_blocks.{}.", kStages - 1 - stage) : fmt::format("down_blocks.{}.", stage);
        original.remove_prefix(2);
        if (!rename(original, name, kInStage) && rename(original, name, kLeaves)) {  // "block.0."
            name += original.substr(0, 2);
            original.remove_prefix(2);
        }
    } else {
        rename(original, name, kMiddle);
    }
    rename(original, name, kLeaves);
    return name.append(original);
}

}  // namespace

/// Other stages, and stages of other widths, have other tensors.
std::vector<std::pair<std::string, std::string>> config(const Widths& widths) {
    const auto wide = stages(widths.dim);
    return {{"latent_channels", std::to_string(widths.z_dim)},
            {"block_out_channels", fmt::format("[{},{},{},{}]", wide[0], wide[1], wide[2], wide[3])},
            {"layers_per_block", "2"},
            {"norm_num_groups", std::to_string(groups_of(widths.dim))},
            {"act_fn", "silu"},
            {"mid_block_add_attention", "true"},
            {"use_post_quant_conv", widths.quantiser ? "true" : "false"}};
}

Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim, float scale, float shift,
              std::string relative_of) {
    constexpr std::int64_t kWithQuantiser = 4;  // latent channels
    const bool is_relative = !relative_of.empty();
    const auto channels = static_cast<std::size_t>(z_dim);
    return {.name = name,
            .title = std::move(title),
            .diffusers_class = is_relative ? "" : "AutoencoderKL",
            .latents = std::move(latents),
            .relative_of = std::move(relative_of),
            .in_file_name = is_relative ? name : "",
            .rates = {.time = {1, 1}, .space = {1, 8}},
            .one_latent_frame = true,
            .published = {.dim = 128, .z_dim = z_dim, .quantiser = z_dim == kWithQuantiser},
            .dim = {"decoder.conv_out.weight", 1},
            .z_dim = {"decoder.conv_in.weight", 1},
            .end = "decoder.conv_out",
            .quantiser = "post_quant_conv",
            .statistics = {.mean = std::vector<float>(channels, shift), .std = std::vector<float>(channels, 1 / scale)},
            .config = config,
            .decoder = decoder,
            .encoder = encoder,
            .encoder_dim = {"encoder.conv_in.weight", 0},
            .encoder_quantiser = "quant_conv",
            .diffusers_name = diffusers_name};
}

}  // namespace kl

Family sd() { return kl::family("sd", "Stable Diffusion", "Stable Diffusion", 4, 0.18215F, 0); }

}  // namespace kinetograph::families
