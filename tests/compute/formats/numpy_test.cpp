// NumPy's arrays: files of one, archives of several, every type and order; and headers that must not be believed.
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/tests/compute/formats/pytorch_archive.hpp>

#include <gtest/gtest.h>

namespace kinetograph::formats::numpy {
namespace {

std::string npy(const std::string& header, const std::string& data, char version = 1) {
    std::string length = test::little_endian(static_cast<std::uint32_t>(header.size()));
    if (version == 1) length.resize(2);
    return "\x93NUMPY" + std::string{version, '\0'} + length + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }   \n";
}

template <class Number>
std::string bytes_of(std::initializer_list<Number> numbers) {
    std::string bytes;
    for (const Number number : numbers) bytes += test::little_endian(number);
    return bytes;
}

Result<TensorSource> parse_text(const std::string& bytes) {
    const auto kept = std::make_shared<const std::string>(bytes);
    return parse({std::as_bytes(std::span(*kept)), kept}, "latents.npy");
}

std::vector<float> values_in(const std::string& bytes, const tensor::Shape& shape, const std::string& name = "array") {
    const auto source = parse_text(bytes);
    EXPECT_TRUE(source) << source.error().message;
    if (!source || source->find(name) == nullptr) return {};
    EXPECT_EQ(source->find(name)->shape, shape);
    return tensor::to_f32(*source->find(name), name).value();
}

std::string refusal(const std::string& bytes) {
    const auto source = parse_text(bytes);
    return source ? "accepted" : source.error().message;
}

TEST(NumpyFile, IsReadInEveryFloatingPointTypeAndVersion) {
    const std::vector<float> wanted{1, -2, 0.5F};
    for (const char version : {'\1', '\2', '\3'})
        EXPECT_EQ(values_in(npy(header_of("<f4", "3,"), bytes_of({1.0F, -2.0F, 0.5F}), version), {3}), wanted);
    EXPECT_EQ(values_in(npy(header_of("<f8", "3,"), bytes_of({1.0, -2.0, 0.5})), {3}), wanted);
    EXPECT_EQ(values_in(npy(header_of("<f2", "3,"), bytes_of<std::uint16_t>({0x3C00, 0xC000, 0x3800})), {3}), wanted);
    EXPECT_EQ(values_in(npy(header_of("|V2", "3,"), bytes_of<std::uint16_t>({0x3F80, 0xC000, 0x3F00})), {3}), wanted);
    EXPECT_EQ(values_in(npy(header_of("<f4", ""), bytes_of({7.0F})), {}), std::vector<float>{7});
    EXPECT_EQ(values_in(npy(header_of("<f4", "0, 4"), ""), {0, 4}), std::vector<float>{});
}

TEST(NumpyFile, MayBeBigEndianOrInFortransOrder) {
    EXPECT_EQ(values_in(npy(header_of(">f4", "2,"), std::string("\x3f\x80\0\0\xc0\0\0\0", 8)), {2}),
              (std::vector<float>{1, -2}));
    EXPECT_EQ(values_in(npy(header_of("<f4", "2, 3", "True"), bytes_of({0.0F, 3.0F, 1.0F, 4.0F, 2.0F, 5.0F})), {2, 3}),
              (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(NumpyFile, WhoseHeaderIsWrongIsRefused) {
    const std::string damaged = "latents.npy: array \"array\": its header is not NumPy's: damaged?";
    for (const std::string& header :
         {std::string("{}"), std::string("{'descr': '<f4', 'fortran_order': False}"), header_of("<f4", "-1,"),
          header_of("<f4", "2, x"), header_of("<f4", "2", "Maybe"), std::string("{'descr': '<f4")})
        EXPECT_EQ(refusal(npy(header, "")), damaged) << header;
    EXPECT_EQ(refusal("\x93NUMPY"), damaged);
    EXPECT_EQ(refusal(npy(header_of("<f4", "2,"), bytes_of({1.0F}))),
              "latents.npy: array \"array\" of shape [2] takes 8 bytes, but only 4 follow: truncated?");
    EXPECT_EQ(refusal(npy(header_of("<f4", "4000000000, 4000000000"), "")).find("takes 0"), std::string::npos);
    EXPECT_EQ(refusal(npy(header_of("|O", "2,"), "")),
              "latents.npy: array \"array\" holds Python objects, which are not read: save it as float32");
    EXPECT_EQ(refusal(npy(header_of("<c8", "2,"), std::string(16, '\0'))),
              "latents.npy: array \"array\" holds \"<c8\", which are not read: save it as float32");
}

TEST(NumpyArchive, HoldsItsArraysByName) {
    const std::string latents = npy(header_of("<f4", "2,"), bytes_of({1.0F, 2.0F}));
    const std::string file =
        test::zip_of({{"latents.npy", latents}, {"prompt.npy", npy(header_of("<U4", "1,"), "a...")}});
    EXPECT_EQ(values_in(file, {2}, "latents"), (std::vector<float>{1, 2}));
    EXPECT_TRUE(parse_text(file)->unreadable().contains("prompt")) << "text is no reason to refuse the rest";
}

TEST(NumpyArchive, HasNumbersBesideItsArraysAsMetadata) {
    const auto fps = [](const std::string& type, const std::string& bytes) {
        return parse_text(test::zip_of({{"fps.npy", npy(header_of(type, ""), bytes)}}))->metadata();
    };
    const std::map<std::string, std::string> wanted{{"fps", "30"}};
    EXPECT_EQ(fps("<i8", bytes_of<std::int64_t>({30})), wanted);
    EXPECT_EQ(fps("<i4", bytes_of<std::int32_t>({30})), wanted);
    EXPECT_EQ(fps("<f4", bytes_of({30.0F})), wanted);
    EXPECT_EQ(fps("<f8", bytes_of({29.97})), (std::map<std::string, std::string>{{"fps", "29.97"}}));
}

/// np.savez_compressed([1, 2, 1, 2, ...]): one entry, deflated.
std::string deflated(const std::string& bytes, std::uint32_t claimed) {
    std::string packed(compressBound(bytes.size()), '\0');
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    const auto u16 = [](std::size_t value) { return test::little_endian(static_cast<std::uint16_t>(value)); };
    const auto u32 = [](std::size_t value) { return test::little_endian(static_cast<std::uint32_t>(value)); };
    const std::string name = "arr_0.npy";
    const auto checksum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    const std::string facts = u16(20) + u16(0) + u16(8) + u32(0) + u32(checksum) + u32(packed.size()) + u32(claimed) +
                              u16(name.size()) + u16(0);
    const std::string entry = "PK\x03\x04" + facts + name + packed;
    const std::string table = "PK\x01\x02" + u16(20) + facts + u16(0) + u16(0) + u16(0) + u32(0) + u32(0) + name;
    return entry + table + "PK\x05\x06" + u32(0) + u16(1) + u16(1) + u32(table.size()) + u32(entry.size()) + u16(0);
}

TEST(NumpyArchive, MayBeCompressed) {
    std::string data;
    std::vector<float> wanted;
    for (int i = 0; i < 1000; ++i) {
        wanted.push_back(static_cast<float>(i % 7));
        data += test::little_endian(wanted.back());
    }
    const std::string array = npy(header_of("<f4", "1000,"), data);
    const auto size = static_cast<std::uint32_t>(array.size());
    EXPECT_EQ(values_in(deflated(array, size), {1000}, "arr_0"), wanted);
    EXPECT_EQ(refusal(deflated(array, size + 1)), "latents.npy: entry \"arr_0.npy\" cannot be inflated to its " +
                                                      std::to_string(size + 1) + " bytes: damaged");
    EXPECT_EQ(refusal(deflated(array, 4'000'000'000)),
              "latents.npy: entry \"arr_0.npy\" would inflate to 4000000000 bytes: damaged");
}

}  // namespace
}  // namespace kinetograph::formats::numpy
