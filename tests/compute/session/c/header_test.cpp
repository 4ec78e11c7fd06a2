#include <gtest/gtest.h>
#include <kinetograph.h>

extern "C" uint32_t version_by_c99(void);
uint32_t version_by_cpp17();

TEST(CHeader, IsC99AndCpp17AndOfTheLibrarysVersion) {
    EXPECT_EQ(version_by_c99(), KG_VERSION);
    EXPECT_EQ(version_by_cpp17(), KG_VERSION);
}
