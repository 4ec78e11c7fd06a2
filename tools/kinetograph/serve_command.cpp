// kinetograph serve: the service of the Python package, which takes this process's place.
#include <kinetograph/tools/kinetograph/serve_command.hpp>

#include <kinetograph/tools/kinetograph/command.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kinetograph::cli {
namespace {

/// Ends with a sentence where the package is not installed; otherwise its program sees the arguments after this one.
constexpr const char* kStart = R"(
import importlib.util, runpy, sys
if importlib.util.find_spec("kinetograph") is None:
    sys.exit(f"kinetograph: error: serve is part of the Python package, which {sys.executable} does not have: "
             "pip install '.[serve]' in the sources, or put a Python that has it first in PATH")
runpy.run_module("kinetograph", run_name="__main__", alter_sys=True)
)";

}  // namespace

Result<void> start_service(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"python3", "-c", kStart, "serve"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers(words.size() + 1);  // the last one is null
    std::ranges::transform(words, pointers.begin(), [](std::string& word) { return word.data(); });
    execvp(pointers[0], pointers.data());
    return fail(ErrorCode::NotFound, "serve is part of the Python package, and python3 cannot be started: {}",
                std::strerror(errno));
}

void add_serve(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("serve", "Streams over the network, and a web page (the Python package)");
    command->set_help_flag();  // it is the package's, like all other arguments
    command->prefix_command();
    command->final_callback(
        [command, &action] { action = [arguments = command->remaining()] { return start_service(arguments); }; });
}

}  // namespace kinetograph::cli
