// Frames in VkImages on the application's own device, each with a timeline value that its queue waits for; the frame
// loop never does. host.hpp stands for the engine and its own Vulkan; everything of ours is here.
//   embed_vulkan LATENTS.safetensors CHECKPOINT [cpu|cuda|hip]
#include "host.hpp"

#include <kinetograph/compute/stream/frame_stream.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <cstdio>

using namespace kinetograph;

namespace {

Result<void> play(Host& host, const char* latents, const char* weights, const char* lane) {
    // Load time: our view of the engine's device, the accelerator, and the bridge between the two.
    const auto instance = vulkan::Instance::adopt(host.instance, &vkGetInstanceProcAddr);
    auto device = vulkan::Device::adopt(*instance, {.physical = host.physical,
                                                    .device = host.device,
                                                    .graphics = {host.queue, host.family, &host.queue_mutex},
                                                    .compute = {},
                                                    .transfer = {},
                                                    .extensions = {host.extensions.begin(), host.extensions.end()}});
    if (!device) return fail(device.error());
    auto accelerator = accel::open(lane);
    if (!accelerator) return fail(accelerator.error());
    auto bridge = interop::Bridge::create(**accelerator, device->get());
    if (!bridge) return fail(bridge.error());
    std::printf("%s\n", (*bridge)->choice().reason.c_str());

    // The clip, the model, and a stream of frames that is decoded from now on.
    auto clip = vae::Latents::open(latents);
    if (!clip) return fail(clip.error());
    auto checkpoint = vae::Checkpoint::open(weights);
    if (!checkpoint) return fail(checkpoint.error());
    auto model = vae::Model::create(**accelerator, std::move(*checkpoint));
    if (!model) return fail(model.error());
    auto decoder = vae::Decoder::create_for(*model, *clip);
    if (!decoder) return fail(decoder.error());
    auto stream = stream::FrameStream::create(**bridge, std::move(*decoder), *clip);
    if (!stream) return fail(stream.error());

    // The frame loop: asks, never waits. What is shown is waited for by the engine's queue, and goes back with the
    // value that the engine's own work on it signals.
    while (!(*stream)->finished()) {
        auto frame = (*stream)->try_take();
        if (!frame) return fail(frame.error());
        if (!*frame) continue;  // the engine draws the last one again
        const interop::FrameRecord& record = **frame;
        const std::uint64_t drawn = host.submit(record.image->handle(), record.layout, {record.width, record.height},
                                                record.ready.semaphore, record.ready.value);
        if (auto released = (*stream)->release(record, {host.done, nullptr, drawn}); !released) return released;
        const auto pixel = host.wait(drawn);  // only to print it
        std::printf(
            "frame %3lld, due at %.3f s, centre pixel %3d %3d %3d\n", static_cast<long long>(record.label.index),
            std::chrono::duration<double>(record.label.presentation_time).count(), pixel[0], pixel[1], pixel[2]);
    }
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_vulkan LATENTS.safetensors CHECKPOINT [cpu|cuda|hip]\n");
        return 2;
    }
    Host host;
    if (!host.usable) {
        std::fprintf(stderr, "embed_vulkan: there is no Vulkan 1.3 device here\n");
        return 1;
    }
    if (auto played = play(host, argv[1], argv[2], argc > 3 ? argv[3] : "cpu"); !played) {
        std::fprintf(stderr, "embed_vulkan: %s\n", played.error().message.c_str());
        return 1;
    }
    return 0;
}
