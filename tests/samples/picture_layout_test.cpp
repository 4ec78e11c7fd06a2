#include <kinetograph/samples/viewer/picture_layout.hpp>

#include <gtest/gtest.h>

namespace kinetograph::viewer {
namespace {

TEST(PictureLayout, KeepsTheShapeAndCentresThePicture) {
    const Rectangle wide = fit_picture(512, 288, 1000, 1000);
    EXPECT_EQ(wide.width, 1000U);
    EXPECT_EQ(wide.height, 563U);  // 562.5
    EXPECT_EQ(wide.x, 0);
    EXPECT_EQ(wide.y, 218);
    const Rectangle tall = fit_picture(288, 512, 1280, 720);
    EXPECT_EQ(tall.height, 720U);
    EXPECT_EQ(tall.width, 405U);
    EXPECT_EQ(tall.x, 437);
}

TEST(PictureLayout, ExtremeShapesKeepAtLeastAPixel) {
    const Rectangle place = fit_picture(8192, 8, 100, 100);
    EXPECT_EQ(place.width, 100U);
    EXPECT_EQ(place.height, 1U);
}

TEST(PictureLayout, FindsThePixelUnderThePointer) {
    const Rectangle place = fit_picture(256, 144, 512, 400);  // twice the size, 56 lines above and below
    EXPECT_FALSE(pixel_at(place, 256, 144, 10, 55));
    EXPECT_FALSE(pixel_at(place, 256, 144, 10, 344));
    EXPECT_FALSE(pixel_at(place, 256, 144, -1, 100));
    EXPECT_FALSE(pixel_at(place, 256, 144, 512, 100));
    const auto first = pixel_at(place, 256, 144, 0.2, 56.0);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->x, 0U);
    EXPECT_EQ(first->y, 0U);
    const auto last = pixel_at(place, 256, 144, 511.9, 343.9);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->x, 255U);
    EXPECT_EQ(last->y, 143U);
    EXPECT_EQ(pixel_at(place, 256, 144, 101, 100)->x, 50U);
}

}  // namespace
}  // namespace kinetograph::viewer
