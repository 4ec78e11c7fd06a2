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

#include <map>
#include <optional>

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
    bool declared = false;  ///< time each launch that a decoder declares, on the back ends that it takes
    int repeats = 20;
    std::string json, command_line;
};

/// One back end's time for one convolution, or why there is none.
struct BackEndResult {
    std::string backend;
    std::optional<double> predicted;  ///< seconds of a launch, by the dispatch's model; none without a model
    Result<ConvTiming> timing;
};

/// What a decoder with exact or with fast sums does with a declared launch.
struct Choice {
    std::string backend;        ///< empty: none is open
    std::int64_t launches = 0;  ///< in a step
};
using Choices = std::map<std::string, Choice>;  ///< by the sums: "exact", "fast"

struct WantedLayer {
    DecoderConvolution convolution;
    std::optional<DeclaredConvolution> declared = {};
    Choices choices = {};  ///< of a declared one
};

struct LayerResult : WantedLayer {
    std::vector<BackEndResult> backends;
    /// The result of `backend`; null if it did not run.
    const BackEndResult* of(const std::string& backend) const {
        const auto found = std::ranges::find(backends, backend, &BackEndResult::backend);
        return found == backends.end() || !found->timing ? nullptr : &*found;
    }
    /// The fastest; null if none ran.
    const ConvTiming* best() const {
        const ConvTiming* best = nullptr;
        for (const BackEndResult& result : backends)
            if (result.timing && (best == nullptr || result.timing->launches.median() < best->launches.median()))
                best = &*result.timing;
        return best;
    }
};

/// "decoder.head.2: 96>3 3x3x3, 2x704x1280, residual": the pass, and what the launch stores.
std::string name_of(const DeclaredConvolution& declared) {
    const std::string epilogue = epilogue_text(declared.problem, declared.frame_step);
    return fmt::format("{}: {}{}{}", declared.pass, convolution_name(declared.problem), epilogue.empty() ? "" : ", ",
                       epilogue);
}

/// Every launch that a decoder with exact or with fast sums declares, with the back end that each takes for it.
Result<std::vector<WantedLayer>> declared_layers(vae::NetworkDesc network, vae::LatentSize size,
                                                 const accel::DeviceInfo& device) {
    std::vector<WantedLayer> layers;
    for (const conv::Sums sums : {conv::Sums::Exact, conv::Sums::Fast}) {
        network.sums = sums;
        KG_TRY(const auto launches, declared_convolutions(network, size, device));
        for (const DeclaredConvolution& launch : launches) {
            auto same = std::ranges::find_if(layers, [&](const WantedLayer& one) {
                return one.declared->pass == launch.pass && one.declared->problem == launch.problem;
            });
            if (same == layers.end())
                same = layers.insert(same, {{name_of(launch), launch.problem, launch.launches}, launch});
            const conv::DispatchRow first = conv::explain(device, launch.problem, sums).front();
            same->choices[std::string(to_string(sums))] = {std::string(first.open ? first.candidate : ""),
                                                           launch.launches};
        }
    }
    return layers;
}

Result<std::vector<WantedLayer>> wanted_layers(const ConvBench& bench, const accel::DeviceInfo& device) {
    if (bench.one_problem) {
        const conv::ConvProblem& problem = bench.problem;
        KG_CHECK(conv::validate(problem));
        return std::vector<WantedLayer>{{{convolution_name(problem), problem, 1}}};
    }
    const families::Family& family = *families::find(bench.family);
    families::Widths widths = family.published;
    if (bench.dim > 0) widths.dim = bench.dim;
    KG_TRY(const auto size, bench.size.latents(family));
    const vae::NetworkDesc network{.network = families::decoder_of(family, widths),
                                   .one_step = family.one_latent_frame,
                                   .dtype = bench.problem.input.element};
    std::vector<WantedLayer> all;
    if (bench.declared) {
        KG_TRY(all, declared_layers(network, size, device));
    } else {
        KG_TRY(auto kinds, decoder_convolutions(network, size));
        for (DecoderConvolution& kind : kinds) all.push_back({std::move(kind)});
    }
    std::vector<std::string> names(all.size());
    std::ranges::transform(all, names.begin(), [](const WantedLayer& one) { return one.convolution.name; });
    std::erase_if(all,
                  [&](const WantedLayer& one) { return one.convolution.name.find(bench.layer) == std::string::npos; });
    if (all.empty())
        return fail(ErrorCode::NotFound, "no layer's name contains \"{}\"; there are: {}", bench.layer,
                    fmt::join(names, "; "));
    return all;
}

