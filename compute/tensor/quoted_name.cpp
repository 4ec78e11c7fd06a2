#include <kinetograph/compute/tensor/quoted_name.hpp>

#include <fmt/ranges.h>

namespace kinetograph::tensor {

std::string quoted_name(std::string_view name) {
    constexpr std::size_t kLongest = 120;
    std::string text = "\"";
    for (const char c : name.substr(0, kLongest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || c == '"' || c == '\\') {
            text += fmt::format("\\x{:02x}", byte);
        } else {
            text += c;
        }
    }
    return text + (name.size() > kLongest ? "...\"" : "\"");
}

std::string first_ten(std::span<const std::string> items) {
    constexpr std::size_t kMost = 10;
    if (items.size() <= kMost) return fmt::format("{}", fmt::join(items, ", "));
    return fmt::format("{} and {} more", fmt::join(items.first(kMost), ", "), items.size() - kMost);
}

}  // namespace kinetograph::tensor
