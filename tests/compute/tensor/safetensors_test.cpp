#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <ctime>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/tests/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

namespace kinetograph::tensor {
namespace {

using test::safetensors_bytes;
using test::TemporaryFolder;

Result<SafetensorsFile> parse(const std::string& bytes) {
    return SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "clip.safetensors");
}

/// The error's sentence when `bytes` are opened; checks that it names the file.
std::string refusal(const std::string& bytes) {
    const auto file = parse(bytes);
    if (file) return "accepted";
    EXPECT_EQ(file.error().code, ErrorCode::Corrupt) << file.error().message;
    return file.error().message;
}

/// As above, for a header of one file with `data_bytes` bytes of data.
std::string refusal(std::string_view header, std::size_t data_bytes) {
    return refusal(safetensors_bytes(header, std::string(data_bytes, '\0')));
}

TEST(Safetensors, GivesTensorsInFileOrderWithMetadataAndDataInPlace) {
    const std::string bytes =
        safetensors_bytes(R"({"second":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
                          R"("__metadata__":{"fps":"24"},"first":{"data_offsets":[0,8],"dtype":"F32","shape":[2,1]}})",
                          std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8) + "abc");
    const auto file = parse(bytes);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->tensors().size(), 2U);
    EXPECT_EQ(file->tensors()[0].name, "first");
    EXPECT_EQ(file->tensors()[0].view.shape, (Shape{2, 1}));
    EXPECT_EQ(file->tensors()[1].name, "second");
    EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"fps", "24"}}));
    EXPECT_EQ(file->name(), "clip.safetensors");
    EXPECT_EQ(file->bytes().size(), bytes.size());

    const TensorView* second = file->find("second");
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->dtype, DType::U8);
    EXPECT_EQ(static_cast<const void*>(second->data), bytes.data() + bytes.size() - 3);
    EXPECT_EQ(file->find("third"), nullptr);
    EXPECT_EQ(file->find("__metadata__"), nullptr);
}

TEST(Safetensors, ReadsFloatsThatLieAtOddAddresses) {
    const std::string bytes = safetensors_bytes(
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
        std::string("\x07\x00\x00\x80\x3f", 5));
    const auto file = parse(bytes);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(to_f32(*file->find("b"), "b").value(), std::vector<float>{1.0F});
}

TEST(Safetensors, AcceptsNoTensorsEmptyTensorsScalarsAndPadding) {
    EXPECT_EQ(refusal("{}", 0), "accepted");
    EXPECT_EQ(refusal("{}     \n\t ", 0), "accepted");
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), "accepted");
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[9223372036854775807,0,5],"data_offsets":[4,4]},)"
                      R"("b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                      R"("c":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                      4),
              "accepted");
}

TEST(Safetensors, RefusesATruncatedFileWhereverItWasCut) {
    const std::string whole =
        safetensors_bytes(R"({"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
    ASSERT_EQ(refusal(whole), "accepted");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_NE(refusal(whole.substr(0, length)).find("truncated"), std::string::npos) << length << " bytes";
    }
    EXPECT_EQ(refusal(whole.substr(0, 5)),
              "clip.safetensors: truncated: 5 bytes, a safetensors file starts with 8 of header length");
    EXPECT_EQ(refusal(whole.substr(0, 30)), "clip.safetensors: truncated: header of 59 bytes, but only 22 follow");
    EXPECT_EQ(
        refusal(whole.substr(0, whole.size() - 1)),
        "clip.safetensors: tensor \"weight\" has data_offsets [0, 8], past the file's 7 bytes of data: truncated?");
}

TEST(Safetensors, RefusesAnOversizedHeader) {
    const std::string sentence =
        "clip.safetensors: of no known format (safetensors, PyTorch, gguf, NumPy): it begins with the bytes ";
    EXPECT_EQ(refusal(test::little_endian(100'000'001) + "{}"), sentence + "01 e1 f5 05 00 00 00 00");
    EXPECT_EQ(refusal(test::little_endian(~std::uint64_t{0}) + "{}"), sentence + "ff ff ff ff ff ff ff ff");
}

