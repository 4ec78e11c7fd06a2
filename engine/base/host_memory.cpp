#include <kinetograph/engine/base/host_memory.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace kinetograph {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The file's first word; none if it is not a number ("max") or there is no file.
std::optional<std::uint64_t> read_number(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? std::optional(value) : std::nullopt;
}

/// The number after the word `name` in a file of lines "name value".
std::optional<std::uint64_t> read_named(const std::filesystem::path& path, std::string_view name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::size_t end = line.find_first_of(": ");
        if (line.substr(0, end) == name) return std::stoull(line.substr(line.find_first_of("0123456789", end)));
    }
    return std::nullopt;
}

std::uint64_t left_in(const std::filesystem::path& group) {
    auto limit = read_number(group / "memory.max"), used = read_number(group / "memory.current");
    if (!limit) limit = read_number(group / "memory.limit_in_bytes");
    if (!used) used = read_number(group / "memory.usage_in_bytes");
    if (!limit || !used) return kNoLimit;
    const std::uint64_t droppable = read_named(group / "memory.stat", "inactive_file").value_or(0);
    return *limit - std::min(*limit, *used - std::min(*used, droppable));
}

}  // namespace

std::filesystem::path memory_group(std::istream& groups) {
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (controllers.empty() || controllers.find("memory") != std::string::npos) return line.substr(second + 1);
    }
    return "/";
}

std::uint64_t left_in_control_group(const std::filesystem::path& root, const std::filesystem::path& group) {
    std::uint64_t left = left_in(root);  // a container's own group may be mounted as the root
    for (std::filesystem::path at = group.relative_path(); !at.empty(); at = at.parent_path())
        left = std::min(left, left_in(root / at));
    return left;
}

std::uint64_t left_of_address_space() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
    const std::uint64_t used =
        read_number("/proc/self/statm").value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

std::uint64_t available_host_memory() {
    std::uint64_t available = left_of_address_space();
    if (const auto kibibytes = read_named("/proc/meminfo", "MemAvailable"))
        available = std::min(available, 1024 * *kibibytes);
    std::ifstream groups("/proc/self/cgroup");
    const std::filesystem::path group = memory_group(groups);
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"})
        available = std::min(available, left_in_control_group(root, group));
    return available;
}

}  // namespace kinetograph
