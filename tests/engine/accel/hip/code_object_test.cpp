#include <gtest/gtest.h>
#include <kinetograph/engine/accel/hip/code_object.hpp>

#include <elf.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace kinetograph::accel::hip {
namespace {

/// An ELF file that has nothing but one note segment, in which `metadata` lies as compilers write it.
std::vector<std::byte> code_object(const nlohmann::json& metadata, std::uint16_t machine = 224) {
    const std::vector<std::uint8_t> packed = nlohmann::json::to_msgpack(metadata);
    const Elf64_Nhdr note{.n_namesz = 7, .n_descsz = static_cast<Elf64_Word>(packed.size()), .n_type = 32};
    const std::size_t padded = (packed.size() + 3) / 4 * 4;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = machine;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr segment{};
    segment.p_type = PT_NOTE;
    segment.p_offset = sizeof(header) + sizeof(segment);
    segment.p_filesz = sizeof(note) + 8 + padded;
    std::vector<std::byte> image(segment.p_offset + segment.p_filesz);
    const auto put = [&](std::size_t at, const void* from, std::size_t bytes) {
        std::memcpy(image.data() + at, from, bytes);
    };
    put(0, &header, sizeof(header));
    put(header.e_phoff, &segment, sizeof(segment));
    put(segment.p_offset, &note, sizeof(note));
    put(segment.p_offset + sizeof(note), "AMDGPU", 7);
    put(segment.p_offset + sizeof(note) + 8, packed.data(), packed.size());
    return image;
}

nlohmann::json metadata() {
    return nlohmann::json::parse(R"({
        "amdhsa.target": "amdgcn-amd-amdhsa--gfx950:xnack-",
        "amdhsa.version": [1, 2],
        "amdhsa.kernels": [{
            ".name": "conv_bf16_128x128",
            ".max_flat_workgroup_size": 256,
            ".group_segment_fixed_size": 65536,
            ".private_segment_fixed_size": 0,
            ".vgpr_count": 324,
            ".agpr_count": 256,
            ".vgpr_spill_count": 0,
            ".sgpr_spill_count": 2,
            ".args": [{".offset": 0, ".size": 200, ".value_kind": "by_value"},
                      {".offset": 200, ".size": 4, ".value_kind": "hidden_block_count_x"}]
        }]
    })");
}

TEST(CodeObjectMetadata, TellsTheTargetAndTheKernelsNeeds) {
    const auto read = read_code_object(code_object(metadata()));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(read->has_value());
    EXPECT_EQ((*read)->target, "amdgcn-amd-amdhsa--gfx950:xnack-");
    EXPECT_EQ((*read)->architecture, "gfx950");
    const CodeObjectKernel* kernel = (*read)->find("conv_bf16_128x128");
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->argument_bytes, 200U) << "hidden arguments are the runtime's";
    EXPECT_EQ(kernel->max_threads, 256U);
    EXPECT_EQ(kernel->shared_bytes, 65536U);
    EXPECT_EQ(kernel->scratch_bytes, 0U);
    EXPECT_EQ(kernel->vgprs, 324U);
    EXPECT_EQ(kernel->agprs, 256U);
    EXPECT_EQ(kernel->spilled_sgprs, 2U);
    EXPECT_EQ((*read)->find("conv_bf16_64x64"), nullptr);
}

TEST(CodeObjectMetadata, IsOnlyReadFromCodeObjects) {
    const std::string bundle = "__CLANG_OFFLOAD_BUNDLE__ and what follows";
    const auto read = read_code_object(std::as_bytes(std::span(bundle)));
    ASSERT_TRUE(read);
    EXPECT_FALSE(read->has_value());
    const auto x86 = read_code_object(code_object(metadata(), EM_X86_64));
    ASSERT_TRUE(x86);
    EXPECT_FALSE(x86->has_value());
}

TEST(CodeObjectMetadata, CutOffOrBrokenAnywhereIsAnErrorAndNeverReadBeyondItsEnd) {
    const std::vector<std::byte> whole = code_object(metadata());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
        const auto read = read_code_object(cut);
        EXPECT_FALSE(read && read->has_value()) << bytes;
    }
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const unsigned value : {0x00U, 0x7FU, 0xFFU}) {
            std::vector<std::byte> broken = whole;
            broken[at] = static_cast<std::byte>(value);
            const auto read = read_code_object(broken);
            if (!read) {
                EXPECT_EQ(read.error().code, ErrorCode::Corrupt);
            }
        }
}

TEST(CodeObjectMetadata, WithoutKernelsIsCorrupt) {
    auto without = metadata();
    without.erase("amdhsa.kernels");
    const auto read = read_code_object(code_object(without));
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().message.starts_with("the code object's metadata cannot be read: "))
        << read.error().message;
}

}  // namespace
}  // namespace kinetograph::accel::hip
