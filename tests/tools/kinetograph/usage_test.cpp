// The command line itself: exit code 2 and a hint for command lines that are not understood.
#include <gtest/gtest.h>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/source_tree.hpp>

#include <filesystem>

#include "program.hpp"

namespace kinetograph::test {
namespace {

struct Usage {
    std::vector<std::string> arguments;
    std::string_view complaint;  ///< part of the message
};

TEST(Usage, WhatCannotBeUnderstoodEndsWithExitCode2AndSaysWhy) {
    const Usage cases[] = {
        {{}, "subcommand is required"},
        {{"dekode"}, "kinetograph: error: dekode is no subcommand"},
        {{"decode"}, "kinetograph: error: latents-file is required"},
        {{"decode", "--bogus"}, "kinetograph: error: not expected: --bogus"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--jsno", "x"}, "not expected: --jsno x"},
        {{"decode", "", "--weights", "w", "-o", "b.mp4"}, "latents-file: empty name"},
        {{"decode", "a.safetensors", "--weights", "", "-o", "b.mp4"}, "--weights: empty name"},
        {{"decode", "a.safetensors", "-o", "b.mp4"}, "--weights is required"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.avi"},
         "must be a name that ends in .mp4, .mov, .mkv, .webm, .gif, .webp, .png, .jpg, .jpeg, .safetensors, or -: "
         "b.avi"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", ".png"}, "must be a name that ends in"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "frames/.mp4"}, "must be a name that ends in"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--lane", "metal"},
         "--lane: metal is none of auto|cpu|cuda|hip"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--precision", "int4"}, "int4"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--latents", "scaled"}, "scaled"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "-", "--json", "-"}, "standard output"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--fps", "0"},
         "0 is no number from 0.01 to 1000"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--fps", "nan"}, "--fps"},
        {{"decode", "a.safetensors", "--weights", "w", "-o", "b.mp4", "--batch-item", "-1"}, "--batch-item"},
        {{"encode", "a.mp4", "--weights", "w", "-o", "b.mp4"}, "must be a name that ends in .safetensors: b.mp4"},
        {{"encode", "a.mp4", "-o", "b.safetensors"}, "--weights is required"},
        {{"encode", "a.mp4", "--weights", "w", "-o", "b.safetensors", "--size", "7x8"}, "7x8 is no WIDTHxHEIGHT"},
        {{"encode", "a.mp4", "--weights", "w", "-o", "b.safetensors", "--latents", "auto"}, "normalized|raw"},
        {{"encode", "a.mp4", "--weights", "w", "-o", "b.safetensors", "--frames", "0"}, "--frames"},
        {{"encode", "a.mp4", "--weights", "w", "-o", "b.safetensors", "--sample", "-1"}, "--sample"},
        {{"encode", "a.mp4", "--weights", "w", "-o", "b.safetensors", "--sample", "1", "--moments"}, "excludes"},
        {{"conv", "--input", "1,1,8,8", "--filter", "4,1,3,3"}, "--input"},
        {{"conv", "--input", "1,1,8,8,4"}, "--filter is required"},
        {{"conv", "--input", "1,1,8,x,4", "--filter", "4,1,3,3"}, "--input"},
        {{"graph", "--weights", "synthetic:wan2.1,dim=32", "--size", "101x100"}, "even numbers"},
        {{"graph", "--weights", "synthetic:wan2.1,dim=32", "--size", "0x0"},
         "--size: 0x0 is no WIDTHxHEIGHT of even numbers from 2 to 8192"},
        {{"conv", "--input", "1,1,8,8,4", "--filter", "4,1,3,3", "--alpha", "x"}, "--alpha: x is no number"},
        {{"conv", "--input", "1,1,8,8,4", "--filter", "4,1,3,3", "--groups", "1.5"},
         "--groups: 1.5 is no whole number"},
        {{"graph", "--weights", "synthetic:wan2.1,dim=32", "--json", "--dot"}, "excludes"},
        {{"view", "a.safetensors", "--weights", "w", "--screenshot", "a.jpg"}, "must end in .png: a.jpg"},
        {{"view", "a.safetensors", "--weights", "w", "--speed", "nan"}, "nan is no number from 0.01 to 100"},
        {{"view", "a.safetensors", "--weights", "w", "--speed", "2x"}, "2x is no number from 0.01 to 100"},
        {{"view", "a.safetensors", "--weights", "w", "--scale", "nan"}, "nan is no number from 0.5 to 8"},
        {{"view", "a.safetensors", "--weights", "w", "--frames", "0"}, "--frames"},
        {{"view", "a.safetensors", "--weights", "w", "--headless", "--loop"}, "nothing would end it: add --frames N"},
        {{"bench"}, "subcommand is required"},
        {{"bench", "decode", "--weights", "w", "--steps", "0"}, "--steps"},
        {{"bench", "decode"}, "--weights is required"},
        {{"bench", "decode", "clip.safetensors", "--weights", "w", "--size", "64x32"}, "excludes"},
        {{"bench", "conv", "--input", "1,1,8,8,4"}, "--input requires --filter"},
        {{"bench", "conv", "--input", "1,1,8,8,4", "--filter", "4,1,3,3", "--size", "64x32"}, "excludes"},
        {{"bench", "conv", "--input", "1,1,8,8,4", "--filter", "4,1,3,3", "--layer", "96"}, "excludes"},
        {{"bench", "conv", "--dim", "7"}, "--dim"},
        {{"bench", "conv", "--dtype", "int8"}, "int8"},
        {{"bench", "conv", "--family", "wan9"}, "wan9 is none of "},
        {{"bench", "conv", "--backend", "abacus"}, "no back end is called abacus"},
        {{"bench", "interop", "--lane", "metal"}, "metal"},
        {{"bench", "interop", "--steps", "0"}, "--steps"},
        {{"bench", "interop", "--size", "64x32"}, "--weights"},
        {{"bench", "interop", "--sums", "fast"}, "--weights"},
        {{"bench", "interop", "--precision", "fp16"}, "--weights"},
        {{"bench", "conv", "--declared", "--input", "1,1,8,8,4", "--filter", "4,1,3,3"}, "excludes"},
    };
    for (const Usage& usage : cases) {
        const auto result = run_program(usage.arguments);
        const std::string line = [&] {
            std::string joined;
            for (const auto& argument : usage.arguments) joined += argument + ' ';
            return joined;
        }();
        EXPECT_EQ(result.exit_code, 2) << line;
        EXPECT_NE(result.messages.find(usage.complaint), std::string::npos) << line << "said: " << result.messages;
        EXPECT_TRUE(result.out.empty()) << line;
    }
}

TEST(Usage, AMemoryBudgetIsAWholeNumberAboveZeroWithALetterOrWithout) {
    const auto with_budget = [](const std::string& budget) {
        return run_program(
            {"decode", "/nowhere/a.safetensors", "--weights", "w", "-o", "b.mp4", "--memory-budget", budget});
    };
    for (const std::string budget :
         {"-5", "0", "0G", "1.5G", "nan", "much", "", "G", "1X", "1bb", "16777216T", "99999999999999999999"}) {
        const auto result = with_budget(budget);
        EXPECT_EQ(result.exit_code, 2) << budget;
        EXPECT_NE(result.messages.find("--memory-budget: " + budget + " is no size; wanted a whole number above 0"),
                  std::string::npos)
            << result.messages;
    }
    for (const std::string budget : {"5", "5b", "800M", "2G", "2gb", "2GiB", "16777215T"})
        EXPECT_EQ(with_budget(budget).exit_code, 1) << budget << ": understood, but there are no latents";
}

TEST(Usage, MoreThreadsThanAMachineCanStartAreNotStarted) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer does not see how OpenMP's own threads wait for each other";
#endif
    const auto result = run_program(
        {"conv", "--input", "1,3,64,64,16", "--filter", "16,3,3,3", "--pad", "0,0,1,1,1,1", "--lane", "cpu"},
        {.environment = {"OMP_NUM_THREADS=100000"}});
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.messages.find("OMP_NUM_THREADS asks for 100000 threads"), std::string::npos) << result.messages;
}

