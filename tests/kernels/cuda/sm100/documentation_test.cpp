#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/winograd_model.hpp>
#include <kinetograph/tests/kernels/cuda/sm100/decoder_rows.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <limits>
#include <map>
#include <set>
#include <sstream>

/// Computes the tables of docs/kernels-sm100.md and docs/kernels-sm100-im2col.md. If a table no longer holds, the test
/// fails and prints the new one.
namespace kinetograph::sm100 {
namespace {

template <class... Values>
std::string line(const char* format, Values... values) {
    char text[512];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

constexpr const char *kDecodersPage = "docs/kernels-sm100.md", *kIm2colPage = "docs/kernels-sm100-im2col.md";

void expect_in_document(const std::string& table, const char* page = kDecodersPage) {
    std::ifstream file(test::source_tree() / page);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_NE(text.str().find(table), std::string::npos) << page << " should hold\n" << table;
}

std::string budget_row(const char* preset, uint32_t group, uint32_t span, uint32_t filters) {
    const Conv2dConfig c = entry_config(group, span, filters, Activation::Window3d, Source::None);
    return line("| %s | %u x %u x %u | %u | %u x %u | %u | %u | %u | %u of %u | %u of 512 |\n", preset, c.mma.m,
                c.mma.n, c.block.k * c.k_group, c.stages, c.stages, stage_bytes(c),
                c.output_stages * output_tile_bytes(c), control_bytes(c), c.accumulator_stages * accumulator_columns(c),
                shared_bytes(c), kSharedLimit, tensor_columns(c));
}

TEST(Documentation, HoldsTheSharedMemoryBudget) {
    expect_in_document(
        "| preset | tile (pixels x filters x k) | stages | ring | output tiles | barriers | accumulators | "
        "shared memory | tensor memory |\n|---|---|---|---|---|---|---|---|---|\n" +
            budget_row("1-SM 128B", 1, 128, 128) + budget_row("1-SM 64B", 1, 64, 96) +
            budget_row("2-SM 128B", 2, 128, 256) + budget_row("2-SM 128B", 2, 128, 192) +
            budget_row("2-SM 64B", 2, 64, 96),
        kIm2colPage);
    const Conv2dConfig residual = entry_config(2, 128, 192, Activation::Window3d, Source::Residual);
    EXPECT_EQ(source_tiles(residual) * source_tile_bytes(residual), 16384u);
}

using conv::ConvProblem;

std::string extras(const ConvProblem& p) {
    std::string text;
    if (p.upsample) text += " 2x";
    if (p.residual) text += " + C";
    if (p.norm == conv::Norm::Beside) text += ", norm beside";
    if (p.norm == conv::Norm::Instead) text += ", norm";
    return text;
}

/// A constant of the model, and the chip with 20 % less of it.
struct Constant {
    const char* name;
    double ChipRates::*rate;

    ChipRates lower() const {
        ChipRates rates;
        rates.*rate *= 0.8;
        return rates;
    }
};
constexpr Constant kConstants[] = {{"clock", &ChipRates::clocks_per_second},
                                   {"shared", &ChipRates::shared_bytes_per_clock},
                                   {"L2", &ChipRates::l2_bytes_per_clock},
                                   {"HBM", &ChipRates::hbm_bytes_per_second}};

/// "71" or, where the slow end is another, "71-93".
std::string range_of(double from, double to, const char* format) {
    const std::string first = line(format, from), last = line(format, to);
    return first == last ? first : first + "-" + last;
}

/// A layer at both sizes, and the same on the slow chip.
std::string decoder_row(const DecoderRow& row, const DecoderRow& slow, const DecoderRow& small,
                        const DecoderRow& slow_small) {
    const ConvProblem& p = row.layer.problem;
    const auto limit = [](const DecoderRow& of) {
        constexpr const char* kLimits[] = {"products", "shared", "L2", "HBM", "epilogue", "power"};
        return kLimits[static_cast<size_t>(of.parts({}).limit)];
    };
    const auto microseconds = [](const DecoderRow& of, const DecoderRow& slow_one) {
        return range_of(of.plan.seconds * 1e6, slow_one.seconds(slow_rates()) * 1e6, "%.0f");
    };
    const std::string there = kernel_names(small);
    const std::string kernels = kernel_names(row) + (there == kernel_names(row) ? "" : "; small: " + there);
    return line("| %s | %lld | %lldx%lldx%lld, %lld>%lld, %lld taps%s | %s | %s | %s | %s | %s |\n",
                short_key(row.layer).c_str(), static_cast<long long>(row.layer.launches),
                static_cast<long long>(p.d_out()), static_cast<long long>(p.h_out()), static_cast<long long>(p.w_out()),
                static_cast<long long>(p.c_in), static_cast<long long>(p.filter.k), static_cast<long long>(p.taps()),
                extras(p).c_str(), kernels.c_str(), limit(row), microseconds(row, slow).c_str(), limit(small),
                microseconds(small, slow_small).c_str());
}

/// Latents of 1280 x 704 and 832 x 480.
const vae::LatentSize kLarge{88, 160}, kSmall{60, 104};

/// What an H200 reaches of its L2's rate with halos in rows of 64 bytes.
constexpr double kNarrowHaloShare = 19.0 / 40.0;

/// The parts, their sum from the data sheet's rates to the slow end, and what it would be with one of the constants
/// alone: an H200's share of power, 33 clusters of four, 20 % less of a rate, narrow halos as slow as on an H200.
std::string step_row(const char* size, vae::LatentSize latents) {
    const StepTime step = step_time(latents);
    std::string row =
        line("| %s | %.1f | %.2f | %.2f | %.2f | **%s** | %lld: %.2f |", size, step.convolutions, step.attention,
             step.kept, step.ends, range_of(step.sum(), step_time(latents, slow_rates()).sum(), "%.1f").c_str(),
             static_cast<long long>(step.launches), static_cast<double>(step.launches) * conv::kLaunchSeconds * 1e3);
    ChipRates power, gpcs;
    power.power_share = kPowerShare;
    gpcs.clusters = odd_gpcs(33);
    for (const ChipRates& rates : {power, gpcs}) row += line(" %.1f |", step_time(latents, rates).sum());
    for (const Constant& constant : kConstants) row += line(" %.1f |", step_time(latents, constant.lower()).sum());
    ChipRates narrow;
    narrow.narrow_halo_share = kNarrowHaloShare;
    return row + line(" %.1f |\n", step_time(latents, narrow).sum());
}

TEST(Documentation, HoldsTheKernelOfEveryConvolutionOfWan21) {
    std::string table =
        "| layer | launches | 1280 x 704 | kernel | limit | us | 832 x 480: limit | us |\n"
        "|---|---|---|---|---|---|---|---|\n";
    const auto large = decoder_rows(kLarge), small = decoder_rows(kSmall);
    const auto slow_large = decoder_rows(kLarge, StepOfClip::Later, slow_rates().clusters);
    const auto slow_small = decoder_rows(kSmall, StepOfClip::Later, slow_rates().clusters);
    ASSERT_EQ(large.size(), small.size());
    for (size_t i = 0; i < large.size(); ++i) table += decoder_row(large[i], slow_large[i], small[i], slow_small[i]);
    expect_in_document(table);
}

TEST(Documentation, HoldsTheTimeOfAStepAndWhatItHangsOn) {
    expect_in_document(
        "| a step, ms | convolutions | attention | kept frames | latents in, frames out | sum | of it launches | "
        "power 0.76 | 33 of four | clock -20 % | shared -20 % | L2 -20 % | HBM -20 % | narrow halos |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n" +
        step_row("1280 x 704", kLarge) + step_row("832 x 480", kSmall));
}

/// A step's convolutions in ms where so many clusters of four are resident, if their tiles are listed for as many, as
/// they are, or for 37 of them, of which the rest begins when the first have ended. Launch control gives the first:
/// tiles of one launch take equally long, so as many rounds.
double step_of_listed(uint32_t resident, uint32_t listed) {
    double milliseconds = 0;
    for (const DecoderRow& row : decoder_rows(kLarge, StepOfClip::Later, odd_gpcs(listed))) {
        const Conv2dEstimate parts = row.parts(row.planned);
        const bool waits = row.plan.cluster == 4 && parts.tiles > resident && row.method == "implicit-gemm-sm100";
        const uint64_t rounds = waits ? (std::min<uint64_t>(parts.tiles, listed) + resident - 1) / resident : 1;
        milliseconds += 1e3 * static_cast<double>(row.layer.launches) *
                        (row.plan.seconds + static_cast<double>(rounds - 1) * parts.seconds);
    }
    return milliseconds;
}

/// Of the time of a step's halo kernels, what SMs wait for the last round's end.
double idle_in_last_rounds() {
    double idle = 0, all = 0;
    for (const DecoderRow& row : decoder_rows(kLarge)) {
        if (row.method != "implicit-gemm-sm100") continue;
        const Conv2dEstimate parts = row.parts({});
        const double seconds = static_cast<double>(row.layer.launches) * parts.seconds;
        const double places = static_cast<double>(parts.rounds) * ChipRates{}.clusters_at_once(row.plan.cluster);
        idle += seconds * (1 - static_cast<double>(parts.tiles) / places);
        all += seconds;
    }
    return idle / all;
}

TEST(Documentation, HoldsWhatClustersThatAreNotResidentCost) {
    std::string asked;
    std::set<std::string> unasked;
    for (const uint32_t resident : {37U, 36U, 35U, 34U, 33U}) {
        asked += line("%s%.1f", asked.empty() ? "" : ", ", step_of_listed(resident, resident));
        if (resident < 37) unasked.insert(line("%.1f", step_of_listed(resident, 37)));
    }
    ASSERT_EQ(unasked.size(), 1U);
    expect_in_document(asked + " ms; 36 to 33 of 37 launched: " + *unasked.begin() + " ms.");
    expect_in_document(line("The last rounds leave %.1f %% of", 100 * idle_in_last_rounds()));
}

bool is_one_launch(std::string_view method) {
    return method == "implicit-gemm-sm100" || method == "conv2d-sm100" || method == "conv3d-sm100";
}
/// Kernels of other functions, other orders of tiles, and dense frames only.
bool is_special(std::string_view kernel) {
    for (const char* part : {"channel_sums", "silu_staged", "@", "Volume3d"})
        if (kernel.find(part) != std::string_view::npos) return true;
    return false;
}

/// The kernel that takes at least 2 % less than the row's own where the chip's rates are these, or none. Of the methods
/// that take one launch a call.
std::string faster_kernel(const DecoderRow& row, const ChipRates& rates) {
    constexpr double kMargin = 0.98;
    const conv::Chip chip = conv::chip_of(conv::describe_known_device("sm_100").value());
    const ConvProblem& problem = row.layer.problem;
    double least = kMargin * row.seconds(rates);
    std::string fastest;
    for (const conv::DispatchRow& candidate_row :
         conv::explain(conv::describe_known_device("sm_100").value(), problem)) {
        if (!candidate_row.open || !is_one_launch(candidate_row.candidate)) continue;
        const auto candidate = std::ranges::find(conv::candidates(), candidate_row.candidate, &conv::Candidate::name);
        for (const std::string_view kernel : candidate->choice.kernels(problem, chip)) {
            if (is_special(kernel)) continue;
            const DecoderRow other{row.layer, candidate->name, candidate->choice.plan(problem, chip, kernel)};
            if (other.seconds(rates) >= least) continue;
            least = other.seconds(rates);
            fastest = kernel_names(other);
        }
    }
    return fastest;
}

struct Change {
    const char* name;
    double ChipRates::*rate;
    double factor;
};
/// The rates of which no data sheet tells.
constexpr Change kChanges[] = {{"L2 x 0.8", &ChipRates::l2_bytes_per_clock, 0.8},
                               {"L2 x 1.25", &ChipRates::l2_bytes_per_clock, 1.25},
                               {"shared x 0.8", &ChipRates::shared_bytes_per_clock, 0.8},
                               {"shared x 1.25", &ChipRates::shared_bytes_per_clock, 1.25}};

TEST(Documentation, HoldsWhichKernelsTheRatesInsideTheChipWouldChange) {
    std::string table = "| layers at 1280 x 704 |", line_below = "\n|---|";
    for (const Change& change : kChanges) {
        table += line(" %s |", change.name);
        line_below += "---|";
    }
    table += line_below + '\n';
    std::vector<std::pair<std::string, std::string>> rows;  // layers, and what all of them get
    ChipRates narrow;
    narrow.narrow_halo_share = kNarrowHaloShare;
    for (const DecoderRow& row : decoder_rows(kLarge)) {
        EXPECT_EQ(faster_kernel(row, {}), "") << row.layer.key << ": " << kernel_names(row);
        EXPECT_EQ(faster_kernel(row, narrow), "") << row.layer.key;
        std::string cells;
        for (const Change& change : kChanges) {
            ChipRates rates;
            rates.*change.rate *= change.factor;
            const std::string kernel = faster_kernel(row, rates);
            cells += kernel.empty() ? " |" : line(" %s |", kernel.c_str());
        }
        if (cells == " | | | |") continue;
        const auto same = std::ranges::find(rows, cells, &std::pair<std::string, std::string>::second);
        if (same == rows.end()) {
            rows.emplace_back(short_key(row.layer), cells);
        } else {
            same->first += ", " + short_key(row.layer);
        }
    }
    for (const auto& [layers, cells] : rows) table += "| " + layers + " |" + cells + '\n';
    expect_in_document(table);
}

TEST(Documentation, NoConvolutionOfWan21IsOffTcgen05AndAStepStaysInItsBudget) {
    for (const vae::LatentSize latents : {kLarge, kSmall})
        for (const DecoderRow& row : decoder_rows(latents))
            EXPECT_TRUE(row.method.ends_with("-sm100")) << row.layer.key << ": " << row.method;
    EXPECT_LT(step_time(kLarge, slow_rates()).sum(), 25);
}

/// What F(2,3) along time would take of the layers that it can compute, by the model, and of a step with it.
TEST(Documentation, HoldsWhatWinogradAlongTimeWouldTake) {
    const conv::Chip chip = conv::chip_of(conv::describe_known_device("sm_100").value());
    const std::vector<DecoderRow> sizes[] = {decoder_rows(kLarge), decoder_rows(kSmall)};
    std::string table =
        "| a step's convolutions, us | 1280 x 704 | along time | ratio | 832 x 480 | along time | ratio |\n"
        "|---|---|---|---|---|---|---|\n";
    const auto cells = [](double direct, double along_time) {
        return line(" %.0f | %.0f | %.2f |", direct * 1e6, along_time * 1e6, direct / along_time);
    };
    double direct[2] = {}, faster[2] = {}, from_registers[2] = {};
    std::map<int64_t, double> gain;  // the most that a layer of so many channels gains
    for (size_t i = 0; i < sizes[0].size(); ++i) {
        const ConvProblem& of_layer = sizes[0][i].layer.problem;
        const bool along_time = of_layer.taps() == 27 && of_layer.d_out() >= 2 && of_layer.filter.k > 16;
        for (size_t size = 0; size < 2; ++size) {
            const DecoderRow& layer = sizes[size][i];
            const double runs = layer.plan.seconds;
            const double would = along_time ? winograd_seconds(layer.layer.problem, chip) : runs;
            direct[size] += static_cast<double>(layer.layer.launches) * runs;
            const double best =
                along_time ? winograd_seconds(layer.layer.problem, chip, SumsTaken::IntoRegisters) : runs;
            faster[size] += static_cast<double>(layer.layer.launches) * std::min(runs, would);
            from_registers[size] += static_cast<double>(layer.layer.launches) * std::min(runs, best);
            if (along_time) gain[of_layer.c_in] = std::max(gain[of_layer.c_in], runs / would);
        }
    }
    table += "| the faster of both in each layer |" + cells(direct[0], faster[0]) + cells(direct[1], faster[1]);
    table += "\n| the same, sums into registers first |" + cells(direct[0], from_registers[0]) +
             cells(direct[1], from_registers[1]);
    expect_in_document(table + '\n', kIm2colPage);
    expect_in_document(line("A layer gains %.2f at most, one of 96 channels %.2f.", gain[384], gain[96]), kIm2colPage);
}

bool is_small(std::string_view kernel) { return kernel.find("_small_") != std::string_view::npos; }

/// The candidate's plan with its cheapest kernel of 128 pixels a CTA.
conv::ConvPlan plan_without_small_tiles(const conv::Candidate& candidate, const ConvProblem& problem,
                                        const conv::Chip& chip) {
    conv::ConvPlan plan = candidate.plan(problem, chip);
    if (!is_small(plan.kernels.front().kernel)) return plan;
    const auto kernels = candidate.choice.kernels(problem, chip);
    return candidate.choice.plan(problem, chip, *std::ranges::find_if_not(kernels, is_small));
}

/// What the dispatch would predict if there were no such tiles; like itself it ranks by one frame.
double seconds_without_small_tiles(const ConvProblem& problem) {
    const accel::DeviceInfo b200 = conv::describe_known_device("sm_100").value();
    const conv::Chip chip = conv::chip_of(b200);
    ConvProblem frame = problem;
    frame.d -= (frame.d_out() - 1) * frame.stride.d;
    double least = std::numeric_limits<double>::infinity(), seconds = 0;
    for (const conv::DispatchRow& row : conv::explain(b200, problem)) {
        if (!row.open || !row.seconds || row.rounding != conv::Rounding::Once) continue;
        const auto candidate = std::ranges::find(conv::candidates(), row.candidate, &conv::Candidate::name);
        const double alone = plan_without_small_tiles(*candidate, frame, chip).seconds;
        if (alone >= least) continue;
        least = alone;
        seconds = plan_without_small_tiles(*candidate, problem, chip).seconds;
    }
    return seconds;
}

std::string small_tiles_row(vae::LatentSize latents) {
    std::string text =
        line("| %lld x %lld |", static_cast<long long>(latents.height), static_cast<long long>(latents.width));
    for (const StepOfClip step : {StepOfClip::First, StepOfClip::Later}) {
        double with = 0, without = 0;
        int64_t launches = 0;
        for (const DecoderRow& row : decoder_rows(latents, step)) {
            const vae::StepConvolution& layer = row.layer;
            with += static_cast<double>(layer.launches) * row.plan.seconds;
            without += static_cast<double>(layer.launches) * seconds_without_small_tiles(layer.problem);
            if (is_small(row.plan.kernels.front().kernel)) launches += layer.launches;
        }
        text += line(" %.0f | %.0f | %lld |", without * 1e6, with * 1e6, static_cast<long long>(launches));
    }
    return text + '\n';
}

TEST(Documentation, HoldsWhatTilesOf64PixelsSaveFromTheSmallestLatentsOn) {
    std::string table =
        "| latents | a first step, us without them | with | in launches | a later step, us without them | with | in "
        "launches |\n|---|---|---|---|---|---|---|\n";
    for (const vae::LatentSize latents : {vae::LatentSize{8, 8}, {16, 16}, {24, 40}, {30, 52}, {60, 104}, {88, 160}})
        table += small_tiles_row(latents);
    expect_in_document(table, kIm2colPage);
}

std::string halo_budget_row(const NamedHaloConfig& tile, const std::string& clusters) {
    const HaloConfig& c = tile.config;
    const bool head = c.store == HaloStore::Pixels;  // as the page says of all
    EXPECT_EQ(staging_bytes(c), head ? 1024U : 32768U) << tile.kernel;
    EXPECT_EQ(tensor_columns(c), head ? 128U : 512U) << tile.kernel;
    return line("| %s | %s | %u x %u | %u x %u | %u |\n",
                std::string(tile.kernel.substr(tile.kernel.find("_n") + 1)).c_str(), clusters.c_str(), c.input_stages,
                input_stage_bytes(c), c.filter_stages, filter_stage_bytes(c), shared_bytes(c));
}

TEST(Documentation, HoldsTheTilesOfTheHaloKernel) {
    std::string table =
        "| filters, pixels, taps, channels | cluster | halos | filter stages | bytes of 232448 "
        "|\n|---|---|---|---|---|\n";
    for (const NamedHaloConfig& tile : halo_configs()) {
        if (tile.config.element != Element::BF16 || tile.kernel.ends_with("_shared")) continue;
        const auto shared = std::ranges::find(halo_configs(), std::string(tile.kernel) + "_shared",
                                              [](const NamedHaloConfig& named) { return std::string(named.kernel); });
        std::string clusters = std::to_string(tile.config.cluster);
        if (shared != halo_configs().end()) {
            EXPECT_EQ(shared_bytes(shared->config), shared_bytes(tile.config));
            clusters += line("; shared: %u", shared->config.cluster);
        }
        table += halo_budget_row(tile, clusters);
    }
    expect_in_document(table);
}

}  // namespace
}  // namespace kinetograph::sm100
