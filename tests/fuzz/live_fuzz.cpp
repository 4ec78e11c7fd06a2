// libFuzzer target: arbitrary bytes for the reader of live latents, in pieces of arbitrary length. What it accepts
// keeps the format's promises, what it refuses ends in one sentence, and neither depends on the pieces.
#include <kinetograph/tests/compute/live/live_bytes.hpp>

#include <string>

namespace {

using namespace kinetograph::live;

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

void check_header(const StreamHeader& header) {
    expect(header.values() > 0 && header.frame_bytes() <= kLargestLatentFrame);
    expect(!header.family.empty() && header.fps >= kLowestFps && header.fps <= kHighestFps);
    const auto again = decode_start(encode(header));
    expect(again && again->frame_bytes() == header.frame_bytes() && again->name == header.name);
}

std::string check_error(Reader& reader, const kinetograph::Error& error) {
    expect(error.message.starts_with("a generator: stream ") && error.message.size() < kLongestSentence);
    expect(reader.next_stream().error().message == error.message);
    return error.message;
}

/// What the bytes tell, as text; every promise checked on the way.
std::string read(std::span<const std::byte> bytes, std::size_t piece) {
    testing::MemorySource source(bytes, piece);
    Reader reader(source);
    std::string story;
    for (;;) {
        const auto header = reader.next_stream();
        if (!header) return story + check_error(reader, header.error());
        if (!*header) return story;
        check_header(**header);
        story += "stream ";
        for (bool in_stream = true; in_stream;) {
            const auto item = reader.next();
            if (!item) return story + check_error(reader, item.error());
            const auto* latent = std::get_if<LatentValues>(&*item);
            if (latent != nullptr) expect(static_cast<std::int64_t>(latent->values.size()) == (*header)->values());
            in_stream = !std::holds_alternative<End>(*item);
            story += fmt::format("{}:{} ", item->index(), latent != nullptr ? latent->chunk : 0);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const std::size_t piece = size == 0 ? 1 : 1 + data[size - 1] % 61U;
    expect(read(bytes, piece) == read(bytes, 1U << 20U));
    return 0;
}
