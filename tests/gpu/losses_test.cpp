// A kernel with invalid pointers causes the loss of a real GPU during each program that users run: the program must end
// with a sentence, soon.
#include <gtest/gtest.h>
#include <kinetograph/tests/source_tree.hpp>
#include <kinetograph/tests/tools/kinetograph/program.hpp>

#include <dlfcn.h>
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

/// When the fault was launched, in seconds of the steady clock; negative if it was not.
double launched_at(const std::string& messages) {
    constexpr std::string_view kSaid = "fault launched at ";
    const auto at = messages.find(kSaid);
    return at == std::string::npos ? -1 : std::strtod(messages.c_str() + at + kSaid.size(), nullptr) / 1e9;
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
    const double begin = launched_at(result.messages);
    ASSERT_GE(begin, 0) << "the program made fewer launches: " << result.messages << result.out;
    RecordProperty("seconds_to_the_end", std::to_string(end.count() - begin));
    EXPECT_LE(end.count() - begin, 2.0);
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
