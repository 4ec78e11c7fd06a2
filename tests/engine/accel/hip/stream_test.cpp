// What HIP's streams say of themselves; what they must do as CUDA's do is in driver_stream_test.cpp.
#include "standin_fixture.hpp"

namespace kinetograph::accel::hip {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 1000;

struct HipStreams : Standin {
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> a, b;

    void SetUp() override {
        Standin::SetUp();
        prepare();
    }
    void prepare() {
        scale_add = *(*device->load("test kernels", standin::placeholder_image()))->kernel("standin_scale_add");
        stream = std::move(*device->create_stream("test"));
        a = std::move(*device->allocate("a", kCount * sizeof(float)));
        b = std::move(*device->allocate("b", kCount * sizeof(float)));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        a.reset();
        b.reset();
    }
    void TearDown() override {
        release();
        Standin::TearDown();
    }

    ScaleAddParams params(const Memory& in, const Memory& out, float scale, float offset) const {
        return {reinterpret_cast<const float*>(in.data()), reinterpret_cast<float*>(out.data()), kCount, scale, offset};
    }
};

TEST_F(HipStreams, APlaceholdersKernelsTellOnlyTheirLimit) {
    EXPECT_EQ(scale_add->info().max_threads, 256U);
    EXPECT_FALSE(scale_add->info().registers) << "the placeholder does not tell";
}

TEST_F(HipStreams, RefuseArgumentsOfAnotherSizeThanTheKernels) {
    const std::uint64_t wrong = 0;
    stream->launch({.name = "wrong", .kernel = *scale_add, .grid = {1}, .block = {256}, .arguments = bytes_of(wrong)});
    EXPECT_EQ(message_of(stream->synchronize()),
              "wrong: launching \"standin_scale_add\": hipModuleLaunchKernel: hipErrorInvalidValue (1)");
    ASSERT_EQ(control.complaints().size(), 1U);
    EXPECT_EQ(control.complaints().front(), "standin_scale_add launched with 8 bytes of arguments, it takes 32");
    release();
    start({});
    prepare();
}

TEST_F(HipStreams, RefuseClusters) {
    const ScaleAddParams given = params(*a, *b, 1, 0);
    stream->launch({.name = "conv1",
                    .kernel = *scale_add,
                    .grid = {4},
                    .block = {256},
                    .cluster = {2},
                    .arguments = bytes_of(given)});
    EXPECT_EQ(message_of(stream->synchronize()),
              "conv1: launching \"standin_scale_add\": a cluster of 2 x 1 x 1 blocks: HIP devices have no clusters");
    EXPECT_EQ(control.calls("hipModuleLaunchKernel"), 0U);
}

TEST_F(HipStreams, ErrorsOfFillsAndCopiesSayHowMuch) {
    stream->fill(a->data() + 1000, std::byte{0}, 1U << 20U);
    EXPECT_EQ(message_of(stream->synchronize()), "filling 1048576 bytes: hipMemsetAsync: hipErrorInvalidValue (1)");
    stream->copy(b->data(), a->data(), 1U << 20U);
    EXPECT_EQ(message_of(stream->synchronize()), "copying 1048576 bytes: hipMemcpyAsync: hipErrorInvalidValue (1)");
}

TEST_F(HipStreams, AStreamOfTheCallersTakesOurWorkInItsOrderAndStaysTheCallers) {
    void* const runtime = ::dlopen(kStandin.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto create =
        reinterpret_cast<Status (*)(StreamHandle*, unsigned)>(::dlsym(runtime, "hipStreamCreateWithFlags"));
    const auto destroy = reinterpret_cast<Status (*)(StreamHandle)>(::dlsym(runtime, "hipStreamDestroy"));
    const auto clear =
        reinterpret_cast<Status (*)(void*, int, std::size_t, StreamHandle)>(::dlsym(runtime, "hipMemsetAsync"));
    StreamHandle theirs = nullptr;
    ASSERT_EQ(create(&theirs, 0), Status::Success);
    const auto made = *device->create_timeline();
    {
        const auto adopted = device->adopt_stream("the caller's", theirs);
        ASSERT_TRUE(adopted) << message_of(adopted);
        ASSERT_EQ(clear(a->data(), 0x3F, kCount * sizeof(float), theirs), Status::Success);
        (*adopted)->copy(b->data(), a->data(), kCount * sizeof(float));
        (*adopted)->signal(made, 1);
        stream->wait(made, 1);
        std::vector<std::byte> bytes(kCount * sizeof(float));
        ASSERT_TRUE(stream->read_back(bytes, b->data()));
        EXPECT_EQ(bytes.back(), std::byte{0x3F});
    }
    EXPECT_EQ(destroy(theirs), Status::Success) << "it is still there";
}

TEST_F(HipStreams, TextIsAnInvalidImage) {
    const std::string text = "this is no code object, whatever its length and padding";
    EXPECT_EQ(message_of(device->load("text", std::as_bytes(std::span(text)))),
              "loading \"text\" on Stand-in MI355X: hipModuleLoadData: hipErrorInvalidImage (200)");
}

}  // namespace
}  // namespace kinetograph::accel::hip
