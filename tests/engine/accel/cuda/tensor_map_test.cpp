#include "gpu_fixture.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/tensor_map.hpp>

#include <algorithm>

namespace kinetograph::accel::cuda {
namespace {

struct CudaTensorMaps : Gpu {
    std::unique_ptr<Memory> tensor;

    void SetUp() override {
        Gpu::SetUp();
        if (!device) return;
        if (device->info().architecture.size() < 5 || device->info().architecture[3] == '8')
            GTEST_SKIP() << device_name() << " has no tensor maps";
        tensor = std::move(*device->allocate("activation", 8U << 20U));
    }
    void TearDown() override {
        tensor.reset();
        Gpu::TearDown();
    }
    /// [2, 4, 16, 24, 96] bf16, NDHWC, as a causal 3x3x3 convolution reads it.
    isa::TensorMapDesc causal() const {
        auto desc = isa::dense_map(isa::MapMode::Im2col, Element::BF16, tensor->data(), 5, {96, 24, 16, 4, 2});
        desc.swizzle = isa::Swizzle::Span64;
        desc.lower_corner = {-1, -1, -2};
        desc.upper_corner = {-1, -1, -2};
        desc.channels_per_pixel = 32;
        desc.pixels_per_column = 256;
        return desc;
    }
    isa::TensorMapDesc filter(std::uint32_t rank) const {
        auto desc = isa::dense_map(isa::MapMode::Tiled, Element::BF16, tensor->data(), rank, {96, 27, 8, 4, 2});
        desc.swizzle = isa::Swizzle::Span128;
        desc.box = {64, 1, 8, 2, 1};
        return desc;
    }
};

bool is_filled(const isa::TensorMap& map) {
    return std::ranges::any_of(map.words, [](std::uint64_t word) { return word != 0; });
}

TEST_F(CudaTensorMaps, OfEveryRankAreEncoded) {
    for (std::uint32_t rank = 1; rank <= 5; ++rank) {
        const auto map = encode_tensor_map(*device, "filter", filter(rank));
        ASSERT_TRUE(map) << message_of(map);
        EXPECT_TRUE(is_filled(*map));
    }
    const auto map = encode_tensor_map(*device, "activation", causal());
    ASSERT_TRUE(map) << message_of(map);
    EXPECT_TRUE(is_filled(*map));
}

TEST_F(CudaTensorMaps, MayReachTheCornersOfTheirRank) {
    auto desc = causal();
    desc.lower_corner = {-16, -16, -16};
    desc.upper_corner = {15, 15, 15};
    desc.pixels_per_column = 1024;
    EXPECT_TRUE(encode_tensor_map(*device, "activation", desc));
}

/// Our limits are the driver's: it is asked about each too.
TEST_F(CudaTensorMaps, BeyondALimitAreRefusedByTensorAndLimitAsTheDriverWould) {
    struct Broken {
        isa::TensorMapDesc desc;
        std::string sentence;
    };
    std::vector<Broken> all;
    all.push_back({causal(), "corner -17 of spatial axis 2 is outside [-16, 15], the range of rank 5"});
    all.back().desc.lower_corner[2] = -17;
    all.push_back({causal(), "pixels per column are 1025; 1..1024 are allowed"});
    all.back().desc.pixels_per_column = 1025;
    all.push_back({causal(), "the bounding box of spatial axis 2 is empty"});
    all.back().desc.upper_corner[2] = -6;
    all.push_back({causal(), "the box's innermost row of 192 bytes exceeds the 64 bytes that the swizzle spans"});
    all.back().desc.channels_per_pixel = 96;
    all.push_back({causal(), "element stride of axis 1 is 9; 1..8 are allowed"});
    all.back().desc.element_stride[1] = 9;
    all.push_back({filter(3), "box of axis 1 is 257 elements; 1..256 are allowed"});
    all.back().desc.box[1] = 257;
    all.push_back({filter(3), "stride of axis 1 is 200 bytes; a multiple of 16 below 2^40 is needed"});
    all.back().desc.stride_bytes[0] = 200;
    all.push_back({filter(3), "the tensor's address is not 16-byte aligned"});
    all.back().desc.address = tensor->data() + 8;
    const auto driver = *Driver::open(library);
    const EntryPoints& cuda = driver->entry_points();
    ContextHandle primary = nullptr;
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&primary, 0), Status::Success);
    ASSERT_EQ(cuda.cuCtxPushCurrent_v2(primary), Status::Success);
    for (const Broken& broken : all) {
        const auto refused = encode_tensor_map(*device, "up2.res1.conv1", broken.desc);
        ASSERT_FALSE(refused) << broken.sentence;
        EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
        EXPECT_EQ(refused.error().message, "tensor map of \"up2.res1.conv1\": " + broken.sentence);
        const isa::EncodeArguments a = isa::encode_arguments(broken.desc);
        TensorMap map{};
        const auto type = static_cast<TensorMapDataType>(a.data_type);
        const auto swizzle = static_cast<TensorMapSwizzle>(a.swizzle);
        const Status answer =
            broken.desc.mode == isa::MapMode::Tiled
                ? cuda.cuTensorMapEncodeTiled(&map, type, a.rank, a.address, a.size.data(), a.stride_bytes.data(),
                                              a.box.data(), a.element_stride.data(), TensorMapInterleave::None, swizzle,
                                              TensorMapL2Promotion::Bytes256, TensorMapOutOfBounds::Zeros)
                : cuda.cuTensorMapEncodeIm2col(&map, type, a.rank, a.address, a.size.data(), a.stride_bytes.data(),
                                               a.lower_corner.data(), a.upper_corner.data(), a.channels_per_pixel,
                                               a.pixels_per_column, a.element_stride.data(), TensorMapInterleave::None,
                                               swizzle, TensorMapL2Promotion::Bytes256, TensorMapOutOfBounds::Zeros);
        EXPECT_EQ(answer, Status::InvalidValue) << broken.sentence;
    }
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&primary), Status::Success);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), Status::Success);
}

TEST_F(CudaTensorMaps, AreWhatOtherDevicesDoNotHave) {
    const auto cpu = cpu::create_device();
    const auto refused = encode_tensor_map(*cpu, "activation", causal());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_TRUE(refused.error().message.starts_with("tensor map of \"activation\": " + cpu->info().name + " ("))
        << message_of(refused);
    EXPECT_TRUE(refused.error().message.ends_with(") has no tensor maps"));
}

}  // namespace
}  // namespace kinetograph::accel::cuda
