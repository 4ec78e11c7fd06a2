// libFuzzer target: arbitrary texts for the mean and the deviation of latents, up to and after a zero byte, as a
// checkpoint's metadata or a JSON file has them. What is accepted must be what a decoder can apply.
#include <kinetograph/compute/vae/latent_statistics.hpp>

#include <algorithm>
#include <cmath>

namespace {

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::int64_t kChannels = 3;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::size_t end = text.find('\0');
    std::map<std::string, std::string> metadata{{"latents_mean", text.substr(0, end)}};
    if (end != std::string::npos) metadata.emplace("latents_std", text.substr(end + 1));
    const auto found = kinetograph::vae::statistics_from_metadata(metadata, kChannels, "fuzz");
    if (!found) {
        const std::string& sentence = found.error().message;
        expect(sentence.starts_with("fuzz: ") && sentence.size() < 4096);
        expect(std::ranges::none_of(sentence, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
        return 0;
    }
    expect(std::ssize(found->mean) == kChannels && std::ssize(found->std) == kChannels);
    expect(std::ranges::all_of(found->mean, [](float value) { return std::isfinite(value); }));
    expect(std::ranges::all_of(found->std, [](float value) { return std::isfinite(value) && value > 0; }));
    return 0;
}
