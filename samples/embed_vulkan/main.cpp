// Frames in VkImages on the application's own device, each with a timeline value that its queue waits for. host.hpp
// stands for the engine and its own Vulkan; every use of Kinetograph is in this file.
// "vulkan" decodes in that device too: nothing is shared between two APIs, and no frame is copied between devices.
//   embed_vulkan LATENTS.safetensors CHECKPOINT [cpu|cuda|hip|vulkan]
#include "host.hpp"

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/engine/vulkan/image.hpp>

#include <cstdio>

using namespace kinetograph;

namespace {

Result<void> play(Host& host, const char* latents, const char* weights, const char* device) {
    // At load time: open the model on a device, share the engine's Vulkan device with it, begin to decode a clip.
    const vulkan::ApplicationVulkan vulkan{host.instance,
                                           &vkGetInstanceProcAddr,
                                           {.physical = host.physical,
                                            .device = host.device,
                                            .graphics = {host.queue, host.family, &host.queue_mutex},
                                            .create_chain = host.create_chain(),
                                            .extensions = {host.extensions.begin(), host.extensions.end()}}};
    KG_TRY(const auto session, session::Session::open(weights, {.device = device, .vulkan = vulkan}));
    KG_TRY(const auto stream, session->decode(std::filesystem::path(latents)));
    std::printf("%s\n", stream->facts().route.c_str());

    // The engine's queue waits for each frame and releases it with the timeline value that its work signals.
    while (!stream->finished()) {
        KG_TRY(const auto frame, stream->take(std::chrono::seconds(1)));
        if (!frame) continue;
        const std::uint64_t drawn =
            host.submit(frame->image->handle(), static_cast<VkImageLayout>(frame->layout),
                        {frame->width, frame->height}, frame->ready.semaphore, frame->ready.value);
        KG_CHECK(stream->release(*frame, {host.done, nullptr, drawn}));
        host.print(drawn, frame->label.index, frame->label.presentation_time);
    }
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_vulkan LATENTS.safetensors CHECKPOINT [cpu|cuda|hip|vulkan]\n");
        return 2;
    }
    Host host;
    auto played = host.usable ? play(host, argv[1], argv[2], argc > 3 ? argv[3] : "cpu")
                              : fail(ErrorCode::NotFound, "there is no Vulkan 1.3 device here");
    if (!played) std::fprintf(stderr, "embed_vulkan: %s\n", played.error().message.c_str());
    return played ? 0 : 1;
}
