// The smallest integration: a clip is decoded in the background, and its frames arrive in the application's memory.
// `upload` stands for an engine's own work; everything else can be used as it is.
//   embed LATENTS.safetensors CHECKPOINT [cpu|cuda|hip]
#include <kinetograph/compute/session/session.hpp>

#include <cstdio>

using namespace kinetograph;

namespace {

/// Here an engine copies the pixels into its texture: [height, width, 4], sRGB-encoded.
void upload(const interop::FrameRecord& frame) {
    const auto* pixel = reinterpret_cast<const std::uint8_t*>(frame.host.data()) + frame.height / 2 * frame.row_bytes +
                        frame.width / 2 * 4;
    std::printf("frame %3lld, due at %.3f s, centre pixel %3d %3d %3d\n", static_cast<long long>(frame.label.index),
                std::chrono::duration<double>(frame.label.presentation_time).count(), pixel[0], pixel[1], pixel[2]);
}

Result<void> play(const char* latents, const char* weights, const char* device) {
    // At load time: open the model on a device and begin to decode a clip into a stream of frames.
    KG_TRY(const auto session, session::Session::open(weights, {.device = device}));
    KG_TRY(const auto stream, session->decode(std::filesystem::path(latents)));

    // A loop that must not block calls try_take(); while that returns no frame, it keeps showing the last one.
    while (!stream->finished()) {
        KG_TRY(const auto frame, stream->take(std::chrono::seconds(1)));
        if (!frame) continue;
        upload(*frame);
        KG_CHECK(stream->release(*frame));
    }
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed LATENTS.safetensors CHECKPOINT [cpu|cuda|hip]\n");
        return 2;
    }
    if (auto played = play(argv[1], argv[2], argc > 3 ? argv[3] : "cpu"); !played) {
        std::fprintf(stderr, "embed: %s\n", played.error().message.c_str());
        return 1;
    }
    return 0;
}
