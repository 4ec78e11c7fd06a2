#include <kinetograph/compute/conv/checked_kernels.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/base/cache_folder.hpp>
#include <kinetograph/engine/base/descriptors.hpp>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>

namespace kinetograph::conv {
namespace {

constexpr std::string_view kAgrees = "agrees", kBegun = "begun by ", kWrong = "wrong: ", kWithdrawn = "withdrawn";

/// A line's part up to the next tab, which is taken off the line.
std::string_view take_field(std::string_view& line) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    const std::string_view field = line.substr(0, tab);
    line.remove_prefix(std::min(tab + 1, line.size()));
    return field;
}

template <class Number>
bool parse(std::string_view text, Number& value, int base = 10) {
    return std::from_chars(text.data(), text.data() + text.size(), value, base).ec == std::errc();
}

bool runs(long process) { return ::kill(static_cast<pid_t>(process), 0) == 0; }

std::string on_one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\t') c = ' ';
    return text;
}

}  // namespace

bool self_checks_are_on() {
    const char* given = std::getenv("KINETOGRAPH_SELF_CHECK");
    return given == nullptr || std::string_view(given) != "off";
}

std::optional<std::string> CheckedKernels::Outcome::verdict() const {
    if (begun_by == 0) return wrong;
    if (begun < 2 || begun_by == ::getpid() || runs(begun_by)) return std::nullopt;
    return fmt::format("{} checks of it began in processes that ended before they did", begun);
}

CheckedKernels::CheckedKernels(const accel::DeviceInfo& device) : driver_(on_one_line(device.driver)) {
    const std::filesystem::path folder = cache_folder();
    if (folder.empty()) return;
    file_ = folder / fmt::format("self_check-{}-{}.txt", device.architecture, accel::uuid_text(device));
    read();
}

/// A later line of a kernel replaces an earlier one. What is no line of ours is skipped.
void CheckedKernels::read() {
    std::ifstream text(file_);
    for (std::string whole; std::getline(text, whole);) {
        std::string_view line = whole;
        if (take_field(line) != driver_) continue;
        const std::string_view kernel = take_field(line), code = take_field(line);
        Outcome outcome;
        if (!parse(code, outcome.code, 16)) continue;
        if (line.starts_with(kBegun)) {
            long process = 0;
            if (!parse(line.substr(kBegun.size()), process)) continue;
            outcome = begun(kernel, outcome.code, process);
        } else if (line.starts_with(kWrong)) {
            outcome.wrong = line.substr(kWrong.size());
        } else if (line == kWithdrawn) {
            outcomes_.erase(std::string(kernel));
            continue;
        } else if (line != kAgrees) {
            continue;
        }
        outcomes_.insert_or_assign(std::string(kernel), std::move(outcome));
    }
}

void CheckedKernels::append(std::string_view kernel, std::uint64_t code, std::string_view said) const {
    if (file_.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    const std::string line = fmt::format("{}\t{}\t{:x}\t{}\n", driver_, kernel, code, said);
    const int file = above_stdio(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());  // else it is checked again
    ::close(file);
}

std::optional<std::string> CheckedKernels::find(std::string_view kernel, std::uint64_t code) const {
    const auto found = outcomes_.find(kernel);
    if (found == outcomes_.end() || found->second.code != code) return std::nullopt;
    return found->second.verdict();
}

CheckedKernels::Outcome CheckedKernels::begun(std::string_view kernel, std::uint64_t code, long process) const {
    const auto before = outcomes_.find(kernel);
    const bool again = before != outcomes_.end() && before->second.code == code && before->second.begun_by != 0;
    return {.code = code, .begun_by = process, .begun = again ? before->second.begun + 1 : 1};
}

void CheckedKernels::begin(std::string_view kernel, std::uint64_t code) {
    outcomes_.insert_or_assign(std::string(kernel), begun(kernel, code, ::getpid()));
    append(kernel, code, fmt::format("{}{}", kBegun, ::getpid()));
}

void CheckedKernels::end(std::string_view kernel, std::uint64_t code, const std::string& wrong) {
    const std::string line = on_one_line(wrong);
    outcomes_.insert_or_assign(std::string(kernel), Outcome{.code = code, .wrong = line});
    append(kernel, code, line.empty() ? std::string(kAgrees) : fmt::format("{}{}", kWrong, line));
}

void CheckedKernels::withdraw(std::string_view kernel, std::uint64_t code) {
    outcomes_.erase(std::string(kernel));
    append(kernel, code, kWithdrawn);
}

std::size_t CheckedKernels::agreeing() const {
    std::size_t count = 0;
    for (const auto& [kernel, outcome] : outcomes_) count += outcome.verdict() == "" ? 1 : 0;
    return count;
}

std::map<std::string, std::string> CheckedKernels::wrong() const {
    std::map<std::string, std::string> all;
    for (const auto& [kernel, outcome] : outcomes_)
        if (const auto verdict = outcome.verdict(); verdict && !verdict->empty()) all.emplace(kernel, *verdict);
    return all;
}

}  // namespace kinetograph::conv
