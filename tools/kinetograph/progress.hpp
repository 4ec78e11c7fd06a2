// Progress on standard error: an updated line on a terminal; elsewhere a line for every tenth of a known total.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <cstdint>
#include <string>

namespace kinetograph::cli {

class Progress {
  public:
    /// Counts from 0 to `total` units, `unit` being their plural ("frames"). `total` 0: not known beforehand.
    Progress(std::int64_t total, std::string unit);
    ~Progress();  ///< ends the bar's line
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Shows that `done` units are finished, with their rate and an estimate of the time left.
    void show(std::int64_t done);

  private:
    std::int64_t total_;
    std::string unit_;
    bool terminal_;
    std::int64_t tenth_shown_ = 0;
    bool line_open_ = false;
    Nanoseconds start_;
};

/// "0:05", "2:31", "1:02:09"
std::string to_clock(double seconds);

}  // namespace kinetograph::cli
