#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <kinetograph/kernels/hip/gfx950/winograd_model.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <kinetograph/tools/gfx950/decoder_layers.hpp>
#include <sstream>

/// The kernels that decoders launch on an MI355X at full size: docs/kernels-gfx950.md has the same tables.
namespace kinetograph::gfx950 {
namespace {

std::string table_of(const char* family, std::int64_t height, std::int64_t width) {
    std::string table;
    for (const DecoderLayer& layer : decoder_layers(*families::find(family), height, width, mi355x())) {
        const conv::ConvProblem& p = layer.problem;
        table += std::to_string(layer.launches) + " x " + layer.key + " " + std::to_string(p.c_in) + ">" +
                 std::to_string(p.filter.k) + ": " + layer.kernels + "\n";
    }
    return table;
}

/// Of a step's convolutions at 1280 x 704.
double seconds_of(const char* family) {
    double seconds = 0;
    for (const DecoderLayer& layer : decoder_layers(*families::find(family), 704, 1280, mi355x()))
        seconds += static_cast<double>(layer.launches) * layer.seconds;
    return seconds;
}

TEST(Gfx950DecoderLayers, LaunchTheseKernelsAt832x480) {
    EXPECT_EQ(
        table_of("wan2.1", 480, 832),
        "1 x conv2 16>16: 256x32x32_padded\n"
        "1 x decoder.conv1 16>384: 128x128x64_chunks, then rms_norm_bf16\n"
        "5 x decoder.middle.0.residual.2 384>384: 256x192x64_uniform / 5, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.middle.0.residual.6 384>384: 256x192x64_uniform / 5, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.middle.1.to_qkv 384>1152: 128x128x64_uniform\n"
        "1 x decoder.middle.1.proj 384>384: 128x128x64_uniform, then rms_norm_bf16\n"
        "3 x decoder.middle.2.residual.6 384>384: 256x192x64_uniform / 5, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.upsamples.2.residual.6 384>384: 256x192x64_uniform / 5, then join_sums_bf16\n"
        "2 x decoder.upsamples.3.time_conv 384>384: 128x128x64_uniform\n"
        "1 x decoder.upsamples.3.resample.1 384>192: 256x192x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.4.residual.2 192>384: 256x192x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.4.shortcut 192>384: 256x96x32_uniform\n"
        "2 x decoder.upsamples.4.residual.6 384>384: 256x192x64_uniform, then rms_norm_bf16\n"
        "2 x decoder.upsamples.5.residual.2 384>384: 256x192x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.6.residual.6 384>384: 256x192x64_uniform\n"
        "2 x decoder.upsamples.7.time_conv 384>384: 128x192x64_uniform\n"
        "1 x decoder.upsamples.7.resample.1 384>192: 128x192x64_uniform\n"
        "3 x decoder.upsamples.8.residual.2 192>192: 256x192x64_uniform\n"
        "2 x decoder.upsamples.8.residual.6 192>192: 256x192x64_uniform\n"
        "1 x decoder.upsamples.10.residual.6 192>192: 256x192x64_uniform\n"
        "1 x decoder.upsamples.11.resample.1 192>96: 256x96x32_uniform\n"
        "3 x decoder.upsamples.12.residual.2 96>96: 256x96x32_uniform\n"
        "3 x decoder.upsamples.12.residual.6 96>96: 256x96x32_uniform\n"
        "1 x decoder.head.2 96>3: 256x32x32_uniform\n");
}

TEST(Gfx950DecoderLayers, OfWan22LaunchTheseKernelsAt1280x704) {
    EXPECT_EQ(
        table_of("wan2.2", 704, 1280),
        "1 x conv2 48>48: 256x32x32_padded\n"
        "1 x decoder.conv1 48>1024: 128x128x64_chunks, then rms_norm_bf16\n"
        "5 x decoder.middle.0.residual.2 1024>1024: 256x256x64_uniform / 4, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.middle.0.residual.6 1024>1024: 256x256x64_uniform / 4, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.middle.1.to_qkv 1024>3072: 128x192x64_uniform\n"
        "1 x decoder.middle.1.proj 1024>1024: 128x128x64_uniform, then rms_norm_bf16\n"
        "3 x decoder.middle.2.residual.6 1024>1024: 256x256x64_uniform / 4, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.upsamples.0.upsamples.2.residual.6 1024>1024: 256x256x64_uniform / 4, then join_sums_bf16\n"
        "2 x decoder.upsamples.0.upsamples.3.time_conv 1024>1024: 128x128x64_uniform / 2, then join_sums_bf16\n"
        "1 x decoder.upsamples.0.upsamples.3.resample.1 1024>1024: 256x256x64_uniform, then rms_norm_bf16\n"
        "3 x decoder.upsamples.1.upsamples.0.residual.2 1024>1024: 256x256x64_uniform, then rms_norm_bf16\n"
        "2 x decoder.upsamples.1.upsamples.0.residual.6 1024>1024: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.1.upsamples.2.residual.6 1024>1024: 256x256x64_uniform\n"
        "2 x decoder.upsamples.1.upsamples.3.time_conv 1024>1024: 256x256x64_uniform\n"
        "1 x decoder.upsamples.1.upsamples.3.resample.1 1024>1024: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.2.upsamples.0.residual.2 1024>512: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.2.upsamples.0.shortcut 1024>512: 256x256x64_uniform\n"
        "2 x decoder.upsamples.2.upsamples.0.residual.6 512>512: 256x256x64_uniform, then rms_norm_bf16\n"
        "2 x decoder.upsamples.2.upsamples.1.residual.2 512>512: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.2.upsamples.2.residual.6 512>512: 256x256x64_uniform\n"
        "1 x decoder.upsamples.2.upsamples.3.resample.1 512>512: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.3.upsamples.0.residual.2 512>256: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.upsamples.3.upsamples.0.shortcut 512>256: 256x256x64_uniform\n"
        "3 x decoder.upsamples.3.upsamples.0.residual.6 256>256: 256x256x64_uniform, then rms_norm_bf16\n"
        "2 x decoder.upsamples.3.upsamples.1.residual.2 256>256: 256x256x64_uniform, then rms_norm_bf16\n"
        "1 x decoder.head.2 256>12: 256x32x32_uniform\n");
}

TEST(Gfx950DecoderLayers, DoubleTheirInputByFoldedFiltersAndNormWhereATileHoldsAPixel) {
    for (const DecoderLayer& layer : decoder_layers(*families::find("wan2.1"), 704, 1280, mi355x())) {
        EXPECT_EQ(layer.params.parities, layer.problem.upsample ? 4u : 1u) << layer.key;
        EXPECT_EQ(layer.params.upsample, 0u) << layer.key;
        const bool normed = layer.problem.norm != conv::Norm::None;
        const bool fused = (layer.params.flags & kConvNorm) != 0;
        EXPECT_EQ(normed && !fused, layer.kernels.find("rms_norm") != std::string::npos) << layer.key;
        if (normed && layer.problem.filter.k <= 192) {
            EXPECT_TRUE(fused) << layer.key;
        }
    }
}

TEST(Gfx950DecoderLayers, ArePredictedToTakeLessThanTheTargetOfAStep) {
    const double seconds = seconds_of("wan2.1");
    EXPECT_LT(seconds, 23e-3);                          // of 24 ms with attention and the ends (docs/kernels-gfx950.md)
    EXPECT_GT(seconds, 14e-3);                          // the products alone
    EXPECT_NEAR(seconds_of("wan2.2"), 0.0373, 0.0004);  // the table of the same page
}

template <class... Values>
std::string line(const char* format, Values... values) {
    char text[256];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

void expect_in_document(const std::string& table) {
    std::ifstream file(test::source_tree() / "docs/kernels-gfx950.md");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_NE(text.str().find(table), std::string::npos) << "docs/kernels-gfx950.md should hold\n" << table;
}

/// Clocks for all four products of a tap and a block of channels of a pair of frames, by unit.
std::string units_row(const char* name, const WinogradTile& tile, Element element) {
    const WinogradClocks clocks = winograd_clocks(tile, element);
    return line("| %s | %.0f | %.0f | %.0f | %.0f | %.0f |\n", name, clocks.products, clocks.lds, clocks.l2,
                clocks.issue, clocks.longest);
}

TEST(Gfx950DecoderLayers, WouldTakeThisLongByWinogradAlongTime) {
    const WinogradTile wide{128, 192, 64, 2, 2}, narrow{256, 96, 32, 4, 1};
    expect_in_document(
        "| tile of a pair of frames | products | LDS | L2 | issue | longest, phase by phase "
        "|\n|---|---|---|---|---|---|\n" +
        units_row("128x192x64, bf16", wide, Element::BF16) + units_row("256x96x32, bf16", narrow, Element::BF16));

    std::string table =
        "| 1280x704: us | along time | ratio | 832x480: us | along time | ratio |\n|---|---|---|---|---|---|\n|";
    const auto cells = [](double direct, double along_time) {
        return line(" %.0f | %.0f | %.2f |", direct * 1e6, along_time * 1e6, direct / along_time);
    };
    const std::vector<DecoderLayer> sizes[] = {decoder_layers(*families::find("wan2.1"), 704, 1280, mi355x()),
                                               decoder_layers(*families::find("wan2.1"), 480, 832, mi355x())};
    double direct[2] = {}, faster[2] = {};
    for (size_t i = 0; i < sizes[0].size(); ++i) {
        const conv::ConvProblem& of_layer = sizes[0][i].problem;
        const bool along_time = of_layer.taps() == 27 && of_layer.d_out() >= 2 && of_layer.filter.k > 16;
        for (size_t size = 0; size < 2; ++size) {
            const DecoderLayer& layer = sizes[size][i];
            const double would = along_time ? winograd_seconds(layer.problem, mi355x()) : layer.seconds;
            direct[size] += static_cast<double>(layer.launches) * layer.seconds;
            faster[size] += static_cast<double>(layer.launches) * std::min(layer.seconds, would);
        }
    }
    table += cells(direct[0], faster[0]) + cells(direct[1], faster[1]);
    expect_in_document(table + '\n');
    for (size_t size = 0; size < 2; ++size)
        EXPECT_LT(direct[size] / faster[size], 1.15) << "the kernel pays: docs/kernels-gfx950.md says that it does not";
}

}  // namespace
}  // namespace kinetograph::gfx950
