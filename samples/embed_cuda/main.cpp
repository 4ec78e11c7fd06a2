// Latents that a generator leaves in CUDA memory, frames in VkImages on the application's own device: on one GPU
// nothing goes through the host. ../embed_vulkan/host.hpp stands for the engine and its Vulkan.
//   embed_cuda LATENTS.safetensors CHECKPOINT [cuda|hip|cpu]
#include "../embed_vulkan/host.hpp"

#include <kinetograph/compute/stream/ring_decoder.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <cstdio>

using namespace kinetograph;

namespace {

/// Stands for a diffusion model: latents in memory of the accelerator, and a timeline that its stream signals behind
/// each. With CUDA that memory may come from cudaMalloc or PyTorch, and accel::cuda::adopt_stream takes their stream.
struct Generator {
    const vae::Latents& clip;
    std::uint64_t frame_bytes;
    std::unique_ptr<accel::Memory> latents;  // [T, z_dim, h, w] float32
    std::unique_ptr<accel::Stream> stream;
    std::shared_ptr<accel::Timeline> made;

    stream::LatentFrame make(std::uint64_t t) const {
        std::byte* address = latents->data() + t * frame_bytes;
        const std::vector<float> values = clip.frame(static_cast<std::int64_t>(t));
        static_cast<void>(stream->upload(address, std::as_bytes(std::span(values))));  // a model's last kernel
        stream->signal(made, t + 1);
        return {address, frame_bytes, {VK_NULL_HANDLE, made, t + 1}};
    }
};

Result<void> play(Host& host, const char* latents, const char* weights, const char* lane) {
    // Load time: our view of the engine's device, the accelerator, their bridge, a decoder into images, the generator.
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
    auto clip = vae::Latents::open(latents);
    if (!clip) return fail(clip.error());
    auto checkpoint = vae::Checkpoint::open(weights);
    if (!checkpoint) return fail(checkpoint.error());
    auto model = vae::Model::create(**accelerator, std::move(*checkpoint));
    if (!model) return fail(model.error());
    auto wan = vae::Decoder::create_for(*model, *clip);
    if (!wan) return fail(wan.error());
    auto decoder = stream::RingDecoder::create(**bridge, std::move(*wan), {.fps = clip->fps});
    if (!decoder) return fail(decoder.error());
    const auto frames = static_cast<std::uint64_t>(clip->frames);
    const std::uint64_t frame_bytes = clip->values.size() / frames * sizeof(float);
    auto memory = (*accelerator)->allocate("latents", frames * frame_bytes);
    auto stream = (*accelerator)->create_stream("generator");
    auto made = (*accelerator)->create_timeline();
    if (!memory || !stream || !made) return fail(ErrorCode::OutOfMemory, "the generator lacks memory or a stream");
    const Generator generator{*clip, frame_bytes, std::move(*memory), std::move(*stream), std::move(*made)};
    // The loop: a step is enqueued behind the generator's work, the engine's work behind the step; only the GPU waits.
    for (std::uint64_t t = 0; t < frames; ++t) {
        const auto stepped = (*decoder)->step(generator.make(t), std::chrono::seconds(1));
        if (!stepped) return fail(stepped.error());
        while (const auto frame = (*decoder)->ring().try_take()) {
            const std::uint64_t drawn =
                host.submit(frame->image->handle(), frame->layout, {frame->width, frame->height},
                            frame->ready.semaphore, frame->ready.value);
            static_cast<void>((*decoder)->ring().release(*frame, {host.done, nullptr, drawn}));
            const auto pixel = host.wait(drawn);  // only to print it
            std::printf(
                "frame %3lld, due at %.3f s, centre pixel %3d %3d %3d\n", static_cast<long long>(frame->label.index),
                std::chrono::duration<double>(frame->label.presentation_time).count(), pixel[0], pixel[1], pixel[2]);
        }
    }
    return (*decoder)->status();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_cuda LATENTS.safetensors CHECKPOINT [cuda|hip|cpu]\n");
        return 2;
    }
    Host host;
    if (!host.usable) {
        std::fprintf(stderr, "embed_cuda: there is no Vulkan 1.3 device here\n");
        return 1;
    }
    if (auto played = play(host, argv[1], argv[2], argc > 3 ? argv[3] : "cuda"); !played) {
        std::fprintf(stderr, "embed_cuda: %s\n", played.error().message.c_str());
        return 1;
    }
    return 0;
}
