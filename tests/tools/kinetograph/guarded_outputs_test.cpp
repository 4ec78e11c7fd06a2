// GuardedOutputs while a signal discards them on its own thread.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>
#include <vector>

namespace kinetograph::cli {
namespace {

/// The command asks what was written, as for its last message, until the process ends.
TEST(GuardedOutputsDeathTest, ThatAreCompleteAreNamedByASignalWhileTheCommandAsksForThem) {
    const test::TemporaryFolder folder;
    const auto end_by_a_signal = [&folder] {
        constexpr std::int64_t kSide = 8;
        GuardedOutputs outputs;
        const bool is_finished =
            outputs.open_frames(folder.path() / "f%d.png", {.width = kSide, .height = kSide, .frames = 1, .fps = 8}) &&
            outputs.write_frame(std::vector<float>(3 * kSide * kSide)) && outputs.finish_frames();
        if (!is_finished) return;
        kill(getpid(), SIGTERM);
        while (!outputs.written().empty()) continue;
    };
    EXPECT_EXIT((end_by_a_signal(), std::abort()), testing::ExitedWithCode(1), "interrupted; complete: .*f0.png\n$");
}

}  // namespace
}  // namespace kinetograph::cli