TEST(Safetensors, RecognisesWhatPeopleOpenByMistake) {
    const std::string web_page =
        "a web page (HTML), not the file itself: download it again, signed in if the site asks for it";
    const std::pair<std::string, std::string> files[] = {
        {std::string("PK\x03\x04\x00\x00\x08\x08", 8), "a zip archive, as PyTorch's .pt and .pth are"},
        {std::string("GGUF\x03\x00\x00\x00", 8), "a GGUF file"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0",
         "a Git LFS pointer, not the file itself: git lfs pull fetches it"},
        {"<!DOCTYPE html>", web_page},
        {"\xef\xbb\xbf\n  <HTML lang=en>", web_page},
        {"<?xml version=\"1.0\"?><Error/>",
         "an XML document, as servers send errors, not the file itself: download it again"},
        {"{\"error\": \"Unauthorized\"}", "JSON text, not the file itself: a server's answer or a configuration"},
        {"these are words", "text, not the file itself"},
        {"", "an empty file, truncated? Download or save it again"},
        {std::string(100, '\0'),
         "a file that begins with zeros only, as a download that was cut short: download it again"},
        {"\x1f\x8b\x08" + std::string(8, '\0'), "compressed by gzip: unpack it first"},
        {std::string(4, '\0') + "ftypisom", "an MP4 or MOV video"},
        {std::string(257, 'x') + "ustar", "a tar archive: unpack it first"},
        {std::string("\x80\x04\x95\x10\0\0\0\0", 8),
         "a Python pickle: save its tensors with torch.save or as safetensors"}};
    for (const auto& [contents, what] : files) EXPECT_TRUE(refusal(contents).ends_with(": this is " + what)) << what;
}

TEST(Safetensors, RefusesAHeaderThatIsNotAnObject) {
    const std::string sentence = "clip.safetensors: the header does not start with '{': not a safetensors file?";
    EXPECT_EQ(refusal("", 0), sentence);
    EXPECT_EQ(refusal(" {}", 0), sentence);
    EXPECT_EQ(refusal("[]", 0), sentence);
}

TEST(Safetensors, RefusesTextThatIsNotJson) {
    EXPECT_EQ(refusal("{]", 0), "clip.safetensors: the header is not JSON from its byte 2 on");
    EXPECT_EQ(refusal(R"({"a":)", 0), "clip.safetensors: the header is not JSON from its byte 6 on");
    EXPECT_EQ(refusal("{}{}", 0), "clip.safetensors: the header is not JSON from its byte 3 on");
    EXPECT_EQ(refusal("{\"\xff\":{}}", 0), "clip.safetensors: the header is not JSON from its byte 3 on");
    EXPECT_EQ(refusal(R"(/**/{})", 0), "clip.safetensors: the header does not start with '{': not a safetensors file?");
}

TEST(Safetensors, RefusesDeepNestingWithoutUsingTheStack) {
    const std::string deep(1'000'000, '[');
    EXPECT_EQ(refusal(R"({"a":{"shape":)" + deep, 0), "clip.safetensors: tensor \"a\": an array in its field shape");
    EXPECT_EQ(refusal(R"({"a":)" + deep, 0), "clip.safetensors: tensor \"a\": an array where an object should be");
}

TEST(Safetensors, RefusesDuplicateNames) {
    const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    EXPECT_EQ(refusal(R"({"a":)" + entry + R"(,"a":)" + entry + "}", 0), "clip.safetensors: tensor \"a\" occurs twice");
    EXPECT_EQ(refusal(R"({"__metadata__":{"fps":"24","fps":"25"}})", 0),
              "clip.safetensors: header, __metadata__: \"fps\" occurs twice");
    EXPECT_EQ(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0),
              "clip.safetensors: tensor \"__metadata__\" occurs twice");
    EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0),
              "clip.safetensors: tensor \"a\": field dtype occurs twice");
}

