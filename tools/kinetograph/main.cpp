// kinetograph: the program. Exit codes: 0 done, 1 failed, 2 bad usage.
#include <fmt/ranges.h>
#include <omp.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/host_memory.hpp>
#include <kinetograph/engine/vulkan/instance.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/process_limits.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr int kDone = 0, kFailed = 1, kBadUsage = 2;
constexpr int kMostThreadsAProcessor = 8;
constexpr std::uint64_t kRoomForThreads = 1U << 30U;  // bytes of address space

/// The text of a message, in which a name's control characters are shown as \x1b is: none reaches the terminal. Lines
/// after the first are indented, so that none passes for a message of its own.
class PrintableText final : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        for (const char c : message.payload) {
            if (c == '\n')
                fmt::format_to(std::back_inserter(out), "\n    ");
            else if (const auto byte = static_cast<unsigned char>(c); byte < ' ' || byte == 0x7f)
                fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
            else
                out.push_back(c);
        }
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<PrintableText>(); }
};

/// Messages go to standard error; standard output is for tables, JSON and raw frames.
void set_up_messages() {
    spdlog::set_default_logger(spdlog::stderr_color_mt("kinetograph"));
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<PrintableText>('*').set_pattern("kinetograph: %^%l%$: %*");
    spdlog::set_formatter(std::move(formatter));
}

/// OpenMP ends the process if it cannot start the threads that OMP_NUM_THREADS asks for, and every thread that enters a
/// parallel region asks for that many; where the address space is limited it uses none beside these. The variable has
/// been read by now, so the program restarts with a smaller value.
void limit_threads(char** argv) {
    const int wanted = omp_get_max_threads(), processors = omp_get_num_procs();
    const bool is_cramped = kinetograph::left_of_address_space() < kRoomForThreads;
    const int most = is_cramped ? 1 : kMostThreadsAProcessor * processors, used = is_cramped ? 1 : processors;
    if (wanted <= most) return;
    if (is_cramped)
        spdlog::warn("the address space is limited (ulimit -v): one thread computes");
    else
        spdlog::warn("OMP_NUM_THREADS asks for {} threads on {} processors; {} are used", wanted, processors, used);
    if (setenv("OMP_NUM_THREADS", std::to_string(used).c_str(), 1) == 0) execv("/proc/self/exe", argv);
}

std::string command_line(int argc, char** argv) {
    std::string line;
    for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + std::string(argv[i]);
    return line;
}

/// Arguments that no option takes come first: they are often what a missing one was meant to be.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
    const std::vector<std::string> unexpected = app.remaining(true);
    return unexpected.empty() ? error.what() : fmt::format("not expected: {}", fmt::join(unexpected, " "));
}

int run(int argc, char** argv) {
    using namespace kinetograph;
    CLI::App app("Video-VAE latents in, frames out, in real time.", "kinetograph");
    cli::Action action;
    cli::add_commands(app, action, command_line(argc, argv));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {  // --help, --version
            std::ostringstream text;
            app.exit(error, text, text);
            const auto printed = cli::print(text.str());
            if (!printed) spdlog::error("{}", printed.error().message);
            return printed ? kDone : kFailed;
        }
        const auto named_so = [&](const CLI::App* subcommand) { return subcommand->check_name(argv[1]); };
        if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named_so).empty())
            spdlog::error("{} is no subcommand of kinetograph", argv[1]);
        else
            spdlog::error("{}", complaint(app, error));
        fmt::print(stderr, "Run with --help for more information.\n");
        return kBadUsage;
    }
    auto done = cli::check_process_limits();
    if (done) done = action();
    if (!done) spdlog::error("{}", done.error().message);
    return done ? kDone : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
    kinetograph::occupy_closed_stdio();
    // Ignored, so that write() fails on a closed pipe or at the file size limit; that is reported like any other Error.
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
    set_up_messages();
    limit_threads(argv);
    kinetograph::cli::load_unwinder();
    int exit_code = kFailed;
    try {
        exit_code = run(argc, argv);
    } catch (const std::bad_alloc&) {
        spdlog::error("the host is out of memory, or the process's address space is limited (ulimit -v)");
    } catch (const std::system_error& error) {
        spdlog::error(error.code() == std::errc::resource_unavailable_try_again
                          ? "a further thread cannot be started: their number (ulimit -u, pids.max) or the memory for "
                            "its stack (ulimit -v) is limited"
                          : fmt::format("unexpected: {}", error.what()));
    } catch (const std::exception& error) {
        spdlog::error("unexpected: {}", error.what());
    }
    return kinetograph::vulkan::end_of_program(exit_code);
}
