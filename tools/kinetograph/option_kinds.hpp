// Options whose value is one of a few words, or a fixed number of integers.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::cli {

/// `name WORD` sets `value` to `choices[WORD]`; any other word is bad usage, reported with the list of choices. `value`
/// and `choices` must outlive the parse.
template <class T>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& value, const std::map<std::string, T>& choices,
                        const std::string& description) {
    std::string words;
    for (const auto& [word, meaning] : choices) words += (words.empty() ? "" : "|") + word;
    return command
        .add_option_function<std::string>(
            name, [&value, &choices](const std::string& word) { value = choices.at(word); }, description)
        ->check([&choices, words](const std::string& word) {
            return choices.contains(word) ? "" : fmt::format("{} is none of {}", word, words);
        })
        ->type_name(words);
}

/// For CLI::Option::check: an empty word names no file.
inline std::string check_name(const std::string& word) { return word.empty() ? "empty name" : ""; }

/// "1,3,36,64,128" as N numbers; none for any other text.
template <std::size_t N>
std::optional<std::array<std::int64_t, N>> parse_numbers(std::string_view text) {
    std::array<std::int64_t, N> numbers{};
    const char *at = text.data(), *const end = text.data() + text.size();
    for (std::size_t i = 0; i < N; ++i) {
        const auto [stop, error] = std::from_chars(at, end, numbers[i]);
        const bool last = i + 1 == N;
        if (error != std::errc{} || (last ? stop != end : stop == end || *stop != ',')) return std::nullopt;
        at = stop + 1;
    }
    return numbers;
}

/// `name a,b,c` sets `values`; any other form is bad usage. Messages show `form` ("N,D,H,W,C"). `values` must outlive
/// the parse.
template <std::size_t N>
CLI::Option* add_numbers(CLI::App& command, const std::string& name, std::array<std::int64_t, N>& values,
                         const std::string& form, const std::string& description) {
    return command
        .add_option_function<std::string>(
            name, [&values](const std::string& text) { values = *parse_numbers<N>(text); }, description)
        ->check([form](const std::string& text) {
            return parse_numbers<N>(text) ? "" : fmt::format("{} is not {}: {} whole numbers", text, form, N);
        })
        ->type_name(form);
}

}  // namespace kinetograph::cli
