// A kernel with invalid pointers causes the loss of a real GPU during each program that users run: the program must end
// with a sentence, soon.
#include <gtest/gtest.h>
#include <kinetograph/tests/source_tree.hpp>
#include <kinetograph/tests/tools/kinetograph/program.hpp>

#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace kinetograph::test {
namespace {

struct Victim {
    const char* name;
    std::vector<std::string> arguments;
    std::string program = KINETOGRAPH_PROGRAM;
};

std::ostream& operator<<(std::ostream& out, const Victim& victim) { return out << victim.name; }

const std::string kWeights = "synthetic:wan2.1,dim=32";

std::string asset(const std::string& name) { return source_tree() / "assets" / (name + ".safetensors"); }

class GpuLosses : public testing::TestWithParam<std::tuple<Victim, int>> {
  protected:
    void SetUp() override {
        if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr)
            GTEST_SKIP() << "libcuda.so.1 not found: CUDA lane off";
    }
};

/// When the faulting driver said so, in seconds of the steady clock; negative if it did not.
double time_of(const std::string& what, const std::string& messages) {
    const std::string said = what + " at ";
    const auto at = messages.find(said);
    return at == std::string::npos ? -1 : std::strtod(messages.c_str() + at + said.size(), nullptr) / 1e9;
}

TEST_P(GpuLosses, EndAProgramWithASentenceWithinTwoSeconds) {
    const auto& [victim, launch] = GetParam();
    const auto kill_at = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto result =
        run_program(victim.program, victim.arguments,
                    {.environment = {std::string("KINETOGRAPH_CUDA_LIBRARY=") + KINETOGRAPH_FAULTING_DRIVER,
                                     "KINETOGRAPH_FAULTING_LAUNCH=" + std::to_string(launch)},
                     .interrupt_when = [&] { return std::chrono::steady_clock::now() > kill_at; },
                     .signal = SIGKILL});
    const std::chrono::duration<double> end = std::chrono::steady_clock::now().time_since_epoch();
    const double launched = time_of("fault launched", result.messages);
    ASSERT_GE(launched, 0) << "the program made fewer launches: " << result.messages << result.out;
    // A queue that changes contexts while the fault comes can stop the whole GPU, until its driver ends that and tells.
    const double told = std::max(launched, time_of("loss told", result.messages));
    RecordProperty("seconds_to_the_loss", std::to_string(told - launched));
    // The kernel can keep a process whose queue stands still for another ten seconds.
    const double to_the_end = end.count() - told, to_the_sentence = to_the_end - result.seconds_after_messages;
    RecordProperty("seconds_to_the_sentence", std::to_string(to_the_sentence));
    RecordProperty("seconds_to_the_end", std::to_string(to_the_end));
    EXPECT_LE(to_the_sentence, 2.0);
    EXPECT_LE(to_the_end, 12.0);
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    EXPECT_NE(result.messages.find("CUDA_ERROR_"), std::string::npos) << result.messages;
}

INSTANTIATE_TEST_SUITE_P(
    InTheMiddleOf, GpuLosses,
    testing::Combine(testing::Values(Victim{"decode",
                                            {"bench", "decode", "--lane", "cuda", "--weights", kWeights, "--size",
                                             "128x64", "--steps", "400"}},
                                     Victim{"interop",
                                            {"bench", "interop", "--lane", "cuda", "--weights", kWeights, "--size",
                                             "128x64", "--steps", "400", "--executions", "5"}},
                                     Victim{"view",
                                            {"view", asset("orbit"), "--weights", asset("demo_vae"), "--lane", "cuda",
                                             "--headless", "--loop", "--frames", "400"}},
                                     Victim{"embed", {asset("orbit"), asset("demo_vae"), "cuda"}, KINETOGRAPH_EMBED}),
                     testing::Values(1, 40, 60)),
    [](const auto& test) {
        return std::string(std::get<0>(test.param).name) + "AtLaunch" + std::to_string(std::get<1>(test.param));
    });

}  // namespace
}  // namespace kinetograph::test