TEST(Safetensors, RefusesMetadataThatIsNotText) {
    for (const std::string value : {"24", "-1", "2.5", "null", "true", "[]", "{}"}) {
        EXPECT_NE(refusal(R"({"__metadata__":{"fps":)" + value + "}}", 0).find("value of \"fps\" is "),
                  std::string::npos)
            << value;
    }
    EXPECT_EQ(refusal(R"({"__metadata__":{"fps":24}})", 0),
              "clip.safetensors: header, __metadata__: value of \"fps\" is a number, not text");
}

TEST(Safetensors, RefusesMissingUnknownAndMistypedFields) {
    EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[0]}})", 0),
              "clip.safetensors: tensor \"a\": field data_offsets is missing");
    EXPECT_EQ(refusal(R"({"a":{}})", 0), "clip.safetensors: tensor \"a\": field dtype is missing");
    EXPECT_EQ(refusal(R"({"a":{"strides":[1]}})", 0), "clip.safetensors: tensor \"a\": unknown field \"strides\"");
    EXPECT_EQ(refusal(R"({"a":{"dtype":7}})", 0), "clip.safetensors: tensor \"a\": a number in its field dtype");
    EXPECT_EQ(refusal(R"({"a":{"shape":"[2]"}})", 0), "clip.safetensors: tensor \"a\": text in its field shape");
    EXPECT_EQ(refusal(R"({"a":{"shape":null}})", 0), "clip.safetensors: tensor \"a\": null in its field shape");
    EXPECT_EQ(refusal(R"({"a":{"data_offsets":[1]}})", 0),
              "clip.safetensors: tensor \"a\": data_offsets has 1 numbers, not 2");
    EXPECT_EQ(refusal(R"({"a":{"data_offsets":[1,2,3]}})", 0),
              "clip.safetensors: tensor \"a\": data_offsets has more than 2 numbers");
    EXPECT_EQ(refusal(R"({"a":5})", 0), "clip.safetensors: tensor \"a\": a number where an object should be");
}

TEST(Safetensors, RefusesNumbersThatAreNegativeFractionalOrHuge) {
    EXPECT_EQ(refusal(R"({"a":{"shape":[-1]}})", 0), "clip.safetensors: tensor \"a\": -1 in its shape is negative");
    EXPECT_EQ(refusal(R"({"a":{"shape":[1.0]}})", 0),
              "clip.safetensors: tensor \"a\": a number in its shape is not an integer of 64 bits");
    EXPECT_EQ(refusal(R"({"a":{"data_offsets":[0,99999999999999999999]}})", 0),
              "clip.safetensors: tensor \"a\": a number in its data_offsets is not an integer of 64 bits");
    EXPECT_EQ(refusal(R"({"a":{"data_offsets":[0,18446744073709551615]}})", 0),
              "clip.safetensors: tensor \"a\": 18446744073709551615 in its data_offsets is above 2^63 - 1");
    EXPECT_EQ(refusal(R"({"a":{"shape":[1,1e999]}})", 0),
              "clip.safetensors: the header is not JSON from its byte 22 on");
}

TEST(Safetensors, RefusesAShapeProductThatOverflows) {
    EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
              "clip.safetensors: tensor \"a\": shape [4294967296, 4294967296] has more than 2^62 elements");
    // 2^61 elements of 8 bytes are 2^64 bytes: 0 if the product wrapped.
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0),
              "clip.safetensors: tensor \"a\" has 0 bytes, which are not 2305843009213693952 elements of F64 (shape "
              "[2305843009213693952])");
    std::string shape = "1";
    for (int i = 0; i < 32; ++i) shape += ",1";
    EXPECT_EQ(refusal(R"({"a":{"shape":[)" + shape + "]}}", 0),
              "clip.safetensors: tensor \"a\": it has more than 32 dimensions");
}

