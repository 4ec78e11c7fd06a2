#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <kinetograph/kernels/hip/gfx950/winograd_model.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <kinetograph/tools/gfx950/decoder_layers.hpp>
#include <map>
#include <set>
#include <sstream>

/// The kernels that decoders launch on an MI355X at full size: docs/kernels-gfx950.md has the same tables.
namespace kinetograph::gfx950 {
namespace {

constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{480, 832}, {704, 1280}};

std::string table_of(const char* family, std::int64_t height, std::int64_t width) {
    std::string table;
    for (const DecoderLayer& layer : decoder_step(*families::find(family), height, width, mi355x()).layers) {
        const conv::ConvProblem& p = layer.problem;
        table += std::to_string(layer.launches) + " x " + layer.key + " " + std::to_string(p.c_in) + ">" +
                 std::to_string(p.filter.k) + ": " + layer.kernels + "\n";
    }
    return table;
}

std::string document() {
    std::ifstream file(test::source_tree() / "docs/kernels-gfx950.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

using Row = std::vector<std::string>;

/// The rows of the page's table of that name, without its headings.
std::vector<Row> rows_of(const std::string& name) {
    const std::string text = document(), begin = "<!-- " + name + " -->\n";
    const size_t from = text.find(begin) + begin.size();
    std::istringstream lines(text.substr(from, text.find("<!-- end -->", from) - from));
    std::vector<Row> rows;
    for (std::string line; std::getline(lines, line);) {
        Row& row = rows.emplace_back();
        for (size_t at = 2, end = line.find(" |", at); end != std::string::npos;
             at = end + 3, end = line.find(" |", at))
            row.push_back(line.substr(at, end - at));
    }
    rows.erase(rows.begin(), rows.begin() + std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(rows.size())));
    return rows;
}

/// A layer's kernels in the page's words: "256x192x64/2+join+norm".
std::string words(const DecoderLayer& layer) {
    std::string text = layer.kernels.substr(0, layer.kernels.find(", then"));
    for (const std::string_view from : {"_uniform", " "})
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from)) text.erase(at, from.size());
    const auto runs = [&](const char* kernel) { return layer.kernels.find(kernel) != std::string::npos; };
    const bool norms = (layer.params.flags & kConvNorm) != 0 || runs("rms_norm");
    return text + (runs("join_sums") ? "+join" : "") + (norms ? "+norm" : "");
}
std::string channels(const DecoderLayer& layer) {
    return std::to_string(layer.problem.c_in) + ">" + std::to_string(layer.problem.filter.k);
}
std::string taps(const DecoderLayer& layer) {
    return std::to_string(layer.params.q) + "x" + std::to_string(layer.params.r) + "x" + std::to_string(layer.params.s);
}

std::vector<DecoderLayer> layers_of(std::pair<std::int64_t, std::int64_t> size, const conv::Chip& chip = mi355x()) {
    return decoder_step(*families::find("wan2.1"), size.first, size.second, chip).layers;
}

/// Launches by channels, taps and the kernels of two steps.
using Launches = std::map<std::tuple<std::string, std::string, std::string, std::string>, std::int64_t>;

Launches launches_of(const std::vector<DecoderLayer>& left, const std::vector<DecoderLayer>& right) {
    Launches launches;
    for (size_t i = 0; i < left.size(); ++i)
        launches[{channels(left[i]), taps(left[i]), words(left[i]), words(right[i])}] += left[i].launches;
    return launches;
}

TEST(Gfx950DecoderLayers, LaunchTheKernelsOfThePageAtBothSizes) {
    Launches of_page;
    for (const Row& row : rows_of("wan21"))
        of_page[{row[2], row[3], row[4], row[6] == "\"" ? row[4] : row[6]}] += std::stoll(row[1]);
    EXPECT_EQ(of_page, launches_of(layers_of(kSizes[0]), layers_of(kSizes[1])));
}

TEST(Gfx950DecoderLayers, LaunchTheKernelsOfThePageWhereLdsIsAsFastAsAmdStates) {
    Launches of_page, differing;
    for (const Row& row : rows_of("choices")) of_page[{row[2], row[3], row[4], row[6]}] += std::stoll(row[1]);
    for (const auto& [layer, launches] :
         launches_of(layers_of(kSizes[1]), layers_of(kSizes[1], mi355x(kStatedLdsReadBytes))))
        if (std::get<2>(layer) != std::get<3>(layer)) differing[layer] += launches;
    EXPECT_EQ(of_page, differing);
    EXPECT_FALSE(differing.empty());
}

