// Names from a file in messages: made safe for a terminal, and no more of them than a person reads.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kinetograph::tensor {

/// In double quotes; control characters, quotes and backslashes as \xNN, at most 120 bytes of it, then "...".
std::string quoted_name(std::string_view name);
/// "a, b, c and 4 more": at most ten of `items`.
std::string first_ten(std::span<const std::string> items);

}  // namespace kinetograph::tensor
