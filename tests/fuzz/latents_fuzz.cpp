// libFuzzer target: an arbitrary file of latents: its container, the choice of a tensor, the order of its axes, its
// metadata. Of an input, four bytes are what is wanted and chosen; the rest is a file, or the header and values of a
// safetensors file, which the target puts together. Latents that are accepted must be what they promise to be.
#include <kinetograph/compute/vae/latents.hpp>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace {

using namespace kinetograph;

constexpr std::size_t kChoices = 4;
constexpr std::array<std::int64_t, 4> kChannels{0, 2, 16, 48};
constexpr std::array kScales{vae::LatentScale::Auto, vae::LatentScale::Raw, vae::LatentScale::Normalized};

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

void expect_sentence(const std::string& sentence, const std::string& path) {
    expect(sentence.find(path) != std::string::npos && sentence.size() < 8192);
    expect(std::ranges::none_of(sentence, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

/// A file in memory, with a path.
class File {
  public:
    std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }
    void write(std::span<const std::byte> head, std::span<const std::byte> rest) const {
        const auto put = [this](std::span<const std::byte> bytes, std::size_t at) {
            expect(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
                   static_cast<ssize_t>(bytes.size()));
        };
        expect(::ftruncate(fd_, 0) == 0);
        put(head, 0);
        put(rest, head.size());
    }

  private:
    int fd_ = ::memfd_create("latents", 0);
};

void expect_latents(const vae::Latents& clip, const vae::LatentsWanted& wanted) {
    expect(clip.channels > 0 && clip.frames > 0 && clip.height > 0 && clip.width > 0);
    expect(clip.height <= 1024 && clip.width <= 1024);
    expect(wanted.channels == 0 || clip.channels == wanted.channels);
    expect(static_cast<std::int64_t>(clip.values.size()) == clip.channels * clip.frames * clip.height * clip.width);
    expect(std::ranges::all_of(clip.values, [](float value) { return std::isfinite(value); }));
    expect(clip.fps >= 0.01 && clip.fps <= 1000);
    expect(static_cast<std::int64_t>(clip.frame(clip.frames - 1).size()) == clip.channels * clip.height * clip.width);
    for (const vae::Note& note : clip.notes) expect_sentence(note.text, clip.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const File file;
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
    std::array<std::byte, 8> header_bytes{};
    const auto brace = std::find(rest.rbegin(), rest.rend(), std::byte{'}'});
    const auto length = static_cast<std::uint64_t>(rest.rend() - brace);
    for (std::size_t i = 0; i < header_bytes.size(); ++i) header_bytes.at(i) = static_cast<std::byte>(length >> 8 * i);
    const bool is_header = !rest.empty() && rest.front() == std::byte{'{'};
    file.write(std::span(header_bytes).first(is_header ? header_bytes.size() : 0), rest);

    const auto clip = vae::Latents::open(file.path(), wanted, choices);
    if (clip)
        expect_latents(*clip, wanted);
    else
        expect_sentence(clip.error().message, file.path());
    return 0;
}