/// The whole step: convolutions, norms, attention, kept frames and both ends, every launch.
TEST(Gfx950DecoderLayers, ArePredictedToTakeLessThanTheTargetOfAStep) {
    const auto rows = rows_of("step");
    const auto sum = std::ranges::find(rows, "**sum**", [](const Row& row) { return row.front(); });
    ASSERT_NE(sum, rows.end());
    size_t column = 1;
    for (const uint32_t rate : {kLdsReadBytes, kStatedLdsReadBytes}) {
        for (const auto& [height, width] : kSizes) {
            const DecoderStep step = decoder_step(*families::find("wan2.1"), height, width, mi355x(rate));
            const double seconds = step.seconds();
            // The page counts the last round of workgroups with those that it has, the choice of kernels as a whole
            // one.
            EXPECT_NEAR(seconds * 1e3, std::stod(sum->at(column)), 0.05 * seconds * 1e3) << width << ", LDS " << rate;
            EXPECT_LT(std::stod(sum->at(column)), 24);
            EXPECT_LT(seconds, 24e-3);
            EXPECT_GT(seconds, 1e-3 * std::stod(rows.back().at(column))) << "the products alone";
            std::set<std::string> kinds;
            for (const OtherPasses& other : step.others) {
                EXPECT_GT(other.seconds, 0) << other.kind;
                kinds.insert(other.kind);
            }
            EXPECT_EQ(kinds, (std::set<std::string>{"attention", "frames out", "kept frames", "latents in"}));
            ++column;
        }
    }
}

TEST(Gfx950DecoderLayers, OfWan22LaunchTheseKernelsAt1280x704) {
    EXPECT_EQ(
        table_of("wan2.2", 704, 1280),
        "1 x decoder.conv1 48>1024: 128x128x64_chunks, then rms_norm_bf16\n"
        "5 x decoder.middle.0.residual.2 1024>1024: 128x256x64_uniform / 2, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.middle.0.residual.6 1024>1024: 128x256x64_uniform / 2, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.middle.1.to_qkv 1024>3072: 128x192x64_uniform\n"
        "3 x decoder.middle.2.residual.6 1024>1024: 128x256x64_uniform / 2, then join_sums_bf16, then rms_norm_bf16\n"
        "1 x decoder.upsamples.0.upsamples.2.residual.6 1024>1024: 128x256x64_uniform / 2, then join_sums_bf16\n"
        "2 x decoder.upsamples.0.upsamples.3.time_conv 1024>1024: 128x128x64_uniform\n"
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
    for (const DecoderLayer& layer : layers_of(kSizes[1])) {
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

template <class... Values>
std::string line(const char* format, Values... values) {
    char text[256];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

void expect_in_document(const std::string& table) {
    EXPECT_NE(document().find(table), std::string::npos) << "docs/kernels-gfx950.md should hold\n" << table;
}

/// Clocks for all four products of a tap and a block of channels of a pair of frames.
std::string clocks_of(const char* name, const WinogradTile& tile) {
    const WinogradClocks clocks = winograd_clocks(tile, Element::BF16);
    return line("%s takes %.0f clocks (products %.0f, LDS %.0f, issue %.0f)", name, clocks.longest, clocks.products,
                clocks.lds, clocks.issue);
}

TEST(Gfx950DecoderLayers, WouldTakeThisLongByWinogradAlongTime) {
    const WinogradTile wide{128, 192, 64, 2, 2}, narrow{256, 96, 32, 4, 1};
    expect_in_document(clocks_of("128x192x64", wide));
    expect_in_document(clocks_of("256x96x32", narrow));

    const std::vector<DecoderLayer> sizes[] = {layers_of(kSizes[1]), layers_of(kSizes[0])};
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
    const auto times = [](const char* size, double along_time, double in_one_piece) {
        return line("%.0f us instead of %.0f at %s (ratio %.2f)", along_time * 1e6, in_one_piece * 1e6, size,
                    in_one_piece / along_time);
    };
    expect_in_document(times("1280x704", faster[0], direct[0]) + ", " + times("832x480", faster[1], direct[1]));
    for (size_t size = 0; size < 2; ++size)
        EXPECT_LT(direct[size] / faster[size], 1.15) << "the kernel pays: docs/kernels-gfx950.md says that it does not";
}

}  // namespace
}  // namespace kinetograph::gfx950
