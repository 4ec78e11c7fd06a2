// gguf files, made in memory: a decoder in every type that is read, and files that are broken.
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/formats/pytorch_archive.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::formats {
namespace {

using test::little_endian;

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ8 = 8, kQ4K = 12, kBF16 = 30;

struct GgufTensor {
    std::string name;
    tensor::Shape shape;  ///< as PyTorch has it
    std::uint32_t type = kF32;
    std::string bytes;
    std::uint64_t offset = ~0ULL;  ///< default: after the one before it
};

std::string text(const std::string& value) { return little_endian(static_cast<std::uint64_t>(value.size())) + value; }

/// One of metadata: an array of 32-bit integers.
std::string shape_of(const std::string& tensor, const tensor::Shape& shape) {
    std::string bytes = text("comfy.gguf.orig_shape." + tensor) + little_endian(std::uint32_t{9}) +
                        little_endian(std::uint32_t{5}) + little_endian(static_cast<std::uint64_t>(shape.size()));
    for (const std::int64_t side : shape) bytes += little_endian(static_cast<std::int32_t>(side));
    return bytes;
}

std::string gguf_of(const std::vector<GgufTensor>& tensors, const std::vector<std::string>& metadata = {}) {
    std::string file = "GGUF" + little_endian(std::uint32_t{3}) +
                       little_endian(static_cast<std::uint64_t>(tensors.size())) +
                       little_endian(static_cast<std::uint64_t>(metadata.size()));
    for (const std::string& each : metadata) file += each;
    std::string data;
    for (const GgufTensor& tensor : tensors) {
        file += text(tensor.name) + little_endian(static_cast<std::uint32_t>(tensor.shape.size()));
        for (std::size_t i = tensor.shape.size(); i-- > 0;)
            file += little_endian(static_cast<std::uint64_t>(tensor.shape[i]));
        file += little_endian(tensor.type) + little_endian(tensor.offset == ~0ULL ? data.size() : tensor.offset);
        data += tensor.bytes;
        data.resize((data.size() + 31) / 32 * 32);
    }
    file.resize((file.size() + 31) / 32 * 32);
    return file + data;
}

Result<TensorSource> open_text(const std::string& bytes) {
    const auto kept = std::make_shared<const std::string>(bytes);
    return parse({std::as_bytes(std::span(*kept)), kept}, "vae.gguf");
}

std::string refusal(const std::string& bytes) {
    const auto source = open_text(bytes);
    if (source) return "accepted";
    EXPECT_TRUE(source.error().message.starts_with("vae.gguf: ")) << source.error().message;
    return source.error().message.substr(10);
}

std::string stored(const std::vector<float>& values, std::uint32_t type) {
    std::string bytes;
    for (const float value : values)
        bytes += type == kF32   ? little_endian(value)
                 : type == kF16 ? little_endian(tensor::to_f16(value))
                                : little_endian(tensor::to_bf16(value));
    return bytes;
}

/// A decoder's tensors, with at most four dimensions as ggml has them.
std::vector<GgufTensor> decoder(std::uint32_t type) {
    const auto synthetic = vae::Checkpoint::open("synthetic:wan2.1,dim=1").value();
    std::vector<GgufTensor> tensors;
    for (const std::string& name : synthetic.tensor_names()) {
        tensor::Shape shape = synthetic.shape(name).value();
        if (shape.size() == 5) shape = {shape[0] * shape[1], shape[2], shape[3], shape[4]};
        tensors.push_back({name, shape, type, stored(synthetic.load(name).value(), type)});
    }
    return tensors;
}

Result<vae::Checkpoint> checkpoint_of(const std::string& bytes) {
    const auto kept = std::make_shared<const std::string>(bytes);
    return vae::Checkpoint::parse({std::as_bytes(std::span(*kept)), kept}, "vae.gguf");
}

TEST(GgufFile, HoldsADecoderInEveryTypeOfFloatingPoint) {
    const auto synthetic = vae::Checkpoint::open("synthetic:wan2.1,dim=1").value();
    for (const std::uint32_t type : {kF32, kF16, kBF16}) {
        const auto opened = checkpoint_of(gguf_of(decoder(type)));
        ASSERT_TRUE(opened) << opened.error().message;
        for (const std::string& name : synthetic.tensor_names()) {
            std::vector<float> wanted = synthetic.load(name).value();
            for (float& value : wanted)
                value = type == kF32   ? value
                        : type == kF16 ? tensor::from_f16(tensor::to_f16(value))
                                       : tensor::from_bf16(tensor::to_bf16(value));
            EXPECT_EQ(opened->load(name).value(), wanted) << name;
        }
    }
}

TEST(GgufFile, OfBlocksOfEightBitsIsReadWhereItLies) {
    std::string blocks;
    std::vector<float> wanted;
    for (int block = 0; block < 2; ++block) {
        blocks += little_endian(tensor::to_f16(block == 0 ? 0.5F : -3.0F));
        for (int i = 0; i < 32; ++i) {
            blocks += static_cast<char>(i * 8 - 128);
            wanted.push_back((block == 0 ? 0.5F : -3.0F) * static_cast<float>(i * 8 - 128));
        }
    }
    const std::string file = gguf_of({{"w", {64}, kQ8, blocks}}, {shape_of("w", {2, 2, 2, 4, 2})});
    const auto source = open_text(file);
    ASSERT_TRUE(source) << source.error().message;
    const tensor::TensorView& view = *source->find("w");
    EXPECT_EQ(view.dtype, tensor::DType::F32);
    EXPECT_EQ(view.shape, (tensor::Shape{2, 2, 2, 4, 2}));
    const auto* begin = source->files().front().data();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(view.data), view.bytes), blocks);
    EXPECT_TRUE(view.data > begin && view.data + view.bytes <= begin + file.size()) << "a copy";
    EXPECT_EQ(tensor::to_f32(view, "w").value(), wanted);
    EXPECT_FALSE(tensor::first_not_finite(view));
}

