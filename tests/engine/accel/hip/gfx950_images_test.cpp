// The code objects that this build carries, as the HIP accelerator loads them: image, driver and host model must agree
// on every kernel.
#include "standin_fixture.hpp"

#include <kinetograph/engine/accel/hip/code_object.hpp>
#include <kinetograph/kernels/hip/code_objects.hpp>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>

namespace kinetograph::accel::hip {
namespace {

struct Gfx950Images : Standin {
    void SetUp() override {
        if (kinetograph::hip::code_objects().empty()) GTEST_SKIP() << kinetograph::hip::code_object_compiler();
        Standin::SetUp();
    }
    void TearDown() override {
        if (device) Standin::TearDown();
    }
};

TEST_F(Gfx950Images, HoldKernelsThatTheModelRunsWithTheSameParametersAndThreads) {
    std::size_t kernels = 0;
    for (const kinetograph::hip::CodeObject& object : kinetograph::hip::code_objects()) {
        SCOPED_TRACE(object.name);
        const auto read = read_code_object(object.image);
        ASSERT_TRUE(read && read->has_value()) << message_of(read);
        EXPECT_EQ((*read)->architecture, "gfx950");
        const auto module = device->load(object.name, object.image);
        ASSERT_TRUE(module) << message_of(module);
        for (const CodeObjectKernel& listed : (*read)->kernels) {
            SCOPED_TRACE(listed.name);
            const auto kernel = (*module)->kernel(listed.name);
            ASSERT_TRUE(kernel) << message_of(kernel);
            const KernelInfo& info = (*kernel)->info();
            const host_model::ModelKernel* modelled = host_model::find_model_kernel(listed.name);
            ASSERT_NE(modelled, nullptr);
            EXPECT_EQ(info.argument_bytes, modelled->parameter_bytes);
            EXPECT_EQ(info.max_threads, modelled->threads);
            EXPECT_EQ(info.scratch_bytes, 0U);
            EXPECT_GT(info.registers.value_or(0), 0U);
            ++kernels;
        }
    }
    EXPECT_EQ(kernels, host_model::model_kernels().size()) << "no kernel of the model is missing from the images";
}

TEST_F(Gfx950Images, RefuseArgumentsOfAnotherSizeBeforeTheDriverSeesThem) {
    const kinetograph::hip::CodeObject& object = kinetograph::hip::code_objects().front();
    const auto read = read_code_object(object.image);
    const CodeObjectKernel& listed = (*read)->kernels.front();
    const auto kernel = *(*device->load(object.name, object.image))->kernel(listed.name);
    const auto stream = *device->create_stream("test");
    const std::uint8_t wrong = 0;
    stream->launch({.name = "conv1", .kernel = *kernel, .grid = {1}, .block = {1}, .arguments = bytes_of(wrong)});
    EXPECT_EQ(message_of(stream->synchronize()),
              fmt::format("conv1: launching \"{}\": 1 bytes of arguments, the kernel takes {}", listed.name,
                          listed.argument_bytes));
    EXPECT_EQ(control.calls("hipModuleLaunchKernel"), 0U);
}

TEST_F(Gfx950Images, AreRefusedByADeviceOfAnotherArchitectureNamingBoth) {
    start({.architecture = "gfx942:sramecc+:xnack-"});
    const kinetograph::hip::CodeObject& object = kinetograph::hip::code_objects().front();
    const auto refused = device->load(object.name, object.image);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(refused.error().message,
              fmt::format("loading \"{}\" on Stand-in MI355X: the image is built for gfx950, the device is gfx942",
                          object.name));
}

}  // namespace
}  // namespace kinetograph::accel::hip
