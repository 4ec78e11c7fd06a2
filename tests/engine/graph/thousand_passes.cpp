#include "thousand_passes.hpp"

#include <fmt/format.h>

#include "scene.hpp"

namespace kinetograph::graph {

namespace {

constexpr std::size_t kFrames = 20;
constexpr std::size_t kFramePasses = 5;  // convert, blit, compose, copy back, read back
constexpr std::size_t kBlockPasses = 4;  // norm, conv, norm, conv with the residual
constexpr std::size_t kBlocks = (ThousandPasses::kPasses - kFrames * kFramePasses) / kBlockPasses;
constexpr std::size_t kBlocksPerFrame = kBlocks / kFrames;

std::string cache_name(std::size_t i) { return fmt::format("block{}.conv{}.cache", i / 2, i % 2); }

const auto kNothing = [](const NoData&, TestContext&) {};

}  // namespace

ThousandPasses::ThousandPasses() {
    for (std::size_t i = 0; i < kBlocks * 2; ++i) {
        own_.push_back(std::make_unique<HistoryStorage>(cache_name(i), kKiB * 64, 3, MemoryDomain::Accelerator,
                                                        Physical{.object = 4096 * (i + 1), .bytes = kKiB * 192}));
        caches_.push_back(own_.back().get());
    }
}

ThousandPasses::ThousandPasses(Executor& executor) {
    for (std::size_t i = 0; i < kBlocks * 2; ++i)
        caches_.push_back(executor.create_history(cache_name(i), {.value_bytes = kKiB * 64, .slots = 3}).value());
}

void ThousandPasses::declare(FrameGraph& frame) {
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
                const History cache = frame.import_history(*caches_[block * 2 + half], {.keep = 2, .push = 1});
                pass.read(features, Access::KernelRead);
                pass.read(cache, Access::KernelRead);
                pass.push(cache, Access::KernelWrite);
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
