// Latents that a generator leaves in CUDA memory, frames in VkImages on the application's own device: on one GPU
// nothing goes through the host. ../embed_vulkan/host.hpp stands for the engine, generator.hpp for a diffusion model.
//   embed_cuda LATENTS.safetensors CHECKPOINT [cuda|hip|cpu]
#include "../embed_vulkan/host.hpp"
#include "generator.hpp"

#include <kinetograph/engine/vulkan/image.hpp>

#include <cstdio>

using namespace kinetograph;

namespace {

Result<void> play(Host& host, const char* latents, const char* weights, const char* device) {
    const vulkan::ApplicationVulkan vulkan{host.instance,
                                           &vkGetInstanceProcAddr,
                                           {.physical = host.physical,
                                            .device = host.device,
                                            .graphics = {host.queue, host.family, &host.queue_mutex},
                                            .extensions = {host.extensions.begin(), host.extensions.end()}}};
    KG_TRY(const auto session, session::Session::open(weights, {.device = device, .vulkan = vulkan}));
    KG_TRY(auto generator, Generator::create(session->device(), latents));
    KG_TRY(const auto stream, session->decode(generator.size(), {.fps = generator.fps()}));
    std::printf("%s\n", stream.frames->facts().route.c_str());

    // A step is enqueued after the generator's work, the engine's work after the step; only the GPU waits.
    while (!generator.done()) {
        KG_TRY(const bool pushed, stream.latents->push(generator.next(), std::chrono::seconds(1)));
        if (!pushed) return fail(ErrorCode::DeviceLost, "no frame came back within a second");
        for (;;) {
            KG_TRY(const auto frame, stream.frames->try_take_ahead());
            if (!frame) break;
            const std::uint64_t drawn =
                host.submit(frame->image->handle(), static_cast<VkImageLayout>(frame->layout),
                            {frame->width, frame->height}, frame->ready.semaphore, frame->ready.value);
            KG_CHECK(stream.frames->release(*frame, {host.done, nullptr, drawn}));
            host.print(drawn, frame->label.index, frame->label.presentation_time);
        }
    }
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_cuda LATENTS.safetensors CHECKPOINT [cuda|hip|cpu]\n");
        return 2;
    }
    Host host;
    auto played = host.usable ? play(host, argv[1], argv[2], argc > 3 ? argv[3] : "cuda")
                              : fail(ErrorCode::NotFound, "there is no Vulkan 1.3 device here");
    if (!played) std::fprintf(stderr, "embed_cuda: %s\n", played.error().message.c_str());
    return played ? 0 : 1;
}
