// VulkanAccelTest: the engine's Vulkan device as an accelerator, under validation; any message of the layers fails the
// test.
#pragma once

#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/accel/vulkan/device.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace kinetograph::accel::vulkan {

namespace vk = ::kinetograph::vulkan;

inline constexpr std::uint32_t kScaleAddWords[] = {
#include "scale_add.comp.inc"
};
inline constexpr std::uint32_t kSpinWords[] = {
#include "spin.comp.inc"
};

struct ScaleAddParams {
    const std::byte* from;
    std::byte* to;
    std::uint32_t count;
    float scale, offset;
    std::uint32_t unused = 0;
};

struct SpinParams {
    std::byte* result;
    std::uint32_t turns;
    std::uint32_t unused = 0;
};

/// The message of a result that should be an error.
template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

struct VulkanAccelTest : testing::Test {
    static constexpr std::uint32_t kCount = 1000;

    std::unique_ptr<vk::Instance> instance;
    std::shared_ptr<vk::ValidationLog> log;
    std::unique_ptr<vk::Device> engine;
    std::unique_ptr<Device> device;
    std::shared_ptr<Module> module;
    std::shared_ptr<Kernel> scale_add, spin;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> a, b;

    virtual Result<vk::Loader> open_loader() const { return vk::Loader::open(); }
    void SetUp() override {
        auto loader = open_loader();
        ASSERT_TRUE(loader) << message_of(loader);
        auto made = vk::Instance::create(*loader, {.validation = vk::Validation::WithoutSynchronization});
        ASSERT_TRUE(made) << message_of(made);
        instance = std::move(*made);
        log = instance->validation();
        auto created = vk::Device::create(*instance);
        ASSERT_TRUE(created) << message_of(created);
        engine = std::move(*created);
        const CallersDevice callers{engine.get()};
        auto adopted = adopt("vulkan", &callers);
        ASSERT_TRUE(adopted) << message_of(adopted);
        device = std::move(*adopted);
        auto loaded = device->load("scale_add", std::as_bytes(std::span(kScaleAddWords)));
        ASSERT_TRUE(loaded) << message_of(loaded);
        module = *loaded;
        auto kernel = module->kernel("scale_add:256,1");
        ASSERT_TRUE(kernel) << message_of(kernel);
        scale_add = *kernel;
        spin = device->load("spin", std::as_bytes(std::span(kSpinWords))).value()->kernel("spin").value();
        stream = device->create_stream("test").value();
        a = device->allocate("a", kCount * sizeof(float)).value();
        b = device->allocate("b", kCount * sizeof(float)).value();
        stream->fill(b->data(), std::byte{0}, kCount * sizeof(float));
        std::vector<float> numbers(kCount);
        std::iota(numbers.begin(), numbers.end(), 0.F);
        const auto uploaded = stream->upload(a->data(), std::as_bytes(std::span(numbers)));
        ASSERT_TRUE(uploaded) << message_of(uploaded);
    }
    void release() {
        stream.reset();
        scale_add.reset();
        spin.reset();
        module.reset();
        a.reset();
        b.reset();
    }
    void TearDown() override {
        release();
        device.reset();
        engine.reset();
        instance.reset();
        if (log != nullptr) {
            EXPECT_EQ(log->text(), "");
        }
    }

    ScaleAddParams params(const Memory& from, const Memory& to, float scale, float offset) const {
        return {from.data(), to.data(), kCount, scale, offset};
    }
    void enqueue(Stream& on, std::string_view pass, const ScaleAddParams& params) {
        on.launch({.name = pass,
                   .kernel = *scale_add,
                   .grid = {(params.count + 255) / 256},
                   .block = {256},
                   .arguments = bytes_of(params)});
    }
    /// Adds to every number of `b`.
    void add(float scale, float offset) { enqueue(*stream, "add", params(*b, *b, scale, offset)); }
    void spend(std::uint32_t turns) {
        const SpinParams given{a->data(), turns};
        stream->launch({.name = "spin", .kernel = *spin, .grid = {1}, .block = {8}, .arguments = bytes_of(given)});
    }
    std::vector<float> read(const Memory& memory) {
        std::vector<float> values(kCount);
        const auto done = stream->read_back(std::as_writable_bytes(std::span(values)), memory.data());
        EXPECT_TRUE(done) << message_of(done);
        return values;
    }
    std::string message_of_launch(const Launch& launch) {
        stream->launch(launch);
        return message_of(stream->synchronize());
    }
};

}  // namespace kinetograph::accel::vulkan
