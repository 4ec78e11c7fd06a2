#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <set>

namespace kinetograph::cuda {
namespace {

TEST(FatBinaries, AreFoundByTheirNames) {
    std::set<std::string_view> names;
    for (const FatBinary& binary : fat_binaries()) {
        EXPECT_TRUE(names.insert(binary.name).second) << binary.name << " twice";
        EXPECT_EQ(fat_binary(binary.name).data(), binary.image.data());
    }
    EXPECT_TRUE(fat_binary("no such kernel").empty());
}

TEST(FatBinaries, AreWholeFilesThatTheDriverTakes) {
    for (const FatBinary& binary : fat_binaries()) {
        ASSERT_GE(binary.image.size(), 16u) << binary.name;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(binary.image.data()) % 64, 0u);
        uint32_t magic = 0;
        std::memcpy(&magic, binary.image.data(), sizeof(magic));
        EXPECT_EQ(magic, 0xba55ed50u) << binary.name;
        uint64_t bytes = 0;  // after the 16-byte header
        std::memcpy(&bytes, binary.image.data() + 8, sizeof(bytes));
        EXPECT_EQ(bytes + 16, binary.image.size()) << binary.name;
    }
}

TEST(FatBinaries, SayWhatCompiledThemOrWhyThereAreNone) {
    const std::string_view compiler = fat_binary_compiler();
    EXPECT_EQ(compiler.substr(0, 5), fat_binaries().empty() ? "built" : "nvcc ") << compiler;
}

}  // namespace
}  // namespace kinetograph::cuda
