// The smallest integration: an engine's frame loop that shows a clip while it is being decoded beside it.
// An engine keeps everything but `upload` and the waiting at the end of the loop, which stand for its own work.
//   embed LATENTS.safetensors CHECKPOINT
#include <kinetograph/compute/vae/decode_queue.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <cstdio>
#include <thread>

using namespace kinetograph;

namespace {

/// Where an engine copies the pixels into its texture: frame.rgba is [height, width, 4], sRGB-encoded.
void upload(const vae::Frame& frame) {
    const std::size_t centre = 4 * static_cast<std::size_t>(frame.height / 2 * frame.width + frame.width / 2);
    std::printf("frame %3lld, due at %.3f s, centre pixel %3d %3d %3d\n", static_cast<long long>(frame.index),
                std::chrono::duration<double>(frame.presentation_time).count(), frame.rgba[centre],
                frame.rgba[centre + 1], frame.rgba[centre + 2]);
}

Result<void> play(const char* latents, const char* weights) {
    // Load time: the clip, the model, a device, and a decoder for this size.
    auto clip = vae::Latents::open(latents);
    if (!clip) return fail(clip.error());
    auto checkpoint = vae::Checkpoint::open(weights);
    if (!checkpoint) return fail(checkpoint.error());
    const auto device = accel::cpu::create_device();
    auto model = vae::Model::create(*device, std::move(*checkpoint));
    if (!model) return fail(model.error());
    auto decoder = vae::Decoder::create_for(*model, *clip);
    if (!decoder) return fail(decoder.error());
    auto plan = (*decoder)->compile_plan(1);  // the frame graph of one step, as data
    if (!plan) return fail(plan.error());
    std::printf("a step is %zu passes in %zu batches\n", plan->passes.size(), plan->batches.size());
    auto queue = vae::DecodeQueue::create(std::move(*decoder), std::move(*clip));
    if (!queue) return fail(queue.error());

    // The frame loop: asks, never waits. A frame that is not ready leaves the last one on the screen.
    for (;;) {
        const bool finished = (*queue)->stats().finished;
        auto frame = (*queue)->try_pop();
        if (!frame) return fail(frame.error());
        if (*frame) {
            upload(**frame);
        } else if (finished) {
            return {};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(8));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: embed LATENTS.safetensors CHECKPOINT\n");
        return 2;
    }
    if (auto played = play(argv[1], argv[2]); !played) {
        std::fprintf(stderr, "embed: %s\n", played.error().message.c_str());
        return 1;
    }
    return 0;
}
