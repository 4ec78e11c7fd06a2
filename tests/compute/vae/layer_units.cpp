#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/tests/compute/vae/layer_units.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

using tensor::DType;

constexpr const char* kFile = "wan21_units.safetensors";

struct Cut {
    const char* name;
    std::vector<std::int64_t> frames;
};

/// A network of one block, and the name under which the file keeps its tensors.
struct Unit {
    std::string key;
    nn::Network network;
};

Unit residual_unit() {
    Unit unit{"res", nn::Network(48)};
    families::wan::residual_block(unit.network, nn::Network::input(), unit.key, 48, 32);
    return unit;
}

Unit temporal_upsampling_unit() {
    Unit unit{"up3d", nn::Network(32)};
    const nn::Value twice = families::wan::upsample_time(unit.network, nn::Network::input(), unit.key, 32);
    families::wan::upsample_space(unit.network, twice, unit.key, 32, 16);
    return unit;
}

Unit spatial_upsampling_unit() {
    Unit unit{"up2d", nn::Network(64)};
    families::wan::upsample_space(unit.network, nn::Network::input(), unit.key, 64, 32);
    return unit;
}

/// With a norm of the sum, as decoders have it.
Unit attention_unit() {
    Unit unit{"attn", nn::Network(96)};
    const nn::Value sum = families::wan::attention_block(unit.network, nn::Network::input(), unit.key, 96);
    unit.network.append(sum, nn::primitive::Norm{"attn.norm", 96, 3});
    return unit;
}

std::unique_ptr<Decoder> decoder(const UnitLane& lane, const golden::File& file, const Unit& unit,
                                 const golden::Tensor& input, std::int64_t max_frames) {
    const auto model = Model::create(lane.device, unit.key, {.network = unit.network, .dtype = lane.dtype},
                                     [&file](const std::string& name) { return file.tensor(name).values; });
    EXPECT_TRUE(model) << model.error().message;
    auto created = Decoder::create(*model, {input.shape[2], input.shape[3]}, {.latent_frames = max_frames});
    EXPECT_TRUE(created) << created.error().message;
    return std::move(*created);
}

/// Feeds `input` cut into steps and compares each step's output with "<unit>.<cut>.chunkK.output".
void expect_cut_matches(const UnitLane& lane, const golden::File& file, const Unit& of, const Cut& cut) {
    const auto input = file.tensor(of.key + ".input");
    const auto unit = decoder(lane, file, of, input, *std::ranges::max_element(cut.frames));
    std::int64_t next = 0;
    for (std::size_t k = 0; k < cut.frames.size(); ++k) {
        const auto out = unit->step(golden::tchw(input, next, cut.frames[k]), cut.frames[k]);
        ASSERT_TRUE(out) << out.error().message;
        next += cut.frames[k];
        const auto expected = file.tensor(of.key + "." + cut.name + ".chunk" + std::to_string(k) + ".output");
        EXPECT_TRUE(golden::within(out->thwc(), golden::thwc(expected, 0, expected.shape[1]), limit_of(lane)))
            << of.key << "." << cut.name << " chunk " << k;
    }
}

/// Feeds "<unit>.input" in one step and compares its output with "<unit>.output".
void expect_step_matches(const UnitLane& lane, const Unit& of) {
    const golden::File file(kFile);
    const auto input = file.tensor(of.key + ".input");
    const auto unit = decoder(lane, file, of, input, input.shape[1]);
    const auto out = unit->step(golden::tchw(input, 0, input.shape[1]), input.shape[1]);
    ASSERT_TRUE(out) << out.error().message;
    const auto expected = file.tensor(of.key + ".output");
    EXPECT_TRUE(golden::within(out->thwc(), golden::thwc(expected, 0, expected.shape[1]), limit_of(lane))) << of.key;
}

/// RMS norm of each pixel, without SiLU.
std::vector<float> normed_pixels(std::vector<float> pixels, const std::vector<float>& gamma) {
    const std::size_t channels = gamma.size();
    for (auto pixel = pixels.begin(); pixel != pixels.end(); pixel += static_cast<std::ptrdiff_t>(channels)) {
        const double squares = std::inner_product(pixel, pixel + static_cast<std::ptrdiff_t>(channels), pixel, 0.0);
        for (std::size_t c = 0; c < channels; ++c)
            pixel[static_cast<std::ptrdiff_t>(c)] *=
                static_cast<float>(std::sqrt(static_cast<double>(channels) / squares)) * gamma[c];
    }
    return pixels;
}

}  // namespace

golden::Limit limit_of(const UnitLane& lane) {
    if (lane.dtype == DType::F32) return {2e-6, 1e-5};
    return lane.dtype == DType::F16 ? golden::Limit{8e-4, 0.005} : golden::Limit{6e-3, 0.04};
}

void expect_residual_units(const UnitLane& lane) {
    const golden::File file(kFile);
    expect_cut_matches(lane, file, residual_unit(), {"a", {1, 1, 1}});
    expect_cut_matches(lane, file, residual_unit(), {"b", {1, 4, 4}});
}

void expect_temporal_upsampling_units(const UnitLane& lane) {
    const golden::File file(kFile);
    expect_cut_matches(lane, file, temporal_upsampling_unit(), {"a", {1, 1, 1, 1}});
    expect_cut_matches(lane, file, temporal_upsampling_unit(), {"b", {1, 2, 2, 2}});
}

void expect_interleaved_halves(const UnitLane& lane) {
    const golden::File file(kFile);
    const auto input = file.tensor("up3d.input");
    const auto unit = decoder(lane, file, temporal_upsampling_unit(), input, 2);
    ASSERT_TRUE(unit->step(golden::tchw(input, 0, 1), 1));
    for (std::int64_t k = 1; k < 4; ++k) {
        const auto traced = unit->trace(golden::tchw(input, 2 * k - 1, 2), "up3d.time_conv", 2);
        ASSERT_TRUE(traced) << traced.error().message;
        const auto expected = file.tensor("up3d.b.chunk" + std::to_string(k) + ".time");
        EXPECT_TRUE(golden::within(*traced, golden::thwc(expected, 0, expected.shape[1]), limit_of(lane)))
            << "chunk " << k;
    }
}

void expect_spatial_upsampling_units(const UnitLane& lane) { expect_step_matches(lane, spatial_upsampling_unit()); }

void expect_attention_units(const UnitLane& lane) {
    const golden::File file(kFile);
    const auto input = file.tensor("attn.input"), expected = file.tensor("attn.output");
    const std::int64_t frames = input.shape[1];
    const auto unit = decoder(lane, file, attention_unit(), input, frames);
    const auto sum = unit->trace(golden::tchw(input, 0, frames), "attn", frames);
    ASSERT_TRUE(sum) << sum.error().message;
    EXPECT_TRUE(golden::within(*sum, golden::thwc(expected, 0, frames), limit_of(lane)));

    const auto untraced = decoder(lane, file, attention_unit(), input, frames);
    const auto out = untraced->step(golden::tchw(input, 0, frames), frames);
    ASSERT_TRUE(out) << out.error().message;
    const auto normed = normed_pixels(golden::thwc(expected, 0, frames), file.tensor("attn.norm.gamma").values);
    EXPECT_TRUE(golden::within(out->thwc(), normed, limit_of(lane)));
}

}  // namespace kinetograph::vae
