// TAEW2.1: the tiny decoder of Wan 2.1's latents, as a diffusion model makes them.
#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

namespace taehv {

namespace {

using namespace nn::primitive;

Conv conv3x3(std::string key, std::int64_t c_in, std::int64_t c_out) {
    return {.key = std::move(key), .c_in = c_in, .filter = {c_out, 1, 3, 3}, .weight_rank = 4};
}

nn::Value activate(nn::Network& network, nn::Value x, Variant variant) {
    return network.append(x, Activate{conv::Activation::Relu, variant.negative_slope});
}

std::string module_key(int index) { return "decoder." + std::to_string(index); }

/// Nearest 2x, a 1x1 convolution to `growth` times the frames, 3x3: modules `index` to `index` + 2.
nn::Value grow(nn::Network& network, nn::Value x, int index, std::int64_t growth, std::int64_t c_in,
               std::int64_t c_out) {
    Conv conv = conv3x3(module_key(index + 2), c_in, growth * c_out);
    conv.bias = false;
    conv.grown_by = module_key(index + 1) + ".conv";
    conv.growth = growth;
    x = network.append(x, UpsampleSpace{module_key(index)});
    x = network.append(x, conv);
    return growth == 1 ? x : network.append(x, TimeShuffle{growth});
}

}  // namespace

nn::Value memory_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels,
                       Variant variant) {
    Conv with_past = conv3x3(key + ".conv.0", channels, channels);
    with_past.filter.q = 2;
    with_past.taps = Conv::Taps::InputChannels;
    nn::Value h = activate(network, network.append(x, with_past), variant);
    h = activate(network, network.append(h, conv3x3(key + ".conv.2", channels, channels)), variant);
    h = network.append(h, conv3x3(key + ".conv.4", channels, channels));
    return network.module(key, activate(network, network.add(h, x), variant));
}

namespace {

/// Up to the activation before the last layer.
nn::Value trunk(nn::Network& network, const Widths& widths, Variant variant) {
    const std::int64_t dim = widths.dim, z_dim = widths.z_dim;
    nn::Value x = network.module("decoder.0", network.append(nn::Network::input(), SoftLimit{3}));
    x = network.module("decoder.2",
                       activate(network, network.append(x, conv3x3("decoder.1", z_dim, 4 * dim)), variant));
    for (const int index : {3, 4, 5}) x = memory_block(network, x, module_key(index), 4 * dim, variant);
    x = network.module("decoder.8", grow(network, x, 6, 1, 4 * dim, 2 * dim));
    for (const int index : {9, 10, 11}) x = memory_block(network, x, module_key(index), 2 * dim, variant);
    x = network.module("decoder.14", grow(network, x, 12, 2, 2 * dim, dim));
    for (const int index : {15, 16, 17}) x = memory_block(network, x, module_key(index), dim, variant);
    x = network.append(x, DropFrames{1}, nn::Steps::First);
    x = network.module("decoder.21", activate(network, grow(network, x, 18, 2, dim, dim), variant));
    return network.append(x, DropFrames{1}, nn::Steps::First);
}

nn::Value head(nn::Network& network, nn::Value x, std::int64_t dim, std::int64_t channels, Variant variant) {
    Conv conv = conv3x3("decoder.22", dim, channels);
    conv.stored = Conv::Stored::Float32;
    if (variant.range == Range::ZeroToOne) {
        conv.scale = 2;
        conv.shift = -1;
    }
    return network.module(conv.key, network.append(x, conv));
}

/// With a last layer that makes blocks of pixels if `end` says so.
nn::Network whole(const Widths& widths, End end, Variant variant) {
    nn::Network network(widths.z_dim);
    const nn::Value x = head(network, trunk(network, widths, variant), widths.dim, end.channels(), variant);
    if (end.side > 1) network.append(x, DepthToSpace{"pixel_shuffle", 3});
    return network;
}

}  // namespace

nn::Network decoder(const Widths& widths) { return whole(widths, end_of(widths.end, 3).value_or(End{}), {}); }

nn::Network decoder_of_blocks(const Widths& widths, Variant variant) {
    return whole(widths, end_of(widths.end, 12).value_or(End{2}), variant);
}

nn::Network decoder_of_blocks(const Widths& widths) { return decoder_of_blocks(widths, {}); }

namespace {

std::string encoder_key(int index) { return "encoder." + std::to_string(index); }

nn::Network encoder_of(const Widths& widths, End end) {
    const std::int64_t dim = widths.dim, side = end.side;
    nn::Network network(3, {nn::End::Pictures, nn::End::Latents});
    Conv first = conv3x3(encoder_key(0), 3, dim);
    first.block = first.stride.h = first.stride.w = side;
    first.filter.r = first.filter.s = 3 * side;
    nn::Value x = network.append(network.append(nn::Network::input(), first), Activate{conv::Activation::Relu});
    network.module("encoder.1", x);
    int index = 2;
    for (const std::int64_t frames : {2, 2, 1}) {
        Conv half = conv3x3(encoder_key(index + 1), dim, dim);
        half.bias = false;
        half.filter.q = frames;
        half.pooled_by = encoder_key(index) + ".conv";
        half.stride = {frames, 2, 2};
        x = network.module(half.key, network.append(x, half));
        index += 2;
        for (int block = 0; block < 3; ++block) x = memory_block(network, x, encoder_key(index++), dim);
    }
    Conv last = conv3x3(encoder_key(index), dim, widths.z_dim);
    last.stored = Conv::Stored::Float32;
    network.module(last.key, network.append(x, last));
    return network;
}

}  // namespace

nn::Network encoder(const Widths& widths) { return encoder_of(widths, end_of(widths.end, 3).value_or(End{})); }

nn::Network encoder_of_blocks(const Widths& widths) {
    return encoder_of(widths, end_of(widths.end, 12).value_or(End{2}));
}

Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim,
              nn::Network (*decoder)(const Widths& widths), nn::Network (*encoder)(const Widths& widths)) {
    const auto channels = static_cast<std::size_t>(z_dim);
    return {.name = std::move(name),
            .title = std::move(title),
            .diffusers_class = "",
            .latents = std::move(latents),
            .rates = nn::rates(decoder({1, z_dim})),
            .is_small = true,
            .published = {.dim = 64, .z_dim = z_dim},
            .dim = {"decoder.20.weight", 0},
            .z_dim = {"decoder.1.weight", 1},
            .end = "decoder.22",
            .statistics = {.mean = std::vector<float>(channels, 0.0F), .std = std::vector<float>(channels, 1.0F)},
            .decoder = decoder,
            .encoder = encoder,
            .encoder_scale = 0.5F,
            .encoder_shift = 0.5F,
            .encoder_dim = {"encoder.0.weight", 0},
            .diffusers_name = [](std::string_view original) { return std::string(original); }};
}

}  // namespace taehv

Family taew21() {
    Family family = taehv::family("taew2.1", "TAEW2.1", "Wan 2.1", 16, taehv::decoder, taehv::encoder);
    family.fps = 16;
    family.raw = wan::statistics();
    return family;
}

}  // namespace kinetograph::families
