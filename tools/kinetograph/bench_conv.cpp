// kinetograph bench conv: every convolution of a decoding step, or one problem, on every open back end.
#include <fmt/ranges.h>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/conv_request.hpp>
#include <kinetograph/tools/kinetograph/conv_timing.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/decoder_convolutions.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/progress.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

namespace kinetograph::cli {
namespace {

struct ConvBench {
    conv::ConvProblem problem;
    bool one_problem = false;  ///< `problem` instead of a decoder's convolutions
    FrameSize size{.width = 1280, .height = 704};
    std::string family = "wan2.1";
    std::int64_t dim = 0;  ///< 0: the published width
    std::string layer;     ///< part of the layers' names; empty: all
    std::string lane = "auto";
    std::string backend;
    int repeats = 20;
    std::string json, command_line;
};

/// One back end's time for one convolution, or why there is none.
struct BackEndResult {
    std::string backend;
    std::optional<double> predicted;  ///< seconds of a launch, by the dispatch's model; none without a model
    Result<ConvTiming> timing;
};

struct LayerResult {
    DecoderConvolution convolution;
    std::vector<BackEndResult> backends;
    /// The fastest; null if none ran.
    const ConvTiming* best() const {
        const ConvTiming* best = nullptr;
        for (const BackEndResult& result : backends)
            if (result.timing && (best == nullptr || result.timing->launches.median() < best->launches.median()))
                best = &*result.timing;
        return best;
    }
};

Result<std::vector<DecoderConvolution>> wanted_convolutions(const ConvBench& bench) {
    if (bench.one_problem) {
        const conv::ConvProblem& problem = bench.problem;
        KG_CHECK(conv::validate(problem));
        return std::vector<DecoderConvolution>{{convolution_name(problem), problem, 1}};
    }
    const families::Family& family = *families::find(bench.family);
    families::Widths widths = family.published;
    if (bench.dim > 0) widths.dim = bench.dim;
    KG_TRY(const auto size, bench.size.latents(family));
    const nn::Network network = family.decoder(widths);
    KG_TRY(auto all, decoder_convolutions(network, family.one_latent_frame, size, bench.problem.dtype));
    std::vector<std::string> names(all.size());
    std::ranges::transform(all, names.begin(), &DecoderConvolution::name);
    std::erase_if(all, [&](const DecoderConvolution& one) { return one.name.find(bench.layer) == std::string::npos; });
    if (all.empty())
        return fail(ErrorCode::NotFound, "no layer's name contains \"{}\"; there are: {}", bench.layer,
                    fmt::join(names, "; "));
    return all;
}

struct WantedBackEnd {
    std::string name;
    std::optional<double> predicted = {};
};

/// The requested back end, or all open ones except the fp64 reference, which is for correctness.
std::vector<WantedBackEnd> wanted_backends(const ConvBench& bench, const accel::DeviceInfo& device,
                                           const conv::ConvProblem& problem) {
    std::vector<WantedBackEnd> wanted;
    for (const conv::DispatchRow& row : conv::explain(device, problem)) {
        const bool is_wanted =
            bench.backend.empty() ? row.candidate != "reference-cpu" : row.candidate == bench.backend;
        if (row.open && is_wanted) wanted.push_back({std::string(row.candidate), row.seconds});
    }
    if (wanted.empty() && !bench.backend.empty()) wanted.push_back({bench.backend});  // it says why it declines
    return wanted;
}

/// Rate in 2 x multiply-adds; padding and doubled pixels count as computed.
double tflops(const conv::ConvProblem& problem, double seconds) { return problem.flops() / seconds / 1e12; }

/// Seconds of all launches of a step, each by its fastest back end; none if one did not run.
std::optional<double> seconds_per_step(std::span<const LayerResult> layers) {
    double sum = 0;
    for (const LayerResult& layer : layers) {
        const ConvTiming* best = layer.best();
        if (best == nullptr) return std::nullopt;
        sum += static_cast<double>(layer.convolution.launches) * best->launches.median();
    }
    return sum;
}

std::string to_text(const ConvBench& bench, const accel::DeviceInfo& device, std::span<const LayerResult> layers) {
    Table table(
        {"layer", ">launches", "back end", ">median ms", ">min ms", ">predicted ms", ">TFLOP/s", ">GB/s at least"});
    std::string failures;
    for (const auto& [convolution, backends] : layers) {
        for (const BackEndResult& result : backends) {
            if (!result.timing) {
                failures +=
                    fmt::format("{} on {}: {}\n", convolution.name, result.backend, result.timing.error().message);
                continue;
            }
            const Samples& launches = result.timing->launches;
            const auto bytes = static_cast<double>(least_traffic(convolution.problem));
            table.add({convolution.name, std::to_string(convolution.launches), result.backend,
                       fmt::format("{:.4f}", 1e3 * launches.median()), fmt::format("{:.4f}", 1e3 * launches.least()),
                       result.predicted ? fmt::format("{:.4f}", 1e3 * *result.predicted) : "",
                       fmt::format("{:.2f}", tflops(convolution.problem, launches.median())),
                       fmt::format("{:.1f}", bytes / launches.median() / 1e9)});
        }
    }
    std::string text = table.to_string() + failures;
    if (const auto step = seconds_per_step(layers); step && !bench.one_problem && bench.layer.empty())
        text += fmt::format("\nall convolutions of a step: {:.3f} ms, each by its fastest back end\n", 1e3 * *step);
    return text + fmt::format("{}, median of {}\n", describe_machine(device), bench.repeats);
}

nlohmann::ordered_json to_json(const ConvBench& bench, const accel::DeviceInfo& device,
                               std::span<const LayerResult> layers) {
    nlohmann::ordered_json json = report_head("conv", bench.command_line, device);
    json["dtype"] = tensor::to_string(bench.problem.dtype);
    if (!bench.one_problem) {
        json["width"] = bench.size.width;
        json["height"] = bench.size.height;
        json["dim"] = bench.dim;
    }
    for (const auto& [convolution, backends] : layers) {
        nlohmann::ordered_json layer{{"layer", convolution.name},
                                     {"problem", convolution.problem.to_string()},
                                     {"launches", convolution.launches},
                                     {"flops", convolution.problem.flops()},
                                     {"bytes", least_traffic(convolution.problem)}};
        for (const BackEndResult& result : backends) {
            if (!result.timing) {
                layer["backends"].push_back({{"backend", result.backend}, {"error", result.timing.error().message}});
                continue;
            }
            const ConvTiming& timing = *result.timing;
            layer["backends"].push_back(
                {{"backend", result.backend},
                 {"seconds", timing.launches.median()},
                 {"predicted_seconds",
                  result.predicted ? nlohmann::ordered_json(*result.predicted) : nlohmann::ordered_json()},
                 {"seconds_of_repeats", timing.launches.to_json()},
                 {"tflops", tflops(convolution.problem, timing.launches.median())},
                 {"tensors_in_turn", timing.in_turn},
                 {"replayed", timing.replayed},
                 {"workspace_bytes", timing.workspace_bytes}});
        }
        json["layers"].push_back(std::move(layer));
    }
    const auto step = seconds_per_step(layers);
    json["seconds_per_step"] =
        step && !bench.one_problem && bench.layer.empty() ? nlohmann::ordered_json(*step) : nlohmann::ordered_json();
    return json;
}

Result<void> run(const ConvBench& bench) {
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(auto device, open_lane(bench.lane));
    const accel::DeviceInfo& info = device->info();
    KG_TRY(auto convolutions, wanted_convolutions(bench));

    std::vector<LayerResult> layers;
    std::optional<Error> failure;
    {
        Progress progress(static_cast<std::int64_t>(convolutions.size()), "layers");
        for (const DecoderConvolution& convolution : convolutions) {
            LayerResult layer{convolution, {}};
            for (const WantedBackEnd& backend : wanted_backends(bench, info, convolution.problem)) {
                auto timing =
                    time_convolution(*device, convolution.problem, {.backend = backend.name, .repeats = bench.repeats});
                if (!timing) failure = Error{timing.error().code, convolution.name + ": " + timing.error().message};
                layer.backends.push_back({backend.name, backend.predicted, std::move(timing)});
            }
            layers.push_back(std::move(layer));
            progress.show(static_cast<std::int64_t>(layers.size()));
        }
    }
    KG_CHECK(report.write(to_text(bench, info, layers), to_json(bench, info, layers)));
    return failure ? fail(std::move(*failure)) : Result<void>{};
}

}  // namespace

void add_bench_conv(CLI::App& bench, Action& action, const std::string& command_line) {
    auto arguments = std::make_shared<ConvBench>();
    arguments->command_line = command_line;
    CLI::App* command = bench.add_subcommand("conv", "Time every convolution of a decoding step, or one problem");
    const ProblemOptions problem = add_conv_options(*command, arguments->problem);
    problem.input->needs(problem.filter);
    problem.filter->needs(problem.input);
    add_frame_size(*command, arguments->size)->excludes(problem.input);
    command->add_option("--dim", arguments->dim, "Width of the decoder (default: as published)")
        ->check(CLI::Range(8, 512).description(""))
        ->type_name("N")
        ->excludes(problem.input);
    command->add_option("--layer", arguments->layer, "Only layers whose name contains this: \"96>96\"")
        ->type_name("TEXT")
        ->excludes(problem.input);
    command->add_option("--family", arguments->family, "Whose decoder (default wan2.1)")
        ->check([](const std::string& word) {
            return families::find(word) != nullptr
                       ? ""
                       : fmt::format("{} is none of {}", word, families::any_of(&families::Family::name));
        })
        ->type_name("FAMILY")
        ->excludes(problem.input);
    add_lane_option(*command, arguments->lane);
    add_backend_option(*command, arguments->backend, "Only this candidate (default: every open one but reference)");
    command->add_option("--repeats", arguments->repeats, "Timed rows of launches (default 20)")
        ->check(CLI::Range(1, 100'000).description(""))
        ->type_name("N");
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("FILE");
    command->final_callback([arguments, input = problem.input, &action] {
        arguments->one_problem = input->count() > 0;
        action = [arguments] { return run(*arguments); };
    });
}

}  // namespace kinetograph::cli
