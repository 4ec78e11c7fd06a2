// Where processes leave what later ones need not find out or make again.
#pragma once

#include <filesystem>

namespace kinetograph {

/// $XDG_CACHE_HOME/kinetograph, by default ~/.cache/kinetograph (XDG Base Directory Specification); it need not exist.
/// Empty where neither variable has an absolute path.
std::filesystem::path cache_folder();

}  // namespace kinetograph
