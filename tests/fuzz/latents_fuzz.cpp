// libFuzzer target: an arbitrary file of latents: its container, the choice of a tensor, the order of its axes, its
// metadata. Of an input, four bytes are what is wanted and chosen; the rest is a file, or the header and values of a
// safetensors file, which the target puts together. Latents that are accepted must be what they promise to be.
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace {

using namespace kinetograph;

constexpr std::size_t kChoices = 4;
constexpr std::byte kEnd{'}'};  // of a header
constexpr std::array<std::int64_t, 4> kChannels{0, 2, 16, 48};
constexpr std::array kScales{vae::LatentScale::Auto, vae::LatentScale::Raw, vae::LatentScale::Normalized};

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

void expect_sentence(const std::string& sentence) {
    expect(sentence.find("fuzz") != std::string::npos && sentence.size() < 8192);
    expect(std::ranges::none_of(sentence, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

void expect_latents(const vae::Latents& clip, const vae::LatentsWanted& wanted) {
    expect(clip.channels > 0 && clip.frames > 0 && clip.height > 0 && clip.width > 0);
    expect(clip.height <= 1024 && clip.width <= 1024);
    expect(wanted.channels == 0 || clip.channels == wanted.channels);
    expect(static_cast<std::int64_t>(clip.values.size()) == clip.channels * clip.frames * clip.height * clip.width);
    expect(std::ranges::all_of(clip.values, [](float value) { return std::isfinite(value); }));
    expect(clip.fps >= 0.01 && clip.fps <= 1000);
    expect(static_cast<std::int64_t>(clip.frame(clip.frames - 1).size()) == clip.channels * clip.height * clip.width);
    for (const vae::Note& note : clip.notes) expect_sentence(note.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < kChoices) return -1;
    vae::LatentsWanted wanted{.channels = kChannels.at(data[0] % kChannels.size()),
                              .pictures = (data[1] & 1) != 0,
                              .scale = kScales.at(data[2] % kScales.size()),
                              .decoder = "vae is a Wan VAE",
                              .latents = "Wan"};
    if ((data[2] & 64) != 0) {
        wanted.raw.mean.assign(static_cast<std::size_t>(wanted.channels), 0.5F);
        wanted.raw.std.assign(static_cast<std::size_t>(wanted.channels), 0.25F);
    }
    vae::LatentsChoices choices{.tensor = (data[1] & 2) != 0 ? "x\n" : ""};
    if ((data[1] & 4) != 0) choices.batch_item = data[3] % 3;

    const auto rest = std::as_bytes(std::span(data, size)).subspan(kChoices);
    std::vector<std::byte> file(rest.begin(), rest.end());
    if (!rest.empty() && rest.front() == std::byte{'{'}) {
        const auto header_bytes = static_cast<std::uint64_t>(rest.rend() - std::find(rest.rbegin(), rest.rend(), kEnd));
        const auto length = std::as_bytes(std::span(&header_bytes, 1));
        file.insert(file.begin(), length.begin(), length.end());
    }
    const auto source = formats::parse({file}, "fuzz");
    if (!source) {
        expect_sentence(source.error().message);
        return 0;
    }
    const auto clip = vae::Latents::read(*source, wanted, choices);
    if (clip)
        expect_latents(*clip, wanted);
    else
        expect_sentence(clip.error().message);
    return 0;
}
