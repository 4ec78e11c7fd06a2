#include <gtest/gtest.h>

#include <kinetograph/kernels/isa/descriptors.hpp>

namespace kinetograph::isa {
namespace {

uint64_t field(uint64_t bits, uint32_t first, uint32_t last) {
    return bits >> first & ((1ull << (last - first + 1)) - 1);
}

TEST(Descriptors, WgmmaFieldsLieWhereTheManualPutsThem) {
    const uint64_t bits = wgmma_descriptor({.address = 0x12340, .group_stride = 1024, .swizzle = Swizzle::Span128});
    EXPECT_EQ(field(bits, 0, 13), 0x1234u);
    EXPECT_EQ(field(bits, 16, 29), 1u);
    EXPECT_EQ(field(bits, 32, 45), 64u);
    EXPECT_EQ(field(bits, 46, 61), 0u);  // base_offset among them
    EXPECT_EQ(field(bits, 62, 63), 1u);
    EXPECT_EQ(field(wgmma_descriptor({.address = 0, .group_stride = 512, .swizzle = Swizzle::Span64}), 62, 63), 2u);
    EXPECT_EQ(field(wgmma_descriptor({.address = 0, .group_stride = 256, .swizzle = Swizzle::Span32}), 62, 63), 3u);
    EXPECT_EQ(field(wgmma_descriptor({.address = 0, .group_stride = 128, .swizzle = Swizzle::None}), 62, 63), 0u);
}

TEST(Descriptors, AddressesKeepOnlyTheCtasOwnEighteenBits) {
    const OperandTile tile{.address = 0x01000400, .group_stride = 1024, .swizzle = Swizzle::Span128};  // rank 1
    EXPECT_EQ(field(wgmma_descriptor(tile), 0, 13), 0x40u);
    EXPECT_EQ(field(tcgen05_descriptor(tile), 0, 13), 0x40u);
}

TEST(Descriptors, AnOperandThatBeginsLaterHasTheDescriptorOfItsOwnAddress) {
    const auto at = [](uint32_t address) {
        return wgmma_descriptor(
            {.address = address, .group_stride = 640, .swizzle = Swizzle::Span64, .chunk_stride = 8192});
    };
    for (const uint32_t bytes : {0u, 16u, 32u, 11'776u, 0x1fff0u}) {
        EXPECT_EQ(advanced(at(0x400), bytes), at(0x400 + bytes)) << bytes;
        EXPECT_EQ(advanced(at(0x1fc00), bytes), at(0x1fc00 + bytes)) << bytes;
    }
}

TEST(Descriptors, Tcgen05HasItsConstantAndItsOwnLayoutCodes) {
    const auto layout = [](Swizzle swizzle) {
        const uint64_t bits =
            tcgen05_descriptor({.address = 0x400, .group_stride = 8 * span_bytes(swizzle), .swizzle = swizzle});
        EXPECT_EQ(field(bits, 46, 48), 1u);
        EXPECT_EQ(field(bits, 49, 60), 0u);
        EXPECT_EQ(field(bits, 32, 45), span_bytes(swizzle) / 2);
        return field(bits, 61, 63);
    };
    EXPECT_EQ(layout(Swizzle::None), 0u);
    EXPECT_EQ(layout(Swizzle::Span128), 2u);
    EXPECT_EQ(layout(Swizzle::Span64), 4u);
    EXPECT_EQ(layout(Swizzle::Span32), 6u);
}

TEST(Descriptors, TheInstructionDescriptorNamesFormatsAndShape) {
    EXPECT_EQ(tcgen05_instruction(Element::BF16, Element::BF16, 128, 256),
              (1u << 4) | (1u << 7) | (1u << 10) | (32u << 17) | (8u << 24));
    EXPECT_EQ(tcgen05_instruction(Element::F16, Element::F16, 256, 96), (1u << 4) | (12u << 17) | (16u << 24));
    EXPECT_EQ(tcgen05_instruction(Element::F8E4M3, Element::F8E5M2, 64, 8),
              (1u << 4) | (1u << 10) | (1u << 17) | (4u << 24));
}

}  // namespace
}  // namespace kinetograph::isa
