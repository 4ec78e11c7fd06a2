// kinetograph: the program. Exit codes: 0 done, 1 failed, 2 bad usage.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>

#include <csignal>
#include <exception>

namespace {

constexpr int kDone = 0, kFailed = 1, kBadUsage = 2;

/// Messages go to standard error: standard output belongs to tables, JSON and raw frames.
void set_up_messages() {
    spdlog::set_default_logger(spdlog::stderr_color_mt("kinetograph"));
    spdlog::set_pattern("kinetograph: %^%l%$: %v");
}

std::string command_line(int argc, char** argv) {
    std::string line;
    for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + std::string(argv[i]);
    return line;
}

int run(int argc, char** argv) {
    using namespace kinetograph;
    CLI::App app("Video-VAE latents in, frames out, in real time.", "kinetograph");
    app.set_version_flag("--version", fmt::format("kinetograph {} ({})", KINETOGRAPH_VERSION, cli::kBuildCommit));
    app.require_subcommand(1);
    app.get_formatter()->column_width(34);

    cli::Action action;
    cli::add_view(app, action);
    cli::add_decode(app, action);
    cli::add_info(app, action);
    cli::add_weights(app, action);
    cli::add_conv(app, action);
    cli::add_graph(app, action);
    cli::add_bench(app, action, command_line(argc, argv));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const auto named_so = [&](const CLI::App* subcommand) { return subcommand->check_name(argv[1]); };
        if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named_so).empty()) {
            fmt::print(stderr, "{} is no subcommand of kinetograph\n", argv[1]);
        }
        return app.exit(error) == 0 ? kDone : kBadUsage;
    }
    if (auto done = action(); !done) {
        spdlog::error(done.error().message);
        return kFailed;
    }
    return kDone;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an Error of write(), told like any other
    set_up_messages();
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        spdlog::error("unexpected: {}", error.what());
        return kFailed;
    }
}
