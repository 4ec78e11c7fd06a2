// The service of the Python package, started by `serve` and by `view --web`.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

/// Puts `python3 -m kinetograph serve` with these arguments in this process's place; open files stay open. Returns only
/// an Error: NotFound (there is no python3). Where the package is missing, the new program says so.
Result<void> start_service(const std::vector<std::string>& arguments);

}  // namespace kinetograph::cli
