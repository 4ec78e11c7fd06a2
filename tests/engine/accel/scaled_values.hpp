// What tests of streams and graphs compute: standin_scale_add on numbers whose results are easy to see.
#pragma once

#include <kinetograph/tests/engine/accel/device_fixture.hpp>

#include <numeric>

namespace kinetograph::accel {

/// Two arrays of numbers, the first 0, 1, 2 ..., and a kernel that scales one into the other.
template <class Base>
struct ScaledArrays : Base {
    static constexpr std::uint32_t kCount = 1000;

    std::shared_ptr<Module> module;
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> a, b;

    void SetUp() override {
        Base::SetUp();
        if (this->device) prepare();
    }
    void prepare() {
        module = this->load_test_kernels();
        ASSERT_NE(module, nullptr);
        scale_add = *module->kernel("standin_scale_add");
        stream = std::move(*this->device->create_stream("test"));
        a = std::move(*this->device->allocate("a", kCount * sizeof(float)));
        b = std::move(*this->device->allocate("b", kCount * sizeof(float)));
        stream->fill(b->data(), std::byte{0}, kCount * sizeof(float));
        std::vector<float> numbers(kCount);
        std::iota(numbers.begin(), numbers.end(), 0.F);
        ASSERT_TRUE(stream->upload(a->data(), std::as_bytes(std::span(numbers))));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        module.reset();
        a.reset();
        b.reset();
    }
    void TearDown() override {
        release();
        Base::TearDown();
    }

    standin::ScaleAddParams params(const Memory& in, const Memory& out, float scale, float offset) const {
        return {reinterpret_cast<const float*>(in.data()), reinterpret_cast<float*>(out.data()), kCount, scale, offset};
    }
    void enqueue(Stream& on, std::string_view pass, const standin::ScaleAddParams& params) {
        on.launch({.name = pass,
                   .kernel = *scale_add,
                   .grid = {(kCount + 255) / 256},
                   .block = {256},
                   .arguments = bytes_of(params)});
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

/// An array of equal numbers, initially 0, which the same kernel updates in place.
template <class Base>
struct ScaledValue : Base {
    static constexpr std::uint32_t kCount = 64;
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> value;

    void make_value() {
        const auto module = this->load_test_kernels();
        ASSERT_NE(module, nullptr);
        scale_add = *module->kernel("standin_scale_add");
        stream = std::move(*this->device->create_stream("decode"));
        value = std::move(*this->device->allocate("value", kCount * sizeof(float)));
        stream->fill(value->data(), std::byte{0}, kCount * sizeof(float));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        value.reset();
    }
    void TearDown() override {
        release();
        Base::TearDown();
    }
    void add(std::string_view pass, float scale, float offset) {
        const standin::ScaleAddParams params{reinterpret_cast<const float*>(value->data()),
                                             reinterpret_cast<float*>(value->data()), kCount, scale, offset};
        stream->launch(
            {.name = pass, .kernel = *scale_add, .grid = {1}, .block = {kCount}, .arguments = bytes_of(params)});
    }
    float first_value() {
        float read = 0;
        const auto done = stream->read_back(std::as_writable_bytes(std::span(&read, 1)), value->data());
        EXPECT_TRUE(done) << message_of(done);
        return read;
    }
};

}  // namespace kinetograph::accel
