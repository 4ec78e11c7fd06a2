// kinetograph graph: the frame graph's plan of one decode step, compiled without decoding.
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/frame_size.hpp>
#include <kinetograph/tools/kinetograph/guarded_text.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <array>
#include <map>

namespace kinetograph::cli {
namespace {

enum class Step : std::uint8_t { First, Later };
enum class Form : std::uint8_t { Table, Json, Dot };
const std::map<std::string, Step> kSteps{{"first", Step::First}, {"later", Step::Later}};

struct GraphArguments {
    DecodeRequest decode;
    FrameSize size{.width = 512, .height = 288};
    Step step = Step::Later;
    Form form = Form::Table;
    std::string out = "-";
};

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576.0); }

std::string to_table(const graph::Plan& plan) {
    Table table({">pass", "lane", ">batch", "name", ">barriers", ">makes", ">keeps until"});
    for (const graph::Batch& batch : plan.batches) {
        for (const std::uint32_t index : batch.passes) {
            const graph::PlannedPass& pass = plan.passes[index];
            std::uint64_t bytes = 0;
            std::uint32_t last = index;
            for (const graph::PlannedResource& resource : plan.resources) {
                if (resource.culled || resource.kind != graph::ResourceKind::Transient ||
                    resource.first_pass != index) {
                    continue;
                }
                bytes += resource.bytes;
                last = std::max(last, resource.last_pass);
            }
            table.add({fmt::format("{}", index), std::string(graph::to_string(batch.lane)),
                       fmt::format("{}", batch.ordinal), pass.name, fmt::format("{}", pass.barriers.size()),
                       bytes == 0 ? "" : mebibytes(bytes), bytes == 0 ? "" : fmt::format("{}", last)});
        }
    }
    std::uint64_t arena = 0;
    for (const std::uint64_t bytes : plan.arena_bytes) arena += bytes;
    return table.to_string() +
           fmt::format(
               "\n{} passes in {} batches, {} culled; transient memory {} in arenas of {}; fingerprint "
               "{:016x}{:016x}\n",
               plan.passes.size(), plan.batches.size(), plan.culled.size(), mebibytes(plan.transient_bytes),
               mebibytes(arena), plan.fingerprint.high, plan.fingerprint.low);
}

Result<void> run(const GraphArguments& arguments) {
    KG_CHECK(check_distinct(std::array{NamedFile{"--weights", arguments.decode.weights, NamedFile::Use::Read},
                                       NamedFile{"-o", arguments.out, NamedFile::Use::Written}}));
    KG_TRY(auto out, GuardedText::create(arguments.out));
    KG_TRY(auto device, open_lane(arguments.decode.lane, arguments.decode.memory_budget));
    KG_TRY(auto checkpoint, open_checkpoint(arguments.decode));
    KG_TRY(const auto size, arguments.size.latents(checkpoint.family()));
    KG_TRY(auto model, vae::Model::create(*device, checkpoint, arguments.decode.model));
    KG_TRY(const auto* plans, model->plan({.height = size.height, .width = size.width}));
    KG_TRY(const auto* plan, plans->plan_of({.first = arguments.step == Step::First}));
    switch (arguments.form) {
        case Form::Json:
            return out.write(plan->to_json());
        case Form::Dot:
            return out.write(plan->to_graphviz());
        case Form::Table:
            break;
    }
    return out.write(to_table(*plan));
}

}  // namespace

void add_graph(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<GraphArguments>();
    CLI::App* command = app.add_subcommand("graph", "Show the decoder's plan: a table, JSON or Graphviz");
    add_decode_options(*command, arguments->decode);
    add_frame_size(*command, arguments->size);
    add_choice(*command, "--step", arguments->step, kSteps, "Which kind of step (default later)");
    auto* json = command->add_flag_callback(
        "--json", [arguments] { arguments->form = Form::Json; }, "The whole plan as JSON");
    command
        ->add_flag_callback(
            "--dot", [arguments] { arguments->form = Form::Dot; }, "Passes and resources for Graphviz")
        ->excludes(json);
    command->add_option("-o,--output", arguments->out, "Write here (default -: standard output)")->type_name("FILE");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