TEST(Usage, ServeIsThePythonPackagesAndSaysWhatIsMissing) {
    const auto without_python = run_program({"serve", "--demo", "--port", "1"}, {.environment = {"PATH=/nonexistent"}});
    EXPECT_EQ(without_python.exit_code, 1);
    EXPECT_NE(without_python.messages.find("serve is part of the Python package, and python3 cannot be started"),
              std::string::npos)
        << without_python.messages;

    const TemporaryFolder folder;
    const auto python = folder.write("python3", "#!/bin/sh\nshift 2\necho \"$@\"\n");
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const auto started =
        run_program({"serve", "--help", "--port", "1"}, {.environment = {"PATH=" + folder.path().string() + ":/bin"}});
    EXPECT_EQ(started.exit_code, 0);
    EXPECT_EQ(started.out, "serve --help --port 1\n");
}

TEST(Usage, ViewOnTheWebGivesTheServiceTheClipInMemory) {
    const std::string assets = (source_tree() / "assets").string();
    const std::vector<std::string> view = {"view",      assets + "/orbit.safetensors",
                                           "--weights", assets + "/demo_tiny.safetensors",
                                           "--web",     "--lane",
                                           "cpu",       "--fps",
                                           "12.5"};
    const TemporaryFolder folder;
    const auto python = folder.write("python3",
                                     "#!/bin/sh\nshift 2\necho \"$@\"\n"
                                     "for word; do case $word in /proc/self/fd/*) cat $word ;; esac; done\n");
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const ProgramOptions with_python{.environment = {"PATH=" + folder.path().string() + ":/bin:/usr/bin"}};
    const auto started = run_program(view, with_python);
    ASSERT_EQ(started.exit_code, 0) << started.messages;
    const std::string words = started.out.substr(0, started.out.find('\n'));
    EXPECT_EQ(words.substr(0, words.find("/proc/")), "serve --weights " + assets +
                                                         "/demo_tiny.safetensors --device cpu --precision bf16 --sums "
                                                         "exact --clip ");
    EXPECT_EQ(words.substr(words.find(" --port")), " --port 8000");
    EXPECT_NE(started.out.find(R"("fps":"12.5")"), std::string::npos);
    EXPECT_GT(started.out.size(), std::size_t{16} * 16 * 36 * 64 * 4);  // the latents, [16, 16, 36, 64] float32

    const auto refused = [&](std::vector<std::string> more) {
        auto words_of = view;
        words_of.insert(words_of.end(), more.begin(), more.end());
        return run_program(words_of, with_python);
    };
    EXPECT_EQ(refused({"--full-screen"}).exit_code, 2);
    EXPECT_NE(refused({"--full-screen"}).messages.find("--full-screen: does not go with --web"), std::string::npos)
        << refused({"--full-screen"}).messages;
    const auto live = run_program({"view", "-", "--weights", view[3], "--web"}, with_python);
    EXPECT_NE(live.messages.find("--web shows a file: latents as they are made go to a session"), std::string::npos)
        << live.messages;
    const auto no_python = run_program(view, {.environment = {"PATH=/nonexistent"}});
    EXPECT_NE(no_python.messages.find("python3 cannot be started"), std::string::npos) << no_python.messages;
}

