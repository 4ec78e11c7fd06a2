// What the host's memory still holds.
#pragma once

#include <cstdint>
#include <filesystem>

namespace kinetograph {

/// Bytes that a process can take before the system swaps or kills one: what the kernel calls available, or what the
/// memory limits of the process's control groups leave, if that is less. The largest number where the system does not
/// say.
std::uint64_t available_host_memory();

/// What the limits of control group `group` and of those around it leave; `root` is where their file system is mounted
/// (version 2: memory.max, memory.current; version 1: memory.limit_in_bytes, memory.usage_in_bytes). Pages of files
/// that the kernel would drop count as free.
std::uint64_t left_in_control_group(const std::filesystem::path& root, const std::filesystem::path& group);

}  // namespace kinetograph
