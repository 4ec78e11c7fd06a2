// Faults that plant.py writes into copies of sources: KINETOGRAPH_MUTANT is the number of the one that is active in a
// process; the numbers of those that are executed are appended to the file KINETOGRAPH_REACHED.
#pragma once

// What reads beyond the end of a vector or of a span ends the process, and so is seen.
#ifndef _GLIBCXX_ASSERTIONS
#define _GLIBCXX_ASSERTIONS
#endif

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

// Tests of faults wait more for the compiler than for the code.
#pragma GCC optimize("O0")

// What a fault leaves unused or oddly compared is no error, where warnings are, nor what is declared before and after
// the line above.
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wconversion"

namespace kg_mutations {

inline constexpr int kMost = 4096;

inline int active() {
    static const int number = [] {
        const char* const text = std::getenv("KINETOGRAPH_MUTANT");
        return text != nullptr ? std::atoi(text) : -1;
    }();
    return number;
}

inline void note(int number) {
    static std::array<std::atomic<bool>, kMost> reached{};
    static const char* const path = std::getenv("KINETOGRAPH_REACHED");
    if (path == nullptr || reached[static_cast<std::size_t>(number)].exchange(true)) return;
    const int file = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    char line[16];
    const int length = std::snprintf(line, sizeof(line), "%d\n", number);
    [[maybe_unused]] const auto written = ::write(file, line, static_cast<std::size_t>(length));
    ::close(file);
}

constexpr bool is(int number) {
    if (std::is_constant_evaluated()) return false;
    note(number);
    return active() == number;
}

/// In place of a 1 that is added or subtracted.
constexpr int one(int number) { return is(number) ? 0 : 1; }

// In `a < Less<7>{} < b` the tag makes `a < b` a comparison that may be another one.
#define KG_COMPARISON(Name, symbol, other)                                                     \
    template <int number>                                                                      \
    struct Name {};                                                                            \
    template <int number, class Left>                                                          \
    struct Left##Name {                                                                        \
        const Left& left;                                                                      \
    };                                                                                         \
    template <class Left, int number>                                                          \
    constexpr Left##Name<number, Left> operator symbol(const Left& left, Name<number>) {       \
        return {left};                                                                         \
    }                                                                                          \
    template <int number, class Left, class Right>                                             \
    constexpr bool operator symbol(const Left##Name<number, Left>& pair, const Right& right) { \
        return is(number) ? pair.left other right : pair.left symbol right;                    \
    }
KG_COMPARISON(Less, <, <=)
KG_COMPARISON(LessEqual, <=, <)
KG_COMPARISON(Greater, >, >=)
KG_COMPARISON(GreaterEqual, >=, >)
KG_COMPARISON(Equal, ==, !=)
KG_COMPARISON(NotEqual, !=, ==)
#undef KG_COMPARISON

}  // namespace kg_mutations