TEST(GgufFile, OfBlocksOfEightBitsHoldsADecoderOfFiniteValues) {
    const auto synthetic = vae::Checkpoint::open("synthetic:wan2.1,dim=1").value();
    const auto name = std::string("conv2.weight");  // [16, 16, 1, 1, 1]
    std::string blocks;
    std::vector<float> wanted;
    for (int block = 0; block < 8; ++block) {
        blocks += little_endian(tensor::to_f16(0.25F)) + std::string(32, static_cast<char>(block - 4));
        wanted.insert(wanted.end(), 32, 0.25F * static_cast<float>(block - 4));
    }
    auto tensors = decoder(kF32);
    const auto packed = std::ranges::find(tensors, name, &GgufTensor::name);
    ASSERT_NE(packed, tensors.end());
    // Rows of 16 elements are no blocks: such a tensor is stored flat, with its shape beside it.
    *packed = {name, {256}, kQ8, blocks};
    const std::string shape = shape_of(name, synthetic.shape(name).value());
    const auto opened = checkpoint_of(gguf_of(tensors, {shape}));
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->load(name).value(), wanted);

    packed->bytes.replace(3 * 34, 2, little_endian(std::uint16_t{0x7C00}));
    EXPECT_EQ(checkpoint_of(gguf_of(tensors, {shape})).error().message,
              "vae.gguf: tensor \"conv2.weight\" holds a value that is not finite at index 96 of 256");
}

TEST(GgufFile, IsReadUntilAStopIsRequested) {
    std::stop_source source;
    source.request_stop();
    const auto kept = std::make_shared<const std::string>(gguf_of(decoder(kF32)));
    const auto stopped = parse({std::as_bytes(std::span(*kept)), kept}, "vae.gguf",
                               {.allocator = {}, .limits = {.until = {}, .stop = source.get_token()}});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().message, "vae.gguf: a stop was requested");
}

