#include <fmt/format.h>
#include <kinetograph/engine/base/partial_names.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace kinetograph {
namespace {

constexpr std::string_view kPrefix = ".kinetograph-";

std::string text_of(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// FNV-1a of the boot and of the namespace in which process ids count.
std::uint32_t system_hash() {
    std::error_code error;
    const std::string text =
        text_of("/proc/sys/kernel/random/boot_id") + std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
    std::uint32_t hash = 2166136261U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

struct Owner {
    std::uint32_t system = 0;
    std::uint64_t process = 0, start = 0;
};

/// The start of a process that runs; 0 if /proc does not show it, nothing if it has ended.
std::optional<std::uint64_t> start_of(std::uint64_t process) {
    if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return std::nullopt;
    const std::string stat = text_of(fmt::format("/proc/{}/stat", process));
    const std::size_t name_end = stat.rfind(')');  // the name may hold spaces and parentheses
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(stat.substr(name_end + 1));
    std::string field;
    fields >> field;
    if (field == "Z" || field == "X") return std::nullopt;
    constexpr int kStart = 22;  // proc(5), of which the state is the third
    for (int i = 4; i < kStart; ++i) fields >> field;
    std::uint64_t start = 0;
    fields >> start;
    return start;
}

std::optional<Owner> owner_of(std::string_view name, std::string_view ending) {
    if (!name.starts_with(kPrefix) || !name.ends_with(ending)) return std::nullopt;
    const char *at = name.data() + kPrefix.size(), *const end = name.data() + name.size();
    Owner owner;
    const auto number = [&](auto& value, int base) {
        const auto [stop, error] = std::from_chars(at, end, value, base);
        const bool is_number = error == std::errc{} && stop != end && *stop == '-';
        at = is_number ? stop + 1 : stop;
        return is_number;
    };
    if (!number(owner.system, 16) || !number(owner.process, 10) || !number(owner.start, 10)) return std::nullopt;
    return owner;
}

bool has_ended(const Owner& owner) {
    const auto start = start_of(owner.process);
    return !start || (*start != 0 && *start != owner.start);
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path next_partial_name(const std::filesystem::path& target) {
    static std::atomic<unsigned> counter{0};
    const auto process = static_cast<std::uint64_t>(::getpid());
    return folder_of(target) / fmt::format("{}{:08x}-{}-{}-{}{}", kPrefix, system_hash(), process,
                                           start_of(process).value_or(0), counter.fetch_add(1), kPartial);
}

std::vector<std::filesystem::path> abandoned_beside(const std::filesystem::path& target, std::string_view ending) {
    const std::uint32_t system = system_hash();
    std::vector<std::filesystem::path> found;
    std::error_code error;
    std::filesystem::directory_iterator entry(folder_of(target), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const auto owner = owner_of(entry->path().filename().string(), ending);
        if (owner && owner->system == system && owner->start != 0 && has_ended(*owner)) found.push_back(entry->path());
    }
    return found;
}

void remove_abandoned(const std::filesystem::path& target) {
    std::error_code ignored;
    for (const auto& path : abandoned_beside(target, kPartial)) std::filesystem::remove_all(path, ignored);
}

}  // namespace kinetograph
