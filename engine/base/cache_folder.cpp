#include <kinetograph/engine/base/cache_folder.hpp>

#include <cstdlib>

namespace kinetograph {

std::filesystem::path cache_folder() {
    if (const char* given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given == '/')
        return std::filesystem::path(given) / "kinetograph";
    if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
        return std::filesystem::path(home) / ".cache" / "kinetograph";
    return {};
}

}  // namespace kinetograph
