#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>

namespace kinetograph::cli {

void add_commands(CLI::App& app, Action& action, const std::string& command_line) {
    app.set_version_flag("--version", fmt::format("kinetograph {} ({})", KINETOGRAPH_VERSION, kBuildCommit));
    app.require_subcommand(1);
    app.get_formatter()->column_width(34);
    add_view(app, action);
    add_decode(app, action);
    add_encode(app, action);
    add_info(app, action);
    add_families(app, action);
    add_weights(app, action);
    add_calibrate(app, action);
    add_conv(app, action);
    add_graph(app, action);
    add_trace(app, action);
    add_serve(app, action);
    add_bench(app, action, command_line);
}

}  // namespace kinetograph::cli