struct WantedBackEnd {
    std::string name;
    std::optional<double> predicted = {};
};

/// The requested back end. Without a request: for a declared launch those that decoders take, otherwise all open ones;
/// the fp64 reference, which checks results, only where no other is open and decoders take it too.
std::vector<WantedBackEnd> wanted_backends(const ConvBench& bench, const accel::DeviceInfo& device,
                                           const WantedLayer& layer) {
    const auto chosen = [&](std::string_view candidate) {
        return std::ranges::any_of(layer.choices, [&](const auto& of) { return of.second.backend == candidate; });
    };
    std::vector<WantedBackEnd> wanted;
    const auto rows = conv::explain(device, layer.convolution.problem);
    for (const conv::DispatchRow& row : rows) {
        const bool is_wanted = !bench.backend.empty() ? row.candidate == bench.backend
                               : layer.declared       ? chosen(row.candidate)
                                                      : row.candidate != "reference-cpu" || &row == rows.data();
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

/// The sum over a step's declared launches, each on the back end that a decoder with the given sums takes.
struct DeclaredSum {
    double seconds = 0;
    std::optional<double> predicted = 0;  ///< none if one has no model
};

/// None if one of the launches did not run.
std::optional<DeclaredSum> declared_sum(std::span<const LayerResult> layers, const std::string& sums) {
    DeclaredSum sum;
    for (const LayerResult& layer : layers) {
        const auto choice = layer.choices.find(sums);
        if (choice == layer.choices.end()) continue;
        const BackEndResult* result = layer.of(choice->second.backend);
        if (result == nullptr) return std::nullopt;
        const auto launches = static_cast<double>(choice->second.launches);
        sum.seconds += launches * result->timing->launches.median();
        if (sum.predicted && result->predicted)
            *sum.predicted += launches * *result->predicted;
        else
            sum.predicted.reset();
    }
    return sum;
}

bool is_whole_step(const ConvBench& bench) { return !bench.one_problem && bench.layer.empty(); }

std::string step_text(const ConvBench& bench, std::span<const LayerResult> layers) {
    if (!is_whole_step(bench)) return "";
    std::string text;
    if (const auto step = seconds_per_step(layers); step && !bench.declared)
        text += fmt::format("\nall convolutions of a step: {:.3f} ms, each by its fastest back end\n", 1e3 * *step);
    for (const char* sums : {"exact", "fast"}) {
        const auto sum = bench.declared ? declared_sum(layers, sums) : std::nullopt;
        if (!sum) continue;
        text += fmt::format("\nall convolutions of a step with {} sums: {:.3f} ms", sums, 1e3 * sum->seconds);
        text += sum->predicted ? fmt::format(", {:.3f} ms predicted\n", 1e3 * *sum->predicted) : "\n";
    }
    return text;
}

std::string to_text(const ConvBench& bench, const accel::DeviceInfo& device, std::span<const LayerResult> layers) {
    Table table(
        {"layer", ">launches", "back end", ">median ms", ">min ms", ">predicted ms", ">TFLOP/s", ">GB/s at least"});
    std::string failures;
    for (const LayerResult& layer : layers) {
        const DecoderConvolution& convolution = layer.convolution;
        for (const BackEndResult& result : layer.backends) {
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
    return table.to_string() + failures + step_text(bench, layers) +
           fmt::format("{}, median of {}\n", describe_machine(device), bench.repeats);
}

nlohmann::ordered_json layer_json(const WantedLayer& layer) {
    const DecoderConvolution& convolution = layer.convolution;
    nlohmann::ordered_json json{{"layer", convolution.name},
                                {"problem", convolution.problem.to_string()},
                                {"launches", convolution.launches},
                                {"flops", convolution.problem.flops()},
                                {"bytes", least_traffic(convolution.problem)}};
    if (!layer.declared) return json;
    json["pass"] = layer.declared->pass;
    json["part_of"] = layer.declared->layer;
    json["epilogue"] = layer.declared->epilogue;
    json["layers_alike"] = layer.declared->layers;
    for (const auto& [sums, choice] : layer.choices)
        json["sums"][sums] = {{"backend", choice.backend}, {"launches", choice.launches}};
    return json;
}

void add_step(const ConvBench& bench, std::span<const LayerResult> layers, nlohmann::ordered_json& json) {
    if (!bench.declared) {
        json["seconds_per_step"] = json_or_null(is_whole_step(bench) ? seconds_per_step(layers) : std::nullopt);
        return;
    }
    for (const char* sums : {"exact", "fast"}) {
        const auto sum = is_whole_step(bench) ? declared_sum(layers, sums) : std::nullopt;
        json["seconds_per_step_of_sums"][sums] = json_or_null(sum ? std::optional(sum->seconds) : std::nullopt);
        json["predicted_seconds_per_step_of_sums"][sums] = json_or_null(sum ? sum->predicted : std::nullopt);
    }
}

nlohmann::ordered_json to_json(const ConvBench& bench, const accel::DeviceInfo& device,
                               std::span<const LayerResult> layers) {
    nlohmann::ordered_json json = report_head("conv", bench.command_line, device);
    json["dtype"] = tensor::to_string(bench.problem.input.element);
    if (!bench.one_problem) {
        json["width"] = bench.size.width;
        json["height"] = bench.size.height;
        json["dim"] = bench.dim;
    }
    if (bench.declared) json["declared"] = true;
    for (const LayerResult& each : layers) {
        nlohmann::ordered_json layer = layer_json(each);
        layer["backends"] = nlohmann::ordered_json::array();
        for (const BackEndResult& result : each.backends) {
            if (!result.timing) {
                layer["backends"].push_back({{"backend", result.backend}, {"error", result.timing.error().message}});
                continue;
            }
            const ConvTiming& timing = *result.timing;
            layer["backends"].push_back({{"backend", result.backend},
                                         {"seconds", timing.launches.median()},
                                         {"predicted_seconds", json_or_null(result.predicted)},
                                         {"seconds_of_repeats", timing.launches.to_json()},
                                         {"tflops", tflops(each.convolution.problem, timing.launches.median())},
                                         {"tensors_in_turn", timing.in_turn},
                                         {"replayed", timing.replayed},
                                         {"workspace_bytes", timing.workspace_bytes}});
        }
        json["layers"].push_back(std::move(layer));
    }
    add_step(bench, layers, json);
    return json;
}

Result<void> run(const ConvBench& bench) {
    KG_TRY(auto report, BenchReport::create(bench.json));
    KG_TRY(auto device, open_lane(bench.lane));
    const accel::DeviceInfo& info = device->info();
    KG_TRY(const auto wanted, wanted_layers(bench, info));

    std::vector<LayerResult> layers;
    std::optional<Error> failure;
    {
        Progress progress(static_cast<std::int64_t>(wanted.size()), "layers");
        for (const WantedLayer& each : wanted) {
            LayerResult layer{each, {}};
            for (const WantedBackEnd& backend : wanted_backends(bench, info, each)) {
                auto timing = time_convolution(*device, each.convolution.problem,
                                               {.backend = backend.name,
                                                .repeats = bench.repeats,
                                                .frame_step = each.declared ? each.declared->frame_step : 1,
                                                .in_place = each.declared && each.declared->in_place});
                if (!timing)
                    failure = Error{timing.error().code, each.convolution.name + ": " + timing.error().message};
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
    command
        ->add_flag(
            "--declared", arguments->declared,
            "Every launch as decoders of exact and of fast sums declare it: in its parts, with residual and norm")
        ->excludes(problem.input);
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
