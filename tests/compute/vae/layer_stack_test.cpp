// What a stack of layers takes of the device's memory.
#include <kinetograph/compute/vae/layer_stack.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

namespace kinetograph::vae {
namespace {

TEST(LayerStacks, AreNotMistakenAboutTheirMemoryWhereSomebodyElseGivesSomeBackMeanwhile) {
    const auto device = accel::cpu::create_device();
    auto others = device->allocate("somebody else's", 64U << 20U).value();
    NetworkDesc desc;
    desc.network = nn::Network(8);
    desc.network.append(nn::Network::input(), nn::primitive::Conv{.key = "conv", .c_in = 8, .filter = {8, 3, 3, 3}});
    desc.dtype = tensor::DType::F32;
    const auto load = [&](const std::string& name) {
        others.reset();
        return std::vector<float>(name == "conv.weight" ? 8 * 8 * 27 : 8, 0.5F);
    };
    const auto stack = LayerStack::create(*Model::create(*device, "a network", desc, load), {.height = 4, .width = 4});
    ASSERT_TRUE(stack) << stack.error().message;
    EXPECT_LT((*stack)->memory().total(), 1U << 20U);
}

}  // namespace
}  // namespace kinetograph::vae
