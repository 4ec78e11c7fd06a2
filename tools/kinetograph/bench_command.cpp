// kinetograph bench: the subcommands that measure this machine, and their reports.
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>

namespace kinetograph::cli {

Result<BenchReport> BenchReport::create(const std::string& json) {
    KG_TRY(auto text, GuardedText::create(json));
    return BenchReport(std::move(text), json != "-");
}

Result<void> BenchReport::write(const std::string& text, const nlohmann::ordered_json& json) {
    if (prints_text_) KG_CHECK(print(text));
    return json_.wanted() ? json_.write(json_text(json)) : Result<void>{};
}

nlohmann::ordered_json report_head(std::string_view bench, const std::string& command_line,
                                   const accel::DeviceInfo& device) {
    return {{"bench", bench},
            {"commit", kBuildCommit},
            {"command", command_line},
            {"machine",
             {{"lane", device.kind},
              {"device", device.name},
              {"driver", device.driver},
              {"features", device.features},
              {"compute_units", device.compute_units},
              {"memory_bytes", device.memory_bytes}}}};
}

std::string describe_machine(const accel::DeviceInfo& device) {
    return fmt::format("{}, {}, {}, commit {}", device.name, count_units(device), device.driver, kBuildCommit);
}

nlohmann::ordered_json Samples::to_json() const {
    if (seconds_.empty()) return {};
    return {{"median", median()}, {"min", least()}, {"max", most()}, {"count", count()}};
}

void add_bench(CLI::App& app, Action& action, const std::string& command_line) {
    CLI::App* bench = app.add_subcommand("bench", "Measure this machine");
    bench->require_subcommand(1);
    add_bench_decode(*bench, action, command_line);
    add_bench_conv(*bench, action, command_line);
    add_bench_interop(*bench, action, command_line);
    add_bench_clips(*bench, action, command_line);
    add_bench_profiler(*bench, action, command_line);
}

}  // namespace kinetograph::cli
