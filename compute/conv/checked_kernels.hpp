// What self-checks have found out about the kernels of a GPU, kept from one process to the next.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::conv {

/// Whether kernels are checked and outcomes looked up: unless KINETOGRAPH_SELF_CHECK is "off".
bool self_checks_are_on();

/// The outcomes for one device with one driver. A file of a line each, to which processes append:
/// $XDG_CACHE_HOME/kinetograph/ (default ~/.cache/kinetograph/) "self_check-ARCHITECTURE-UUID.txt". Without a folder
/// that can be written, outcomes last as long as the process.
class CheckedKernels {
  public:
    explicit CheckedKernels(const accel::DeviceInfo& device);

    /// What was wrong with the kernel, "" if nothing, of the code with that hash; none if it is to be checked. Two
    /// checks in processes that ended before them, as the device was lost, count as wrong; one may have been
    /// interrupted.
    std::optional<std::string> find(std::string_view kernel, std::uint64_t code) const;
    /// Before the check, so that a later process knows of one that never ends.
    void begin(std::string_view kernel, std::uint64_t code);
    void end(std::string_view kernel, std::uint64_t code, const std::string& wrong);
    void withdraw(std::string_view kernel, std::uint64_t code);  ///< instead of end(): nothing was found out

    std::size_t agreeing() const;
    std::map<std::string, std::string> wrong() const;  ///< by kernel
    const std::filesystem::path& file() const { return file_; }

  private:
    struct Outcome {
        std::uint64_t code = 0;
        long begun_by = 0;  ///< the process, if there is no outcome yet
        int begun = 0;      ///< checks, this one included, that have none
        std::string wrong{};
        std::optional<std::string> verdict() const;
    };
    void read();
    /// The outcome of a check that the process begins.
    Outcome begun(std::string_view kernel, std::uint64_t code, long process) const;
    void append(std::string_view kernel, std::uint64_t code, std::string_view said) const;

    std::string driver_;  ///< lines of other drivers do not count
    std::filesystem::path file_;
    std::map<std::string, Outcome, std::less<>> outcomes_;
};

}  // namespace kinetograph::conv