TEST(Safetensors, ListsTensorsOfUnknownDtypesBesideTheOthers) {
    const std::string bytes = safetensors_bytes(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]},)"
                                                R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                                                R"("c":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[3,5]}})",
                                                "..x..");
    const auto file = parse(bytes);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->unreadable(), (std::map<std::string, std::string>{{"a", "\"F4\""}, {"c", "\"F8_E8M0\""}}));
    EXPECT_EQ(file->find("a"), nullptr);
    ASSERT_EQ(file->tensors().size(), 1U);
    EXPECT_EQ(*file->find("b")->data, std::byte{'x'});
    // Their places are checked like those of the others.
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 1),
              "clip.safetensors: tensor \"a\" has data_offsets [0, 2], past the file's 1 bytes of data: truncated?");
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[1,2]}})", 2),
              "clip.safetensors: hole of 1 bytes before tensor \"a\"");
}

TEST(Safetensors, RefusesAByteCountThatDoesNotMatchShapeAndDtype) {
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,12]}})", 12),
              "clip.safetensors: tensor \"a\" has 12 bytes, which are not 6 elements of F32 (shape [2, 3])");
    EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}})", 5),
              "clip.safetensors: tensor \"a\" has 5 bytes, which are not 1 elements of F32 (shape [1])");
}

TEST(Safetensors, RefusesOffsetsThatOverlapLeaveHolesOrRunBackwards) {
    const auto two = [](const std::string& a, const std::string& b) {
        return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[)" + a +
               R"(]},"b":{"dtype":"U8","shape":[4],"data_offsets":[)" + b + "]}}";
    };
    EXPECT_EQ(refusal(two("0,4", "4,8"), 8), "accepted");
    EXPECT_EQ(refusal(two("4,8", "0,4"), 8), "accepted");
    EXPECT_EQ(refusal(two("0,4", "3,7"), 7),
              "clip.safetensors: tensors \"a\" and \"b\" overlap: the first ends at byte 4, the second starts at 3");
    EXPECT_EQ(refusal(two("0,4", "0,4"), 4),
              "clip.safetensors: tensors \"a\" and \"b\" overlap: the first ends at byte 4, the second starts at 0");
    EXPECT_EQ(refusal(two("0,4", "6,10"), 10), "clip.safetensors: hole of 2 bytes before tensor \"b\"");
    EXPECT_EQ(refusal(two("1,5", "5,9"), 9), "clip.safetensors: hole of 1 bytes before tensor \"a\"");
    EXPECT_EQ(refusal(two("0,4", "4,8"), 11), "clip.safetensors: 3 bytes after the last tensor belong to no tensor");
    EXPECT_EQ(refusal(two("0,4", "8,4"), 8),
              "clip.safetensors: tensor \"b\" has data_offsets [8, 4] that run backwards");
    EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[3,3]}})", 0),
              "clip.safetensors: tensor \"a\" has data_offsets [3, 3], past the file's 0 bytes of data: truncated?");
}

TEST(Safetensors, RefusesAnEmptyTensorInsideAnother) {
    EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                      4),
              "clip.safetensors: tensors \"a\" and \"b\" overlap: the first ends at byte 4, the second starts at 2");
}

TEST(Safetensors, PrintsHostileNamesHarmlessly) {
    EXPECT_EQ(refusal(R"({"a\u001b[31m\u0000\"":{}})", 0),
              "clip.safetensors: tensor \"a\\x1b[31m\\x00\\x22\": field dtype is missing");
    EXPECT_EQ(refusal("{\"" + std::string(1000, 'n') + "\":{}}", 0),
              "clip.safetensors: tensor \"" + std::string(120, 'n') + "...\": field dtype is missing");
}

TEST(Safetensors, OpensAFileFromDiskAndKeepsItsViewsWhenMoved) {
    const TemporaryFolder folder;
    const auto path = folder.write("clip.safetensors",
                                   safetensors_bytes(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "hi"));
    auto opened = SafetensorsFile::open(path);
    ASSERT_TRUE(opened) << opened.error().message;
    const TensorView* view = opened->find("a");
    const SafetensorsFile moved = *std::move(opened);
    EXPECT_EQ(moved.find("a"), view);
    EXPECT_EQ(std::memcmp(view->data, "hi", 2), 0);
    EXPECT_EQ(moved.name(), path.string());
}

