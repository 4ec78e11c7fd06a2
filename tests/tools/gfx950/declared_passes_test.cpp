// The passes that the predictions are made of are those that a decoder declares on the HIP lane. Needs no compiler for
// gfx950: the stand-in runtime finds every kernel.
#include <gtest/gtest.h>

#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/tools/gfx950/decoder_layers.hpp>

namespace kinetograph::gfx950 {
namespace {

using Passes = std::vector<std::pair<std::string, double>>;  ///< names, operations of matrix products

Passes declared(vae::Model& model, const vae::StackSize& size) {
    graph::FrameGraph graph;
    const graph::Buffer latents = graph.import_buffer(
        "latents", {vae::input_bytes(model.network(), size, 1), 16, graph::MemoryDomain::Accelerator}, {});
    const vae::FindKept kept = [](const std::string&, std::uint64_t, std::uint32_t) { return graph::Physical{}; };
    const auto made = model.declare(graph, size, {.first = model.network().one_step}, kept, latents,
                                    vae::StepOutput{vae::FrameFormat::Float32});
    EXPECT_TRUE(made) << made.error().message;
    Passes passes;
    for (const graph::PassNode& pass : graph.passes()) passes.emplace_back(pass.name, pass.work.operations);
    return passes;
}

TEST(Gfx950DecoderLayers, AreThePassesThatADecoderDeclares) {
    auto device = accel::hip::create_device({.library = KINETOGRAPH_STANDIN_HIP_LIBRARY});
    ASSERT_TRUE(device) << device.error().message;
    for (const std::string family : {"wan2.1", "qwen-image"}) {
        const auto checkpoint = vae::Checkpoint::open("synthetic:" + family).value();
        const auto model = vae::Model::create(**device, checkpoint, {.precision = vae::Precision::Bf16}).value();
        for (const auto& [height, width] : {std::pair{704, 1280}, std::pair{480, 832}}) {
            Passes predicted;
            for (const vae::StepPass& pass : decoder_step(*families::find(family), height, width, mi355x()).passes)
                predicted.emplace_back(pass.name, pass.operations);
            EXPECT_EQ(predicted, declared(*model, {.height = height / 8, .width = width / 8}))
                << family << ' ' << width;
        }
    }
}

}  // namespace
}  // namespace kinetograph::gfx950
