// How much of the host's memory is free.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>

namespace kinetograph {

/// Bytes that a process can allocate before the system swaps or kills a process: what the kernel calls available, or
/// what the limits of the process's control groups or of its address space leave, if that is less. The largest number
/// if the system does not say.
std::uint64_t available_host_memory();

/// What the limit of the process's address space (ulimit -v) leaves; the largest number if there is none.
std::uint64_t left_of_address_space();

/// The group of a process in the hierarchy that has a memory controller, of the lines of its /proc/PID/cgroup:
/// "0::/a/b", or "7:memory:/a/b"; "/" if there is none.
std::filesystem::path memory_group(std::istream& groups);

/// What the limits of control group `group` and of its parents leave. `root` is where their file system is mounted
/// (version 2: memory.max, memory.current; version 1: memory.limit_in_bytes, memory.usage_in_bytes). File pages that
/// the kernel can drop count as free.
std::uint64_t left_in_control_group(const std::filesystem::path& root, const std::filesystem::path& group);

}  // namespace kinetograph
