// quoted_name: a name from a file, made safe for a message on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace kinetograph::tensor {

/// In double quotes; control characters, quotes and backslashes as \xNN, at most 120 bytes of it, then "...".
std::string quoted_name(std::string_view name);

}  // namespace kinetograph::tensor
