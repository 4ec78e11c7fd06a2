#include <gtest/gtest.h>

#include <functional>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace kinetograph::isa {
namespace {

alignas(16) uint16_t memory[16];

TensorMapDesc tiled() {
    TensorMapDesc desc = dense_map(MapMode::Tiled, Element::BF16, memory, 4, {96, 30, 20, 2});
    desc.box = {64, 10, 4, 1};
    return desc;
}
TensorMapDesc im2col() {
    TensorMapDesc desc = dense_map(MapMode::Im2col, Element::BF16, memory, 5, {96, 30, 20, 8, 2});
    desc.swizzle = Swizzle::Span128;
    desc.lower_corner = {-1, -1, -2};
    desc.upper_corner = {-1, -1, -2};
    desc.channels_per_pixel = 64;
    desc.pixels_per_column = 256;
    return desc;
}

TEST(TensorMap, StridesOfADenseMapFollowFromItsSizes) {
    const TensorMapDesc desc = tiled();
    EXPECT_EQ(desc.stride_bytes, (std::array<uint64_t, 4>{192, 192 * 30, 192 * 30 * 20, 0}));
    EXPECT_EQ(box_bytes(desc), 64u * 10 * 4 * 2);
    EXPECT_EQ(box_bytes(im2col()), 64u * 256 * 2);
}

TEST(TensorMap, EveryLimitOfTheEncodeCallsIsNamedWhenItIsBroken) {
    struct Case {
        const char* sentence;
        std::function<void(TensorMapDesc&)> breaks;
        bool column;
    };
    const Case cases[] = {
        {"", [](auto&) {}, false},
        {"", [](auto&) {}, true},
        {"rank is 6; 1..5 are allowed", [](auto& d) { d.rank = 6; }, false},
        {"rank is 2; 3..5 are allowed", [](auto& d) { d.rank = 2; }, true},
        {"the tensor's address is not 16-byte aligned", [](auto& d) { d.address = memory + 1; }, false},
        {"size of axis 1 is outside 1..2^32", [](auto& d) { d.size[1] = 0; }, false},
        {"stride of axis 1 is 24 bytes; a multiple of 16 below 2^40 is needed", [](auto& d) { d.stride_bytes[0] = 24; },
         false},
        {"element stride of axis 2 is 9; 1..8 are allowed", [](auto& d) { d.element_stride[2] = 9; }, true},
        {"box of axis 1 is 257 elements; 1..256 are allowed", [](auto& d) { d.box[1] = 257; }, false},
        {"pixels per column are 1025; 1..1024 are allowed", [](auto& d) { d.pixels_per_column = 1025; }, true},
        {"channels per pixel are 257; 1..256 are allowed", [](auto& d) { d.channels_per_pixel = 257; }, true},
        {"the box's innermost row of 192 bytes exceeds the 128 bytes that the swizzle spans",
         [](auto& d) { d.channels_per_pixel = 96; }, true},
        {"", [](auto& d) { d.channels_per_pixel = 96, d.swizzle = Swizzle::None; }, true},
        {"the box's innermost row is 20 bytes; a multiple of 16 is needed", [](auto& d) { d.box[0] = 10; }, false},
        {"corner -17 of spatial axis 2 is outside [-16, 15], the range of rank 5",
         [](auto& d) { d.lower_corner[2] = -17; }, true},
        {"",
         [](auto& d) {
             d.lower_corner = {-16, -16, -16}, d.upper_corner = {15, 15, 15};
         },
         true},
        {"the bounding box of spatial axis 2 is empty", [](auto& d) { d.upper_corner[2] = -10; }, true},
    };
    for (const Case& test : cases) {
        TensorMapDesc desc = test.column ? im2col() : tiled();
        test.breaks(desc);
        EXPECT_EQ(broken_limit(desc).value_or(""), test.sentence);
    }
}

TEST(TensorMap, CornersOfRankFourReachFurther) {
    TensorMapDesc desc = dense_map(MapMode::Im2col, Element::BF16, memory, 4, {64, 300, 300, 1});
    desc.channels_per_pixel = desc.pixels_per_column = 64;
    desc.lower_corner = {-128, -128, 0};
    desc.upper_corner = {127, 127, 0};
    EXPECT_EQ(broken_limit(desc), std::nullopt);
    desc.upper_corner[0] = 128;
    EXPECT_EQ(broken_limit(desc).value_or(""),
              "corner 128 of spatial axis 0 is outside [-128, 127], the range of rank 4");
}

TEST(TensorMap, EncodeArgumentsAreTheDriversNumbers) {
#if __has_include(<cuda.h>)
    EXPECT_EQ(encode_arguments(tiled()).data_type, static_cast<uint32_t>(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
    const std::pair<Element, uint32_t> types[] = {{Element::U8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                                                  {Element::U16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
                                                  {Element::F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
                                                  {Element::F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32}};
    for (const auto& [element, number] : types) {
        TensorMapDesc desc = tiled();
        desc.element = element;
        EXPECT_EQ(encode_arguments(desc).data_type, number);
    }
    const EncodeArguments arguments = encode_arguments(im2col());
    EXPECT_EQ(arguments.swizzle, static_cast<uint32_t>(CU_TENSOR_MAP_SWIZZLE_128B));
    EXPECT_EQ(arguments.interleave, static_cast<uint32_t>(CU_TENSOR_MAP_INTERLEAVE_NONE));
    EXPECT_EQ(arguments.l2_promotion, static_cast<uint32_t>(CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
    EXPECT_EQ(arguments.oob_fill, static_cast<uint32_t>(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
#else
    GTEST_SKIP() << "cuda.h is not on this machine: the driver's enumerators are not compared";
#endif
}

}  // namespace
}  // namespace kinetograph::isa
