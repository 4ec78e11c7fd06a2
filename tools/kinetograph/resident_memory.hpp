// The host memory of this process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace kinetograph::cli {

/// Resident bytes of this process; 0 if /proc/self/statm cannot be read.
inline std::uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t pages = 0, resident = 0;
    if (!(file >> pages >> resident)) return 0;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace kinetograph::cli
