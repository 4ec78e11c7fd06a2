// TAESD: the tiny autoencoder of Stable Diffusion 1 and 2. Raw latents: scaling_factor of their AutoencoderKL.
#include <kinetograph/compute/families/taesd.hpp>

namespace kinetograph::families {

namespace taesd {

namespace {

using namespace nn::primitive;

/// A list of layers with consecutive numbers: "decoder.layers.0", ...
class Layers {
  public:
    Layers(nn::Network& network, std::string part, std::int64_t dim)
        : network_(network), part_(std::move(part)), dim_(dim) {}

    void skip() { ++index_; }  ///< a layer without parameters
    Conv conv3x3() { return {.key = next(), .c_in = dim_, .filter = {dim_, 1, 3, 3}, .weight_rank = 4}; }
    nn::Value relu(nn::Value x) { return network_.append(x, Activate{conv::Activation::Relu}); }
    nn::Value block(nn::Value x) {
        const std::string key = next();
        nn::Value h = x;
        for (const char* inner : {".conv.0", ".conv.2", ".conv.4"}) {
            if (h != x) h = relu(h);
            h = network_.append(h, Conv{.key = key + inner, .c_in = dim_, .filter = {dim_, 1, 3, 3}, .weight_rank = 4});
        }
        return network_.module(key, relu(network_.add(h, x)));
    }
    nn::Value blocks(nn::Value x, int count) {
        for (int i = 0; i < count; ++i) x = block(x);
        return x;
    }

  private:
    std::string next() { return part_ + ".layers." + std::to_string(index_++); }

    nn::Network& network_;
    const std::string part_;
    const std::int64_t dim_;
    int index_ = 0;
};

nn::Network decoder(const Widths& widths) {
    const End end = end_of(widths.end, 3).value_or(End{});
    nn::Network network(widths.z_dim);
    Layers layers(network, "decoder", widths.dim);
    Conv first = layers.conv3x3();
    first.c_in = widths.z_dim;
    nn::Value x = layers.relu(network.append(network.append(nn::Network::input(), SoftLimit{3}), first));
    layers.skip();
    for (int stage = 0; stage < 3; ++stage) {
        x = network.append(layers.blocks(x, 3), UpsampleSpace{"decoder.upsample." + std::to_string(stage)});
        layers.skip();
        Conv conv = layers.conv3x3();
        conv.bias = false;
        x = network.module(conv.key, network.append(x, conv));
    }
    x = layers.block(x);
    Conv last = layers.conv3x3();  // makes [0, 1]
    last.filter.k = end.channels();
    last.stored = Conv::Stored::Float32;
    last.scale = 2;
    last.shift = -1;
    x = network.module(last.key, network.append(x, last));
    if (end.side > 1) network.append(x, DepthToSpace{"pixel_shuffle", 3});
    return network;
}

nn::Network encoder(const Widths& widths) {
    nn::Network network(3, {nn::End::Pictures, nn::End::Latents});
    Layers layers(network, "encoder", widths.dim);
    Conv first = layers.conv3x3();
    first.c_in = 3;
    nn::Value x = layers.block(network.append(nn::Network::input(), first));
    for (int stage = 0; stage < 3; ++stage) {
        Conv half = layers.conv3x3();
        half.bias = false;
        half.stride = {1, 2, 2};
        x = layers.blocks(network.module(half.key, network.append(x, half)), 3);
    }
    Conv last = layers.conv3x3();
    last.filter.k = widths.z_dim;
    last.stored = Conv::Stored::Float32;
    network.module(last.key, network.append(x, last));
    return network;
}

/// Other numbers of blocks or widths that differ by stage have other tensors.
std::vector<std::pair<std::string, std::string>> config(const Widths& widths) {
    return {{"latent_channels", std::to_string(widths.z_dim)},
            {"act_fn", "relu"},
            {"num_decoder_blocks", "[3,3,3,1]"},
            {"upsampling_scaling_factor", "2"}};
}

}  // namespace

Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim, float raw_mean,
              float raw_std, std::string relative_of) {
    const bool is_relative = !relative_of.empty();
    const auto channels = static_cast<std::size_t>(z_dim);
    return {.name = name,
            .title = std::move(title),
            .diffusers_class = is_relative ? "" : "AutoencoderTiny",
            .latents = std::move(latents),
            .relative_of = std::move(relative_of),
            .in_file_name = is_relative ? name : "",
            .rates = {.time = {1, 1}, .space = {1, 8}},
            .one_latent_frame = true,
            .is_small = true,
            .published = {.dim = 64, .z_dim = z_dim},
            .dim = {"decoder.layers.18.weight", 1},
            .z_dim = {"decoder.layers.0.weight", 1},
            .end = "decoder.layers.18",
            .statistics = {.mean = std::vector<float>(channels, 0.0F), .std = std::vector<float>(channels, 1.0F)},
            .raw = {.mean = std::vector<float>(channels, raw_mean), .std = std::vector<float>(channels, raw_std)},
            .config = config,
            .decoder = decoder,
            .encoder = encoder,
            .encoder_scale = 0.5F,
            .encoder_shift = 0.5F,
            .encoder_dim = {"encoder.layers.0.weight", 0},
            .diffusers_name = [](std::string_view original) { return std::string(original); }};
}

}  // namespace taesd

Family taesd1() { return taesd::family("taesd", "TAESD", "Stable Diffusion", 4, 0, 1 / 0.18215F); }

}  // namespace kinetograph::families