TEST(GgufFile, SaysWhichTensorsOfADecoderCannotBeRead) {
    auto tensors = decoder(kF32);
    tensors.front() = {"conv2.weight", {256}, kQ4K, std::string(144, '\0')};
    const auto opened = checkpoint_of(gguf_of(tensors));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message,
              "vae.gguf: 1 of the Wan 2.1 decoder's 108 tensors are missing: \"conv2.weight\" (Q4_K, which cannot be "
              "read)");
}

TEST(GgufFile, MayHoldTypesThatNoDecoderHas) {
    auto tensors = decoder(kF32);
    tensors.push_back({"model.a", {32}, 39, std::string(17, '\0')});  // MXFP4
    tensors.push_back({"model.b", {7}, 99, "of unknown length"});
    const auto source = open_text(gguf_of(tensors));
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(source->unreadable(), (std::map<std::string, std::string>{{"model.a", "MXFP4"}, {"model.b", "type 99"}}));
    EXPECT_TRUE(checkpoint_of(gguf_of(tensors)));
    tensors.front() = {"conv2.weight", {16, 16}, 99, "?"};
    EXPECT_EQ(
        checkpoint_of(gguf_of(tensors)).error().message,
        "vae.gguf: 1 of the Wan 2.1 decoder's 108 tensors are missing: \"conv2.weight\" (type 99, which cannot be "
        "read)");
}

TEST(GgufFile, WhoseTensorsOverlapIsRefused) {
    const std::string row = stored(std::vector<float>(16, 1.0F), kF32);
    EXPECT_EQ(refusal(gguf_of({{"a", {16}, kF32, row}, {"b", {16}, kF32, row, 32}})),
              "tensors \"a\" and \"b\" overlap");
    EXPECT_EQ(refusal(gguf_of({{"a", {16}, kF32, row}, {"b", {16}, kF32, row, 4}})),
              "tensor \"b\" begins at 4, which is no multiple of 32");
    EXPECT_EQ(refusal(gguf_of({{"a", {16}, kF32, row}, {"a", {16}, kF32, row}})), "two tensors \"a\"");
}

TEST(GgufFile, ThatIsTruncatedOrClaimsTooMuchIsRefused) {
    const std::string row = stored(std::vector<float>(16, 1.0F), kF32);
    const std::string good = gguf_of({{"a", {16}, kF32, row}});
    ASSERT_TRUE(open_text(good));
    for (const std::size_t length : {4, 8, 20, 30, 45})
        EXPECT_EQ(refusal(good.substr(0, length)), "a gguf file that ends within its header: truncated?") << length;
    EXPECT_EQ(refusal(good.substr(0, good.size() - 1)),
              "tensor \"a\" of 64 bytes at 0 ends beyond the file: truncated?");
    EXPECT_EQ(refusal(gguf_of({{"a", {1LL << 40, 1LL << 40}, kF32, row}})),
              "tensor \"a\" of shape [1099511627776, 1099511627776]");
    EXPECT_EQ(refusal(gguf_of({{"a", {1LL << 40}, kF32, row}})),
              "tensor \"a\" of 1099511627776 elements does not fit into the file: truncated?");
    EXPECT_EQ(refusal(gguf_of({{"a", {16}, kQ8, row}})), "tensor \"a\" has rows of 16 elements, Q8_0 has blocks of 32");
    EXPECT_EQ(refusal(gguf_of({{"a", {16}, kF32, row}}, {shape_of("a", {3, 5})})),
              "tensor \"a\" of 16 elements is said to have been of shape [3, 5]");
    const std::string wraps = text("x") + little_endian(std::uint32_t{9}) + little_endian(std::uint32_t{10}) +
                              little_endian(std::uint64_t{1} << 61U);
    EXPECT_EQ(refusal(gguf_of({{"a", {16}, kF32, row}}, {wraps})),
              "a gguf file that ends within its header: truncated?");
    std::string version = good;
    version[4] = 9;
    EXPECT_EQ(refusal(version), "gguf of version 9, wanted 2 or 3");
}

}  // namespace
}  // namespace kinetograph::formats
