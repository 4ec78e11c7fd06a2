// Thousands of command lines, drawn from words of real ones and from nonsense: each is parsed or refused as bad usage,
// and parsing has no side effects. KINETOGRAPH_COMMAND_LINES says how many (4000, or 400 under the address sanitizer),
// KINETOGRAPH_COMMAND_LINES_SEED which.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/sanitizers.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <random>
#include <string>
#include <vector>

namespace kinetograph::cli {
namespace {

using Words = std::vector<std::string>;

/// Valid command lines.
const std::array<Words, 16> kGood{
    Words{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--lane", "cpu", "--json", "s.json", "--stats",
          "l.jsonl"},
    Words{"decode", "a.safetensors", "--weights", "synthetic:wan2.1,dim=2", "-o", "-", "--no-clamp"},
    Words{"decode", "a.safetensors", "--weights", "w", "-o", "f%05d.png", "--precision", "bf16", "--latents", "raw"},
    Words{"view", "a.safetensors", "--weights", "w", "--headless", "--frames", "9", "--loop", "--size", "64x32"},
    Words{"view", "a.safetensors", "--weights", "w", "--speed", "0.5", "--full-screen", "--trace", "t.json"},
    Words{"view", "a.safetensors", "--weights", "w", "--web", "--port", "8001", "--lane", "cpu"},
    Words{"info"},
    Words{"trace", "t.json", "u.json", "--csv", "c.csv", "--top", "9"},
    Words{"serve", "--demo", "--port", "8001", "--help"},
    Words{"weights", "w.safetensors", "--json", "-"},
    Words{"calibrate", "--weights", "w", "--latents", "a.safetensors", "b.safetensors", "-o", "w8.safetensors"},
    Words{"conv", "--input", "1,3,8,8,16", "--filter", "16,3,3,3", "--pad", "0,0,1,1,1,1", "--dtype", "fp32"},
    Words{"graph", "--weights", "w", "--size", "512x288", "--step", "first", "--dot", "-o", "p.dot"},
    Words{"bench", "decode", "--weights", "w", "--steps", "3", "--rounds", "2", "--no-passes"},
    Words{"bench", "conv", "--size", "64x64", "--dim", "32", "--layer", "96>96", "--repeats", "3"},
    Words{"bench", "interop", "--weights", "w", "--decode-steps", "12", "--at-most", "1.5", "--steps", "10"}};

/// Replacements for a word: numbers beyond every type, an empty word, bytes that are not text, options without a value.
const Words kHostile{"",
                     "-",
                     "--",
                     "---",
                     "-1",
                     "0",
                     "nan",
                     "inf",
                     "1e999",
                     "-1e-300",
                     "99999999999999999999999999",
                     "0x10",
                     "8192x8192",
                     "8x",
                     "x8",
                     "-8x-8",
                     "99999999999999999999x8",
                     "1,2,3",
                     "1,,2,3,4",
                     "9223372036854775808,1,1,1,1",
                     ".png",
                     "%n%s%d.png",
                     "{}",
                     "{:>999999999}",
                     "\xff\xfe",
                     "--json=",
                     "--json=-",
                     "-o",
                     "-h",
                     "--help-all",
                     "@file",
                     "synthetic:",
                     "synthetic:wan2.1,dim=-1",
                     "a b",
                     "'",
                     "\"",
                     "\n",
                     std::string(5000, 'a'),
                     std::string(300, '-')};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* given = std::getenv(name);
    return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

class CommandLines : public ::testing::Test {
  protected:
    /// One of kGood with a few of its words replaced, repeated, dropped or moved.
    Words draw() {
        Words words = kGood[pick(kGood.size())];
        for (std::size_t changes = pick(5); changes > 0 && !words.empty(); --changes) change(words);
        return words;
    }
    std::size_t pick(std::size_t count) { return random_() % count; }

  private:
    void change(Words& words) {
        const auto at = static_cast<std::ptrdiff_t>(pick(words.size()));
        const Words& other = kGood[pick(kGood.size())];
        switch (pick(6)) {
            case 0:
                words[static_cast<std::size_t>(at)] = kHostile[pick(kHostile.size())];
                break;
            case 1:
                words.insert(words.begin() + at, kHostile[pick(kHostile.size())]);
                break;
            case 2:
                words.erase(words.begin() + at);
                break;
            case 3:
                words.insert(words.begin() + at, other[pick(other.size())]);
                break;
            case 4:
                std::swap(words[static_cast<std::size_t>(at)], words[pick(words.size())]);
                break;
            default:
                spoil(words[static_cast<std::size_t>(at)]);
        }
    }
    void spoil(std::string& word) {
        if (word.empty()) return;
        word[pick(word.size())] = static_cast<char>(1 + pick(255));
    }
    std::mt19937_64 random_{from_environment("KINETOGRAPH_COMMAND_LINES_SEED", 20)};
};

enum class Outcome : std::uint8_t { Understood, Help, Refused };

Outcome parse(const Words& words) {
    std::vector<const char*> arguments{"kinetograph"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    CLI::App app("", "kinetograph");
    Action action;
    add_commands(app, action, "");
    try {
        app.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::ParseError& error) {
        EXPECT_FALSE(action) << "what is refused does nothing";
        return error.get_exit_code() == 0 ? Outcome::Help : Outcome::Refused;
    }
    EXPECT_TRUE(action);
    return Outcome::Understood;
}

TEST_F(CommandLines, ThatAreMeantAreUnderstood) {
    for (const Words& words : kGood) EXPECT_EQ(parse(words), Outcome::Understood) << words.front();
}

TEST_F(CommandLines, OfAnyWordsAreUnderstoodOrRefusedAndTouchNothing) {
    const auto lines =
        static_cast<int>(from_environment("KINETOGRAPH_COMMAND_LINES", test::kAddressSanitized ? 400 : 4000));
    const test::TemporaryFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    int understood = 0, refused = 0;
    for (int i = 0; i < lines; ++i) {
        const Words words = draw();
        std::string line;
        for (const std::string& word : words) line += " '" + word + "'";
        SCOPED_TRACE(line);
        try {
            const Outcome outcome = parse(words);
            understood += outcome == Outcome::Understood ? 1 : 0;
            refused += outcome == Outcome::Refused ? 1 : 0;
        } catch (const std::exception& exception) {
            ADD_FAILURE() << exception.what();
        }
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(folder.count_entries(), 0U);
    std::filesystem::current_path(before);
    EXPECT_GT(understood, lines / 10) << "lines that are all refused at once try little";
    EXPECT_GT(refused, lines / 10);
}

}  // namespace
}  // namespace kinetograph::cli
