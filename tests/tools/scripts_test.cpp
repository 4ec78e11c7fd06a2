// tools/: programs that README and docs name by path must run by that path.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kinetograph::test {
namespace {

using std::filesystem::perms;

TEST(Scripts, ThatNameTheirInterpreterAreExecutable) {
    int scripts = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(KINETOGRAPH_TOOLS)) {
        if (!entry.is_regular_file()) continue;
        std::string first;
        std::getline(std::ifstream(entry.path()), first);
        if (first.rfind("#!", 0) != 0) continue;
        ++scripts;
        EXPECT_NE(entry.status().permissions() & perms::owner_exec, perms::none) << entry.path();
    }
    EXPECT_GE(scripts, 5);
}

}  // namespace
}  // namespace kinetograph::test
