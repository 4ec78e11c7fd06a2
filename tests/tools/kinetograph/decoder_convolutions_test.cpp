// The launches that `bench conv --declared` times are those that a decoder declares.
#include <gtest/gtest.h>

#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tools/kinetograph/decoder_convolutions.hpp>

#include <algorithm>
#include <map>
#include <span>

namespace kinetograph::cli {
namespace {

/// Of the convolutions' passes: operations, and the method of the first launch.
using Passes = std::map<std::string, std::pair<double, std::string>>;

Passes declared_by_a_decoder(vae::Model& model, const vae::StackSize& size) {
    graph::FrameGraph graph;
    const graph::Buffer latents = graph.import_buffer(
        "latents", {vae::input_bytes(model.network(), size, 1), 16, graph::MemoryDomain::Accelerator}, {});
    const vae::FindKept kept = [](const std::string&, std::uint64_t, std::uint32_t) { return graph::Physical{}; };
    const auto made = model.declare(graph, size, {.first = model.network().one_step}, kept, latents,
                                    vae::StepOutput{vae::FrameFormat::Float32});
    EXPECT_TRUE(made) << made.error().message;
    Passes passes;
    for (const graph::PassNode& pass : graph.passes())
        if (pass.work.operations > 0 && !pass.name.ends_with(".attention"))
            passes[pass.name] = {pass.work.operations, pass.work.kernel};
    return passes;
}

Passes declared_for_the_bench(accel::Device& device, const vae::Model& model, const vae::StackSize& size) {
    const vae::NetworkDesc& desc = model.network();
    const auto launches = declared_launches(desc, {size.height, size.width}, device.info());
    EXPECT_TRUE(launches) << launches.error().message;
    Passes passes;
    for (const DeclaredConvolution& launch : *launches) {
        auto& [operations, method] = passes[launch.pass];
        operations += launch.problem.flops();
        if (method.empty()) method = conv::explain(device.info(), launch.problem, desc.sums).front().candidate;
    }
    return passes;
}

TEST(DeclaredConvolutions, AreThePassesOfADecoder) {
    const auto device = accel::cpu::create_device();
    const vae::StackSize size{.height = 4, .width = 6};
    for (const char* weights :
         {"synthetic:wan2.1,dim=8", "synthetic:taew2.1", "synthetic:wan2.2,dim=8", "synthetic:qwen-image,dim=8"}) {
        for (const conv::Sums sums : {conv::Sums::Exact, conv::Sums::Fast}) {
            const auto checkpoint = vae::Checkpoint::open(weights);
            ASSERT_TRUE(checkpoint) << checkpoint.error().message;
            const auto model = vae::Model::create(*device, *checkpoint, {.sums = sums}).value();
            const Passes declared = declared_by_a_decoder(*model, size);
            const Passes timed = declared_for_the_bench(*device, *model, size);
            EXPECT_EQ(timed, declared) << weights;
        }
    }
}

TEST(DeclaredConvolutions, TakeAlongWhatADecoderStores) {
    const auto device = accel::cpu::create_device();
    const families::Family& family = *families::find("wan2.1");
    const vae::NetworkDesc network{.network = family.decoder(family.published)};
    const auto launches = declared_convolutions(network, {60, 104}, device->info()).value();
    const auto of = [&](const std::string& pass) {
        return *std::ranges::find(launches, pass, &DeclaredConvolution::pass);
    };

    const DeclaredConvolution second = of("decoder.upsamples.12.residual.6");
    EXPECT_EQ(second.layer, "96>96 3x3x3, 4x480x832");
    EXPECT_EQ(second.epilogue, "residual, norm beside");
    EXPECT_TRUE(second.in_place && second.problem.residual);
    EXPECT_EQ(second.problem.norm, conv::Norm::Beside);
    EXPECT_EQ(second.problem.d_out(), 2);  // a part of two frames
    EXPECT_EQ(std::pair(second.launches, second.layers), std::pair(6L, 3L));

    const DeclaredConvolution half = of("decoder.upsamples.3.time_conv");
    EXPECT_EQ(half.problem.filter.k, 384);
    EXPECT_EQ(std::pair(half.frame_step, half.launches), std::pair(2L, 2L));
    EXPECT_FALSE(half.in_place);

    // The head begins with kept sums, then makes its last frames and the sums that it keeps.
    const std::span<const DeclaredConvolution> head = std::span(launches).last(3);
    EXPECT_TRUE(head[0].problem.residual && !head[0].in_place);
    EXPECT_FALSE(head[1].problem.residual);
    EXPECT_FALSE(head[2].problem.bias);
    for (const DeclaredConvolution& launch : head)
        EXPECT_EQ(std::pair(launch.pass, launch.epilogue), std::pair(std::string("decoder.head.2"), std::string()));
}

TEST(DeclaredConvolutions, OfAHeadWhoseMethodCarriesSumsAreOne) {
    const accel::DeviceInfo device = conv::describe_known_device("sm_90").value();
    const families::Family& family = *families::find("wan2.1");
    const vae::NetworkDesc network{.network = family.decoder(family.published)};
    const DeclaredConvolution head = declared_convolutions(network, {60, 104}, device).value().back();
    if (conv::explain(device, head.problem).front().candidate != "narrow-gemm-sm90")
        GTEST_SKIP() << "this build has no kernels for sm_90a";
    EXPECT_TRUE(head.problem.carried);
    EXPECT_EQ(head.problem.d_out(), 4 + 2);  // frames and sums
    EXPECT_EQ(std::pair(head.pass, head.launches), std::pair(std::string("decoder.head.2"), 1L));
}

}  // namespace
}  // namespace kinetograph::cli
