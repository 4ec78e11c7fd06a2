#include "thousand_passes.hpp"

#include <fmt/format.h>

#include "scene.hpp"

namespace kinetograph::graph {

namespace {

constexpr std::size_t kFrames = 20;
constexpr std::size_t kFramePasses = 5;  // convert, blit, compose, copy back, read back
constexpr std::size_t kBlockPasses = 4;  // norm, conv, norm, conv with the residual
constexpr std::size_t kBlocks = (kThousandPasses - kFrames * kFramePasses) / kBlockPasses;
constexpr std::size_t kBlocksPerFrame = kBlocks / kFrames;

const auto kNothing = [](const NoData&, TestContext&) {};

}  // namespace

void declare_thousand_passes(FrameGraph& frame) {
    const Buffer latents = frame.import_buffer("latents", {.bytes = kKiB, .domain = MemoryDomain::Accelerator},
                                               {.object = 4096, .bytes = kKiB});
    const Image target = frame.import_image("target", {.width = 512, .height = 288}, {.object = 8192});
    Image composed = target;
    Buffer features = latents;
    const auto step = [&](std::string name, Lane lane, auto&& setup) {
        frame.add_pass<NoData>(
            name, lane, [&](PassBuilder& pass, NoData&) { setup(pass, name); }, kNothing);
    };
    for (std::size_t block = 0; block < kBlocks; ++block) {
        const Buffer shortcut = features;
        const std::uint64_t bytes = kKiB * (64 + 16 * (block % 7));
        for (std::size_t half = 0; half < 2; ++half) {
            step(fmt::format("decoder.block{}.norm{}", block, half), Lane::Accelerator, [&](auto& pass, auto& name) {
                pass.read(features, Access::KernelRead);
                features = pass.create(name + ".out", {.bytes = bytes}, Access::KernelWrite);
            });
            step(fmt::format("decoder.block{}.conv{}", block, half), Lane::Accelerator, [&](auto& pass, auto& name) {
                const Buffer kept =
                    frame.import_buffer(name + ".kept", {.bytes = 128 * kKiB},
                                        {.object = 1'000'000 * (block * 2 + half + 1), .bytes = 128 * kKiB});
                pass.read(features, Access::KernelRead);
                frame.export_contents(pass.write(pass.read(kept, Access::KernelRead), Access::KernelWrite));
                if (half == 1) pass.read(shortcut, Access::KernelRead);
                features = pass.create(name + ".out", {.bytes = bytes}, Access::KernelWrite);
            });
        }
        if ((block + 1) % kBlocksPerFrame != 0) continue;
        const auto named = [&](std::string_view what) {
            return fmt::format("frame{}.{}", block / kBlocksPerFrame, what);
        };
        Buffer pixels, copied;
        Image image;
        step(named("convert"), Lane::Accelerator, [&](auto& pass, auto& name) {
            pass.read(features, Access::KernelRead);
            pixels = pass.create(name, {.bytes = 512 * 288 * 4, .domain = MemoryDomain::Shared}, Access::KernelWrite);
        });
        step(named("image"), Lane::Transfer, [&](auto& pass, auto& name) {
            pass.read(pixels, Access::TransferRead);
            image = pass.create(name, {.width = 512, .height = 288}, Access::TransferWrite);
        });
        step(named("compose"), Lane::Graphics, [&](auto& pass, auto&) {
            pass.read(image, Access::SampledRead);
            composed = pass.write(composed, Access::ColorAttachment);
        });
        step(named("copy"), Lane::Transfer, [&](auto& pass, auto& name) {
            pass.read(image, Access::TransferRead);
            copied = pass.create(name, {.bytes = 512 * 288 * 4, .domain = MemoryDomain::Shared}, Access::TransferWrite);
        });
        step(named("read_back"), Lane::Host, [&](auto& pass, auto&) {
            pass.read(copied, Access::HostRead);
            pass.has_side_effect();
        });
    }
    frame.export_contents(composed);
}

}  // namespace kinetograph::graph
