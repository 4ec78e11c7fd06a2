// What the subcommands of `kinetograph bench` share: one source file each, one form of report.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/guarded_text.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::cli {

/// Each adds its subcommand to `bench`. `command_line` is the program's, for the report.
void add_bench_decode(CLI::App& bench, Action& action, const std::string& command_line);
void add_bench_clips(CLI::App& bench, Action& action, const std::string& command_line);
void add_bench_conv(CLI::App& bench, Action& action, const std::string& command_line);
void add_bench_interop(CLI::App& bench, Action& action, const std::string& command_line);
void add_bench_profiler(CLI::App& bench, Action& action, const std::string& command_line);

/// A report's destination: the JSON file, created before anything is measured and removed if the user interrupts, and
/// standard output unless the JSON goes there. Create it before any thread (interrupt.hpp).
class BenchReport {
  public:
    /// `json` empty: no JSON; "-": JSON on standard output, no text. Errors: Io naming the path.
    static Result<BenchReport> create(const std::string& json);
    /// Errors: Io.
    Result<void> write(const std::string& text, const nlohmann::ordered_json& json);

  private:
    BenchReport(GuardedText json, bool prints_text) : json_(std::move(json)), prints_text_(prints_text) {}
    GuardedText json_;
    bool prints_text_;
};

/// {"bench", "commit", "command", "machine"}: the beginning of every report.
nlohmann::ordered_json report_head(std::string_view bench, const std::string& command_line,
                                   const accel::DeviceInfo& device);
/// The same in one line of text: "NVIDIA H200, libcuda.so.1 ..., commit ...".
std::string describe_machine(const accel::DeviceInfo& device);

/// Seconds or shares, sorted.
class Samples {
  public:
    void add(double seconds) { seconds_.insert(std::ranges::upper_bound(seconds_, seconds), seconds); }
    void add(const Samples& others) {
        for (const double seconds : others.seconds_) add(seconds);
    }
    bool empty() const { return seconds_.empty(); }
    std::size_t count() const { return seconds_.size(); }
    /// The middle sample, or the mean of the two in the middle; like least() and most(), only with at least one sample.
    double median() const {
        const std::size_t middle = seconds_.size() / 2;
        return seconds_.size() % 2 == 1 ? seconds_[middle] : (seconds_[middle - 1] + seconds_[middle]) / 2;
    }
    double least() const { return seconds_.front(); }
    double most() const { return seconds_.back(); }
    const std::vector<double>& sorted() const { return seconds_; }
    /// {"median", "min", "max", "count"}; null without samples.
    nlohmann::ordered_json to_json() const;

  private:
    std::vector<double> seconds_;
};

inline double to_seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }
inline double to_mib(std::uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

}  // namespace kinetograph::cli
