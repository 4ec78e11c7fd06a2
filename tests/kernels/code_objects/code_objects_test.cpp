#include <gtest/gtest.h>
#include <array>
#include <cstring>

#include <kinetograph/kernels/hip/code_objects.hpp>

namespace kinetograph::hip {
namespace {

TEST(CodeObjects, AreWholeElfFilesForTheChip) {
    if (code_objects().empty()) GTEST_SKIP() << code_object_compiler();
    for (const CodeObject& object : code_objects()) {
        SCOPED_TRACE(object.name);
        ASSERT_GT(object.image.size(), 64u);
        const std::array<unsigned char, 6> magic{0x7f, 'E', 'L', 'F', 2, 1};  // 64 bit, little-endian
        EXPECT_EQ(std::memcmp(object.image.data(), magic.data(), magic.size()), 0);
        uint16_t machine = 0;
        std::memcpy(&machine, object.image.data() + 18, sizeof machine);
        EXPECT_EQ(machine, 224);  // EM_AMDGPU
        uint32_t flags = 0;
        std::memcpy(&flags, object.image.data() + 48, sizeof flags);
        EXPECT_EQ(flags & 0xff, 0x4f);  // EF_AMDGPU_MACH_AMDGCN_GFX950
        // The last section header ends the file: nothing is missing.
        uint64_t sections = 0;
        uint16_t count = 0;
        std::memcpy(&sections, object.image.data() + 40, sizeof sections);
        std::memcpy(&count, object.image.data() + 60, sizeof count);
        EXPECT_EQ(sections + 64u * count, object.image.size());
    }
}

TEST(CodeObjects, AreFoundByTheirChipAndTheNameOfTheirSource) {
    if (code_objects().empty()) GTEST_SKIP() << code_object_compiler();
    for (const CodeObject& object : code_objects()) {
        EXPECT_EQ(code_object(object.chip, object.name).data(), object.image.data()) << object.name;
        EXPECT_EQ(code_object("gfx950:sramecc+:xnack-", object.name).data(), object.image.data()) << object.name;
        EXPECT_TRUE(code_object("gfx942", object.name).empty()) << object.name;
    }
}

TEST(CodeObjects, OfAnUnknownNameAreEmpty) { EXPECT_TRUE(code_object("gfx950", "no such kernel").empty()); }

TEST(CodeObjects, SayWhatCompiledThem) {
    if (code_object_compiler() == "built without a compiler for gfx950") {
        EXPECT_TRUE(code_objects().empty());
    } else {
        EXPECT_NE(code_object_compiler().find("clang version"), std::string_view::npos) << code_object_compiler();
    }
}

}  // namespace
}  // namespace kinetograph::hip