TEST(Usage, HelpAndVersionGoToStandardOutputWithExitCode0) {
    for (const char* subcommand :
         {"view", "decode", "info", "weights", "calibrate", "conv", "graph", "trace", "bench"}) {
        const auto help = run_program({subcommand, "--help"});
        EXPECT_EQ(help.exit_code, 0) << subcommand;
        EXPECT_NE(help.out.find("Usage: kinetograph " + std::string(subcommand)), std::string::npos) << help.out;
    }
    const auto version = run_program({"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_EQ(version.out.find("kinetograph 0."), 0U) << version.out;
}

TEST(Usage, HelpAndVersionThatCannotBePrintedAreAFailure) {
    for (const std::string option : {"--help", "--version"}) {
        EXPECT_EQ(run_program({option}).exit_code, 0);
        EXPECT_NE(run_program({option}).out, "");
        const auto result = run_program({option}, {.append_to = "/dev/full"});
        EXPECT_EQ(result.exit_code, 1) << option;
        EXPECT_NE(result.messages.find("No space left on device"), std::string::npos) << result.messages;
    }
}

TEST(Usage, ControlCharactersOfANameDoNotReachTheTerminal) {
    const auto result = run_program({"info", "a\x1b[2J\r\nkinetograph: info: done\x7f.safetensors"});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(result.messages.find_first_of("\x1b\r\x7f"), std::string::npos) << result.messages;
    EXPECT_EQ(result.messages.find("\nkinetograph: info: done"), std::string::npos) << result.messages;
    EXPECT_NE(result.messages.find("\\x1b[2J"), std::string::npos) << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
