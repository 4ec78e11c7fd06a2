// kinetograph conv: one convolution on random data, checked against the fp64 reference and timed.
#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/conv_request.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/guarded_text.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>

#include <nlohmann/json.hpp>

namespace kinetograph::cli {
namespace {

struct ConvArguments {
    conv::ConvProblem problem;
    std::string lane = "auto";
    std::string backend;
    conv::Sums sums = conv::Sums::Exact;
    std::string filter_from;  // FILE:TENSOR
    conv::FilterLayout filter_layout = conv::FilterLayout::KCQRS;
    bool filter_on_device = false;
    int repeats = 10;
    bool explain = false;
    std::string described_device;  // an architecture: explain for it, run nothing
    std::string json;
};

const std::map<std::string, conv::FilterLayout> kFilterLayouts{{"kcqrs", conv::FilterLayout::KCQRS},
                                                               {"kqrsc", conv::FilterLayout::KQRSC},
                                                               {"rscf", conv::FilterLayout::RSCF},
                                                               {"qrscf", conv::FilterLayout::QRSCF}};

/// The extents other than 1: files omit the axis of a single temporal tap.
tensor::Shape without_ones(tensor::Shape shape) {
    std::erase(shape, 1);
    return shape;
}

/// The tensor that --filter-from names; nothing without the option.
Result<std::vector<float>> read_filter(const ConvArguments& arguments) {
    if (arguments.filter_from.empty()) return std::vector<float>{};
    const std::size_t colon = arguments.filter_from.rfind(':');
    const std::string file = arguments.filter_from.substr(0, colon), name = arguments.filter_from.substr(colon + 1);
    KG_TRY(const auto source, formats::open(file));
    const tensor::TensorView* view = source.find(name);
    if (view == nullptr) return fail(ErrorCode::NotFound, "{}: there is no tensor \"{}\"", file, name);
    const tensor::Shape wanted = conv::filter_shape(arguments.problem, arguments.filter_layout);
    if (without_ones(view->shape) != without_ones(wanted)) {
        return fail(ErrorCode::InvalidArgument, "{}: \"{}\" has the shape {}, the filter of {} has {}", file, name,
                    tensor::to_string(view->shape), arguments.problem.to_string(), tensor::to_string(wanted));
    }
    return tensor::to_f32(*view, name);
}

nlohmann::ordered_json to_json(std::span<const conv::DispatchRow> rows) {
    auto list = nlohmann::ordered_json::array();
    for (const conv::DispatchRow& row : rows)
        list.push_back({{"candidate", row.candidate},
                        {"open", row.open},
                        {"reason", row.reason},
                        {"predicted_seconds", json_or_null(row.seconds)},
                        {"expected_error", json_or_null(row.open ? std::optional(row.error) : std::nullopt)},
                        {"clusters_at_once", row.plan != nullptr ? row.plan->clusters_at_once : 0}});
    return list;
}

std::string to_json(const conv::ConvProblem& problem, const accel::DeviceInfo& device, const conv::ConvRun& run,
                    std::span<const conv::DispatchRow> rows) {
    nlohmann::ordered_json json{{"problem", problem.to_string()},
                                {"lane", device.kind},
                                {"device", device.name},
                                {"backend", run.backend},
                                {"relative_l2", run.relative_l2},
                                {"normed_relative_l2", json_or_null(run.normed_relative_l2)},
                                {"max_abs_error", run.max_abs_error},
                                {"max_abs_reference", run.max_abs_reference},
                                {"seconds", run.seconds_median},
                                {"tflops", run.tflops},
                                {"workspace_bytes", run.workspace_bytes},
                                {"commit", kBuildCommit},
                                {"dispatch", to_json(rows)}};
    return json_text(json);
}

nlohmann::ordered_json to_json(std::span<const conv::ModelRow> models) {
    auto list = nlohmann::ordered_json::array();
    for (const conv::ModelRow& row : models)
        list.push_back({{"model", row.model},
                        {"predicted_seconds", row.seconds},
                        {"beside", row.beside},
                        {"beside_seconds", row.seconds_beside}});
    return list;
}

/// All methods, or the one that --backend names.
Result<std::vector<conv::DispatchRow>> rows_for(const ConvArguments& arguments, const conv::Chip& chip) {
    if (arguments.backend.empty()) return conv::explain(chip, arguments.problem, arguments.sums);
    KG_TRY(auto row, conv::explain_named(chip, arguments.problem, arguments.backend));
    return std::vector<conv::DispatchRow>{std::move(row)};
}

/// The decision for a device that need not be present, by plans whose kernels need not be in this build.
Result<void> explain_for(const ConvArguments& arguments, const conv::ConvProblem& problem) {
    const accel::DeviceInfo device = *conv::describe_known_device(arguments.described_device);
    const conv::Chip chip = conv::chip_of(device);
    KG_TRY(const auto rows, rows_for(arguments, chip));
    const auto models = conv::explain_models(chip, problem);
    if (!arguments.json.empty()) {
        KG_TRY(auto json, TextOutput::create(arguments.json));
        const nlohmann::ordered_json text{{"problem", problem.to_string()}, {"lane", device.kind},
                                          {"device", device.name},          {"architecture", device.architecture},
                                          {"commit", kBuildCommit},         {"dispatch", to_json(rows)},
                                          {"models", to_json(models)}};
        KG_CHECK(json.write(json_text(text)));
        if (arguments.json == "-") return {};
    }
    return print(fmt::format("{}\non {} ({}), described, not opened:\n{}{}", problem.to_string(), device.name,
                             device.architecture, conv::to_string(rows), conv::to_string(models)));
}

Result<void> run(const ConvArguments& arguments) {
    const conv::ConvProblem& problem = arguments.problem;
    KG_CHECK(conv::validate(problem));
    if (!arguments.described_device.empty()) return explain_for(arguments, problem);
    KG_TRY(auto json, GuardedText::create(arguments.json));
    KG_TRY(const auto filter, read_filter(arguments));
    KG_TRY(auto device, open_lane(arguments.lane));
    const accel::DeviceInfo& info = device->info();
    KG_TRY(const auto rows, conv::explain_checked(*device, problem, arguments.sums));
    const bool quiet = arguments.json == "-";  // standard output then has the JSON
    if (arguments.explain && !quiet) {
        const auto models = conv::explain_models(conv::chip_of(info), problem);
        KG_CHECK(print(conv::to_string(rows) + conv::to_string(models) + '\n'));
    }
    KG_TRY(auto result, conv::run_problem(*device, problem,
                                          {.backend = arguments.backend,
                                           .sums = arguments.sums,
                                           .repeats = arguments.repeats,
                                           .filter = filter,
                                           .filter_layout = arguments.filter_layout,
                                           .filter_on_device = arguments.filter_on_device}));
    if (!quiet) {
        const std::string normed =
            result.normed_relative_l2 ? fmt::format("  of the norm      {:.3e}\n", *result.normed_relative_l2) : "";
        KG_CHECK(print(
            fmt::format("{}\n  ran on           {} ({}, {})\n  relative L2      {:.3e} against the fp64 reference\n{}"
                        "  largest error    {:.3e} (largest value {:.3e})\n  time             {:.3f} ms, median of {}\n"
                        "  rate             {:.4f} TFLOP/s\n  workspace        {} bytes\n",
                        problem.to_string(), result.backend, info.name, count_units(info), result.relative_l2, normed,
                        result.max_abs_error, result.max_abs_reference, 1e3 * result.seconds_median, arguments.repeats,
                        result.tflops, result.workspace_bytes)));
    }
    return json.wanted() ? json.write(to_json(problem, info, result, rows)) : Result<void>{};
}

/// "sm_80|sm_86|...": the values of --for.
std::string architectures() {
    std::string words;
    for (const conv::KnownDevice& known : conv::known_devices())
        words += fmt::format("{}{}", words.empty() ? "" : "|", known.architecture);
    return words;
}

}  // namespace

void add_conv(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<ConvArguments>();
    CLI::App* command = app.add_subcommand("conv", "Run one convolution, compare with the fp64 reference, time it");
    const ProblemOptions options = add_conv_options(*command, arguments->problem);
    options.input->required();
    options.filter->required();
    add_lane_option(*command, arguments->lane);
    add_backend_option(*command, arguments->backend, "Run this candidate instead of the best open one");
    add_sums_option(*command, arguments->sums);
    command
        ->add_option("--filter-from", arguments->filter_from,
                     "Take the filter from a checkpoint's tensor (default random numbers)")
        ->type_name("FILE:TENSOR")
        ->check(CLI::Validator(
            [](const std::string& text) {
                return text.find(':') != std::string::npos ? "" : fmt::format("{} names no FILE:TENSOR", text);
            },
            ""));
    add_choice(*command, "--filter-layout", arguments->filter_layout, kFilterLayouts,
               "Of the filter, slowest axis first; f: output channels (default kcqrs, PyTorch's)");
    command->add_flag("--filter-on-device", arguments->filter_on_device,
                      "Upload the filter as it is and pack it there: four-wave-gfx950");
    command->add_option("--repeats", arguments->repeats, "Timed runs (default 10)")
        ->check(CLI::Range(1, 100'000).description(""))
        ->type_name("N");
    command->add_flag(
        "--explain", arguments->explain,
        "Print the dispatch list: predicted times and errors of who would run it, reasons of who would not");
    command
        ->add_option(
            "--for", arguments->described_device,
            "Explain for a GPU of this architecture, there or not; runs nothing. With --backend that candidate")
        ->type_name(architectures())
        ->check(CLI::Validator(
            [](const std::string& word) {
                return conv::describe_known_device(word) ? "" : fmt::format("{} is none of {}", word, architectures());
            },
            ""));
    command->add_option("--json", arguments->json, "Write the results here; -: to standard output")->type_name("F");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