TEST(Safetensors, KeepsItsTensorsWhenTheFileIsTruncatedAfterwards) {
    const TemporaryFolder folder;
    const std::string data(1 << 20, 'x');  // of many pages
    const auto path =
        folder.write("clip.safetensors",
                     safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1048576],"data_offsets":[0,1048576]}})", data));
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    std::filesystem::resize_file(path, 100);
    EXPECT_EQ(std::memcmp(file->find("a")->data, data.data(), data.size()), 0);
}

TEST(FileContents, SaysThatAFileBecameShorterWhileItWasRead) {
    const TemporaryFolder folder;
    const auto path = folder.write("clip.safetensors", std::string(8192, 'x'));
    auto contents = FileContents::open(path);
    ASSERT_TRUE(contents) << contents.error().message;
    ASSERT_TRUE(contents->read_first(1000));
    std::filesystem::resize_file(path, 5000);
    const auto read = contents->read_first(8192);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::Corrupt);
    EXPECT_EQ(read.error().message, path.string() + ": became shorter while it was read: 5000 bytes came of 8192");
}

TEST(FileContents, TakeTheirLimitsAlongWhenTheyAreMoved) {
    const TemporaryFolder folder;
    const auto path = folder.write("file", "contents");
    std::stop_source source;
    source.request_stop();
    auto moved = FileContents::open(path);
    ASSERT_TRUE(moved) << moved.error().message;
    *moved = *FileContents::open(path, {.allocator = {}, .limits = {.until = {}, .stop = source.get_token()}});
    EXPECT_EQ(moved->read_first(8).error().message, path.string() + ": a stop was requested");
}

TEST(FileContents, RefusesAFileThatDoesNotFitIntoMemoryBeforeReadingIt) {
    const TemporaryFolder folder;
    const auto path = folder.write("sparse.safetensors", "");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 42U);  // 4 TiB, none of them on the disk
    const auto contents = FileContents::open(path);
    ASSERT_FALSE(contents);
    EXPECT_EQ(contents.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(contents.error().message.find("4398046511104 bytes"), std::string::npos) << contents.error().message;
}

TEST(Safetensors, RefusesAHostileHeaderOf99MegabytesWithinSeconds) {
    std::string header = "{";
    for (int i = 0; header.size() < 99'000'000; ++i)
        header += fmt::format(R"("{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}},)", i);
    header.back() = '}';
    const std::string bytes = safetensors_bytes(header);
    const std::clock_t begin = std::clock();  // of the processor: others use it too
    const auto file = SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "hostile.safetensors");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message, "hostile.safetensors: more than 100000 tensors");
    EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
}

TEST(Safetensors, RefusesMoreMetadataThanAnyToolWrites) {
    std::string header = R"({"__metadata__":{)";
    for (int i = 0; i <= 100'000; ++i) header += fmt::format(R"("{}":"",)", i);
    header.back() = '}';
    const std::string bytes = safetensors_bytes(header + "}");
    const auto file = SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "hostile.safetensors");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message, "hostile.safetensors: header, __metadata__: more than 100000 texts");
}

TEST(Safetensors, SaysWhyAPathCannotBeOpened) {
    const TemporaryFolder folder;
    const auto absent = SafetensorsFile::open(folder.path() / "absent.safetensors");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
    EXPECT_EQ(absent.error().message, (folder.path() / "absent.safetensors").string() + ": No such file or directory");

    const auto directory = SafetensorsFile::open(folder.path());
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().message, folder.path().string() + ": not a regular file");

    const auto pipe = folder.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(SafetensorsFile::open(pipe).error().message, pipe.string() + ": not a regular file");

    const auto empty = folder.write("empty.safetensors", "");
    EXPECT_EQ(SafetensorsFile::open(empty).error().message,
              empty.string() + ": this is an empty file, truncated? Download or save it again");
}

}  // namespace
}  // namespace kinetograph::tensor
