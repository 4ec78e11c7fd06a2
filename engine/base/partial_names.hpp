// Names of unfinished outputs, which tell who makes them: what an owner that was killed has left can be removed.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace kinetograph {

inline constexpr std::string_view kPartial = ".partial";  ///< ends the name of what only its owner needs
inline constexpr std::string_view kPlacing = ".placing";  ///< of a folder whose pictures are being put in place

/// A hidden name beside `target` that no other call returns: ".kinetograph-SYSTEM-PID-START-N.partial". SYSTEM is a
/// hash of the boot and of the namespace of process ids, START the process's start in clock ticks since the boot.
std::filesystem::path next_partial_name(const std::filesystem::path& target);

/// What lies beside `target` under such a name that ends in `ending`, and whose owner, a process of this system, has
/// ended. Nothing of other systems that share the folder.
std::vector<std::filesystem::path> abandoned_beside(const std::filesystem::path& target, std::string_view ending);

/// Removes abandoned_beside(target, kPartial), as far as that is allowed.
void remove_abandoned(const std::filesystem::path& target);

/// The folder that holds `path`: "." for a plain name.
std::filesystem::path folder_of(const std::filesystem::path& path);

}  // namespace kinetograph
