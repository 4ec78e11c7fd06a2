#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_plan.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model_conv.hpp"

/// Holds the cost model to bench/results/conv_h200_*.json, and docs/kernels-sm90.md to both: the table of the page is
/// computed here. If it no longer holds, the test fails and prints the new one.
namespace kinetograph::sm90 {
namespace {

using conv::ceil_div;

constexpr const char* kPage = "docs/kernels-sm90.md";
constexpr double kClock = 1.58e9, kIssueFlops = 4096;  // of an SM and clock: a wgmma of 64 x bn x 16 in bn / 2 clocks

/// One method's time for one layer of the decoder.
struct Measured {
    std::string size, layer, method;
    ConvProblem problem;
    double seconds = 0;
};

/// "384>192 1x3x3, 2x176x320": channels, taps, output. A 3x3 filter without taps in time follows an upsampling.
ConvProblem problem_of(const std::string& layer) {
    ConvProblem p;
    long t = 0, h = 0, w = 0, c_in = 0, k = 0, q = 0, r = 0, s = 0;
    EXPECT_EQ(std::sscanf(layer.c_str(), "%ld>%ld %ldx%ldx%ld, %ldx%ldx%ld", &c_in, &k, &q, &r, &s, &t, &h, &w), 8);
    p.filter = {k, q, r, s};
    p.upsample = q == 1 && r == 3;
    p.d = t + q - 1;
    p.h = p.upsample ? h / 2 : h;
    p.w = p.upsample ? w / 2 : w;
    p.c_in = c_in;
    p.pad = {.top = r / 2, .bottom = r / 2, .left = s / 2, .right = s / 2};
    return p;
}

std::vector<Measured> measured() {
    std::vector<Measured> all;
    for (const std::string size : {"1280x704", "832x480"}) {
        std::ifstream file(test::source_tree() / ("bench/results/conv_h200_" + size + ".json"));
        const auto record = nlohmann::json::parse(file);
        for (const auto& layer : record.at("layers"))
            for (const auto& result : layer.at("backends"))
                if (result.contains("seconds"))
                    all.push_back({size, layer.at("layer"), result.at("backend"), problem_of(layer.at("layer")),
                                   result.at("seconds")});
    }
    return all;
}

/// The tile that a method takes, and the time that it predicts; none for methods of no tile of this chip.
struct Predicted {
    std::string tile;
    double seconds = 0;
    double products = 0, cached = 0;  ///< multiply-adds x 2, and bytes that its tiles load
};

double loaded_bytes(const ConvConfig& c, const ConvProblem& p, double tiles, double filter_taps, double frames) {
    const auto blocks_of_k = static_cast<double>(ceil_div(p.c_in, c.channels));
    return tiles * blocks_of_k * (frames * halo_bytes(c) + filter_taps * c.bn * row_bytes(c));
}

std::optional<Predicted> predict(const Measured& of, const conv::Chip& chip) {
    const ConvProblem& p = of.problem;
    const double side = p.upsample ? 2 : static_cast<double>(p.filter.r), flops = p.flops();
    if (of.method == "implicit-gemm-sm90") {
        const NamedConvConfig* chosen = choose_config(p, chip);
        const auto tiles = static_cast<double>(conv_tiles(chosen->config, p)), q = static_cast<double>(p.filter.q);
        return Predicted{std::string(chosen->kernel.substr(15)), conv_seconds(chosen->config, p, chip),
                         p.upsample ? flops * 4 / 9 : flops,
                         loaded_bytes(chosen->config, p, tiles, q * side * side, q)};
    }
    if (of.method == "winograd-time-sm90") {
        const NamedWinogradConfig* chosen = choose_winograd_config(p, chip);
        const ConvConfig tile = whole(chosen->config);
        // A pair of frames: four transformed ones, from six loads, and four products; a cluster's two CTAs share
        // filters.
        const auto pairs =
            static_cast<double>(ceil_div(p.h_out(), tile_rows(tile)) * ceil_div(p.w_out(), tile_columns(tile)) *
                                ceil_div(p.filter.k, tile.bn) * p.frames_out() / 2);
        return Predicted{"winograd " + std::string(chosen->kernel.substr(19)),
                         winograd_seconds(chosen->config, p, chip), flops * 4 / 6,
                         loaded_bytes(tile, p, pairs, 4 * 9 / 2.0, 8)};
    }
    return std::nullopt;
}

/// Errors of predictions, as parts of what was measured.
struct Fit {
    int count = 0;
    double squares = 0, most = 0;
    void add(double error) {
        ++count;
        squares += error * error;
        most = std::max(most, std::abs(error));
    }
    double rms() const { return std::sqrt(squares / count); }
};

TEST(Sm90Fit, IsWithinItsBoundsOnEveryRecordedLayer) {
    Fit direct, winograd;
    for (const Measured& of : measured())
        if (const auto predicted = predict(of, chip_of_sms(132)))
            (predicted->tile.starts_with("winograd") ? winograd : direct).add(predicted->seconds / of.seconds - 1);
    EXPECT_EQ(std::pair(direct.count, winograd.count), std::pair(26, 8));
    EXPECT_LT(direct.rms(), 0.08);
    EXPECT_LT(direct.most, 0.2);
    EXPECT_LT(winograd.rms(), 0.015);
    EXPECT_LT(winograd.most, 0.025);
}

/// Of this chip's implicit GEMM and the older chips'.
TEST(Sm90Fit, PrefersNoKernelThatTheRecordShowsToBeAFifthSlower) {
    const conv::Chip h200 = chip_of_sms(132);
    const auto all = measured();
    for (const Measured& of : all) {
        if (of.method != "implicit-gemm-sm90") continue;
        const auto older = std::ranges::find_if(all, [&](const Measured& other) {
            return other.size == of.size && other.layer == of.layer && other.method == "implicit-gemm-sm80";
        });
        ASSERT_NE(older, all.end());
        const double before =
            conv::kLaunchSeconds + sm80::conv_seconds(sm80::choose_config(of.problem, h200).config, of.problem, h200);
        const bool prefers_older = before < predict(of, h200)->seconds;
        EXPECT_LT(prefers_older ? older->seconds / of.seconds : of.seconds / older->seconds, 1.2)
            << of.size << " " << of.layer;
    }
}

template <class... Values>
std::string line(const char* format, Values... values) {
    char text[512];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

std::string row(const Measured& of, const Predicted& predicted) {
    const ConvProblem& p = of.problem;
    const double moved = static_cast<double>(p.frames_in()) * static_cast<double>(p.input_frame_bytes()) +
                         static_cast<double>(p.frames_out()) * static_cast<double>(p.output_frame_bytes());
    const conv::Chip h200 = chip_of_sms(132);
    const std::pair<const char*, double> limits[] = {
        {"issue", predicted.products / (h200.compute_units * kIssueFlops * kClock)},
        {"L2", predicted.cached / kCacheBytesPerSecond},
        {"HBM", moved / h200.memory_bytes_per_second}};
    const auto& limit = *std::ranges::max_element(limits, {}, [](const auto& one) { return one.second; });
    return line("| %s | %s | %.3f | %.3f | %.3f | %s | %.3f | %.2f | %.3f | %+.1f %% |\n", of.layer.c_str(),
                predicted.tile.c_str(), 1e3 * limits[0].second, 1e3 * limits[1].second, 1e3 * limits[2].second,
                limit.first, 1e3 * of.seconds, of.seconds / limit.second, 1e3 * predicted.seconds,
                100 * (predicted.seconds / of.seconds - 1));
}

std::string text_of_page() {
    std::ifstream file(test::source_tree() / kPage);
    std::stringstream page;
    page << file.rdbuf();
    return page.str();
}

TEST(Sm90Documentation, HoldsTheFitAndHowFarEachLayerIsFromItsOwnLimit) {
    Fit direct, winograd;
    std::string table =
        "| layer: channels, taps, output | tile | issue ms | L2 ms | HBM ms | limit | measured ms | / limit | "
        "predicted ms | error |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const Measured& of : measured()) {
        const auto predicted = predict(of, chip_of_sms(132));
        if (!predicted) continue;
        (predicted->tile.starts_with("winograd") ? winograd : direct).add(predicted->seconds / of.seconds - 1);
        if (of.size == "1280x704") table += row(of, *predicted);
    }
    table += line(
        "\nRoot mean square of the errors at this size and 832x480: %.1f %% of the implicit GEMM (at most %.0f), %.1f "
        "%% "
        "of\nWinograd (at most %.0f).\n",
        100 * direct.rms(), 100 * direct.most, 100 * winograd.rms(), 100 * winograd.most);
    EXPECT_NE(text_of_page().find(table), std::string::npos) << kPage << " should hold\n" << table;
}

TEST(Sm90Documentation, HoldsWhatIsPredictedOfTheLayersOfWan22) {
    std::string table =
        "| layer: channels, taps, output | implicit GEMM ms | Winograd ms | tile | in the volume ms |\n"
        "|---|---|---|---|---|\n";
    for (const char* layer : {"1024>1024 3x3x3, 2x88x160", "1024>512 3x3x3, 4x176x320", "512>512 3x3x3, 4x176x320",
                              "512>256 3x3x3, 4x352x640", "256>256 3x3x3, 4x352x640", "1024>1024 3x3x3, 2x60x104",
                              "512>512 3x3x3, 4x120x208", "256>256 3x3x3, 4x240x416"}) {
        const conv::Chip h200 = chip_of_sms(132);
        const auto direct = predict({"", layer, "implicit-gemm-sm90", problem_of(layer)}, h200);
        const auto winograd = predict({"", layer, "winograd-time-sm90", problem_of(layer)}, h200);
        const double volume = plan_volume(problem_of(layer), h200).seconds;
        table += line("| %s | %.3f | %.3f | %s | %.3f |\n", layer, 1e3 * direct->seconds, 1e3 * winograd->seconds,
                      winograd->tile.c_str(), 1e3 * volume);
    }
    EXPECT_NE(text_of_page().find(table), std::string::npos) << kPage << " should hold\n" << table;
}

}  // namespace
}  // namespace kinetograph::sm90
