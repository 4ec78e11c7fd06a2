// guess_content: what a file of no readable format is, by its first bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace kinetograph::tensor {

inline constexpr std::size_t kBytesToGuessBy = 512;  ///< as many as there are

/// "a web page (HTML), not the file itself: ..."; empty if nothing is recognised.
std::string guess_content(std::span<const std::byte> bytes);

}  // namespace kinetograph::tensor
