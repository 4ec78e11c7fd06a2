// Programs that README and docs name by path must run by that path.
#include <kinetograph/tests/source_tree.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace kinetograph::test {
namespace {

using std::filesystem::perms;

TEST(Scripts, ThatNameTheirInterpreterAreExecutable) {
    int scripts = 0;
    for (const char* folder : {"bench", "tests/golden", "tools"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_tree() / folder)) {
            if (!entry.is_regular_file()) continue;
            std::string first;
            std::getline(std::ifstream(entry.path()), first);
            if (first.rfind("#!", 0) != 0) continue;
            ++scripts;
            EXPECT_NE(entry.status().permissions() & perms::owner_exec, perms::none) << entry.path();
        }
    EXPECT_GE(scripts, 15);
}

int exit_status(const std::string& command) {
    const int status = std::system((command + " >/dev/null 2>&1 </dev/null").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Each reads the whole of itself before it answers: lists of packages, stages and all.
TEST(Scripts, AtTheRootSayWhatTheyTakeAndRefuseTheRest) {
    const std::string root = source_tree();
    EXPECT_EQ(exit_status(root + "/bootstrap help"), 0);
    EXPECT_EQ(exit_status(root + "/bootstrap nonsense"), 1);
    EXPECT_EQ(exit_status(root + "/.ci/run nonsense"), 2);
}

}  // namespace
}  // namespace kinetograph::test
