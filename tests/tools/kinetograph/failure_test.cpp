// Failures end with exit code 1, one sentence that names the cause, and no new file.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "latent_files.hpp"
#include "program.hpp"

namespace kinetograph::test {
namespace {

/// Decodes `latents` to `out` in `folder` and expects failure with every part of `sentence`; nothing new in `folder`.
void expect_failure(const TemporaryFolder& folder, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& sentence) {
    const std::size_t before = folder.count_entries();
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    for (const std::string& part : sentence) {
        EXPECT_NE(result.messages.find(part), std::string::npos) << "wanted: " << part << "\nsaid: " << result.messages;
    }
    EXPECT_EQ(folder.count_entries(), before) << "something was left behind";
}

std::string write_tensor(const TemporaryFolder& folder, const std::string& name, const std::string& tensor_name,
                         const tensor::Shape& shape, float value = 0.5F) {
    const std::vector<float> values(static_cast<std::size_t>(*tensor::element_count(shape)), value);
    const std::array tensors{tensor::NamedTensor{
        tensor_name,
        {tensor::DType::F32, shape, reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)}}};
    const auto path = folder.path() / name;
    EXPECT_TRUE(tensor::write_safetensors(path, tensors));
    return path.string();
}

TEST(FailedDecode, NamesAMissingLatentsFile) {
    const TemporaryFolder folder;
    expect_failure(folder, decode("/nowhere/clip.safetensors", folder.path() / "out.mp4"),
                   {"/nowhere/clip.safetensors"});
}

TEST(FailedDecode, NamesAMissingCheckpoint) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    expect_failure(folder, decode(clip, folder.path() / "out.mp4", "/nowhere/vae.safetensors"),
                   {"/nowhere/vae.safetensors"});
}

TEST(FailedDecode, OfLatentsOfAnotherVaeNamesBothFilesAndBothChannelCounts) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors", 2, 48);
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"),
                   {clip, "48 channels as [C, T, h, w]", kSmallWeights, "16"});
}

TEST(FailedPlan, OfASizeThatTheFamilyDoesNotMakeNamesBoth) {
    const TemporaryFolder folder;
    expect_failure(folder, {"graph", "--weights", kSmallWeights, "--size", "100x64"},
                   {"--size 100x64", "Wan 2.1", "multiples of 8"});
}

TEST(FailedDecode, OfZeroFramesNamesTheFile) {
    const TemporaryFolder folder;
    const auto clip = write_tensor(folder, "empty.safetensors", "latents", {16, 0, 4, 6});
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"), {clip, "frames"});
}

TEST(FailedDecode, OfAnAbsurdSizeNamesTheFileAndTheLimit) {
    const TemporaryFolder folder;
    const auto clip = write_tensor(folder, "huge.safetensors", "latents", {16, 1, 1, 5000});
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"), {clip, "1024"});
}

TEST(FailedDecode, OfAFileWithoutLatentsSaysWhichTensorIsMissing) {
    const TemporaryFolder folder;
    const auto clip = write_tensor(folder, "other.safetensors", "frames", {3, 1, 8, 8});
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"), {clip, "latents"});
}

TEST(FailedDecode, OfLatentsThatAreNotFiniteSaysSo) {
    const TemporaryFolder folder;
    const auto clip =
        write_tensor(folder, "nan.safetensors", "latents", {16, 1, 4, 6}, std::numeric_limits<float>::quiet_NaN());
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"), {clip, "not finite"});
}

TEST(FailedDecode, OfFiniteLatentsThatOverflowSaysWhereItBeginsUnlessToldOtherwise) {
    const TemporaryFolder folder;
    const auto clip = write_tensor(folder, "huge.safetensors", "latents", {16, 2, 4, 6}, 3.3e38F);
    const auto out = folder.path() / "out.safetensors";
    expect_failure(folder, decode(clip, out), {clip + ": ", "values of frames 0 to 0 are not finite", "made by "});
    auto arguments = decode(clip, out);
    arguments.insert(arguments.end(), {"--allow-not-finite", "--json", "-"});
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.messages.find("values are not finite"), std::string::npos) << result.messages;
    EXPECT_EQ(result.out.find("\"values_not_finite\": 0"), std::string::npos) << result.out;
    EXPECT_TRUE(std::filesystem::exists(out));
}

TEST(FailedView, OfFiniteLatentsThatOverflowSaysSoUnlessToldOtherwise) {
    const TemporaryFolder folder;
    const auto clip = write_tensor(folder, "huge.safetensors", "latents", {16, 2, 4, 6}, 3.3e38F);
    std::vector<std::string> arguments{"view", clip, "--weights", kSmallWeights, "--headless"};
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("5 of the frames shown hold values that are not finite"), std::string::npos)
        << result.messages;
    arguments.emplace_back("--allow-not-finite");
    EXPECT_EQ(run_program(arguments).exit_code, 0);
}

TEST(FailedDecode, WithACheckpointThatLacksTensorsNamesThem) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    const auto weights = write_tensor(folder, "vae.safetensors", "decoder.conv1.weight", {128, 16, 3, 3, 3});
    expect_failure(folder, decode(clip, folder.path() / "out.mp4", weights), {weights, "missing"});
}

TEST(FailedDecode, IntoAFolderThatIsMissingNamesTheOutputForEveryKind) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const char* name : {"out.mp4", "out.safetensors"}) {
        const std::string out = folder.path() / "nowhere" / name;
        expect_failure(folder, decode(clip, out), {"/nowhere/", "cannot create", "No such file"});
    }
    const std::filesystem::path nowhere = folder.path() / "nowhere";
    expect_failure(folder, decode(clip, nowhere / "f%d.png"),
                   {"/nowhere/f0.png: cannot create: there is no folder " + nowhere.string()});
}

TEST(FailedDecode, WithATextFileAsCheckpointOrLatentsSaysThatItIsText) {
    const TemporaryFolder folder;
    const std::string sentence = "words.txt: this is text, not the file itself";
    const auto words = folder.write("words.txt", "these are words");
    expect_failure(folder, decode(words, folder.path() / "out.mp4"), {sentence});
    std::filesystem::remove(words);
    const auto clip = write_latents(folder, "clip.safetensors");
    expect_failure(folder, decode(clip, folder.path() / "out.mp4", folder.write("words.txt", "these are words")),
                   {sentence});
}

TEST(FailedDecode, WithinTooSmallABudgetStatesThePartsAndWhatWouldDo) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors"), folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--lane", "cpu", "--memory-budget", "256k"});
    expect_failure(folder, arguments,
                   {"latents needs ", "(transients ", "latents and frames ", "the budget of 0.2 MiB on ", " leaves 0"});
}

TEST(FailedDecode, OntoAFolderSaysThatItIsNoRegularFile) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    std::filesystem::create_directory(folder.path() / "out.mp4");
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"), {"out.mp4", "not a regular file"});
}

TEST(FailedDecode, IntoAFileSystemThatTakesNoFilesNamesTheOutput) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    expect_failure(folder, decode(clip, "/proc/out.mp4"), {"/proc/out.mp4", "cannot create"});
}

TEST(FailedDecode, WhoseStatisticsCannotBeWrittenLeavesNoVideoEither) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors"), folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--json", "/proc/stats.json"});
    expect_failure(folder, arguments, {"/proc/stats.json", "cannot create"});
}

TEST(FailedDecode, ToFullStorageSaysSo) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    const std::string command = std::string(KINETOGRAPH_PROGRAM) + " decode " + clip + " --weights " + kSmallWeights +
                                " -o - > /dev/full 2> " + (folder.path() / "messages").string();
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
    EXPECT_NE(read_text(folder.path() / "messages").find("No space left on device"), std::string::npos);
}

TEST(FailedDecode, WithAPatternOfTwoNumbersSaysHowItShouldLook) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    expect_failure(folder, decode(clip, folder.path() / "a%d-%d.png"), {"frames/%05d.png"});
}

TEST(FailedDecode, KeepsAnOlderOutputAsItWas) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors", 2, 48);
    const auto out = folder.write("out.mp4", "an older file");
    expect_failure(folder, decode(clip, out), {"48 channels as [C, T, h, w]"});
    EXPECT_EQ(read_text(out), "an older file");
}

TEST(FailedDecode, OnALaneThatThisBuildLacksNamesItAndTheOnesThereAre) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const std::string lane : {"cuda", "hip"}) {
        auto arguments = decode(clip, folder.path() / "out.mp4");
        arguments.insert(arguments.end(), {"--lane", lane});
        expect_failure(folder, arguments, {"lane " + lane, "cpu"});
    }
}

TEST(FailedDecode, InAPrecisionThatTheLaneLacksNamesIt) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    auto arguments = decode(clip, folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--precision", "fp16"});
    expect_failure(folder, arguments, {"fp16"});
}

TEST(FailedDecode, InterruptedByTheUserDiscardsItsOutputsAtOnce) {
    const TemporaryFolder folder;
    // 400 latent frames: long enough not to finish before the signal.
    auto arguments = decode(write_latents(folder, "clip.safetensors", 400), folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--json", folder.path() / "stats.json"});
    const auto outputs_are_open = [&folder] { return folder.count_entries() == 3; };
    const auto result = run_program(arguments, {.interrupt_when = outputs_are_open});
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    EXPECT_NE(result.messages.find("interrupted"), std::string::npos) << result.messages;
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(FailedDecode, EndsByEverySignalWhileItsOutputIsNotRead) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors", 400), "-");
    arguments.insert(arguments.end(), {"--json", folder.path() / "stats.json"});
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU}) {
        const auto result = run_program(arguments, {.signal = signal, .unread_output = true});
        EXPECT_EQ(result.exit_code, 1) << "signal " << signal;
        EXPECT_NE(result.messages.find("interrupted"), std::string::npos) << result.messages;
        EXPECT_EQ(folder.count_entries(), 1U) << "signal " << signal;
    }
}

TEST(FailedDecode, DiscardsItsOutputsWhenTheTerminalGoesAway) {
    const TemporaryFolder folder;
    const auto arguments = decode(write_latents(folder, "clip.safetensors", 400), folder.path() / "out.mp4");
    const auto output_is_open = [&folder] { return folder.count_entries() == 2; };
    const auto result = run_program(arguments, {.interrupt_when = output_is_open, .signal = SIGHUP});
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    EXPECT_EQ(folder.count_entries(), 1U);
}

/// What lies in `folder` besides the clip, by name.
std::map<std::string, std::string> outputs_in(const TemporaryFolder& folder) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename().string();
        if (name != "clip.safetensors") found[name] = entry.is_directory() ? "a folder" : read_text(entry.path());
    }
    return found;
}

/// At moments over the whole run, with older pictures in place. The names in `after` are as before, or all are new.
TEST(FailedDecode, ByASignalAtAnyMomentLeavesAllOldOrAllNewPicturesAndSaysWhich) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors", 6), folder.path() / "f%d.png");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(run_program(arguments).exit_code, 0);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
    const auto fresh = outputs_in(folder);
    constexpr int kRounds = 40;
    for (int round = 0; round < kRounds; ++round) {
        for (const auto& [name, contents] : fresh) folder.write(name, "older");
        const auto older = outputs_in(folder);
        const auto start = std::chrono::steady_clock::now();
        const auto late = whole * (0.6 + 0.6 * round / kRounds);
        const auto result = run_program(
            arguments,
            {.interrupt_when = [&] { return std::chrono::steady_clock::now() - start > late; }, .signal = SIGTERM});
        const auto left = outputs_in(folder);
        const bool says_complete = result.exit_code == 0 || result.messages.find("complete: ") != std::string::npos;
        const bool is_killed = result.exit_code == 128 + SIGTERM;  // once everything had been cleaned up, or not begun
        std::string what = fmt::format("round {}, exit code {}, left:", round, result.exit_code);
        for (const auto& [name, contents] : left)
            what += " " + name + (contents == "older" ? " (older)" : fresh.contains(name) ? " (new)" : " (?)");
        EXPECT_TRUE(left == fresh || left == older) << what << "\n" << result.messages;
        EXPECT_TRUE(is_killed || (left == fresh) == says_complete) << what << "\n" << result.messages;
    }
}

TEST(FailedDecode, KilledLeavesWhatTheNextRunRemoves) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors", 400), shorter = write_latents(folder, "a.safetensors");
    for (const std::string name : {"out.mp4", "f%d.png"}) {
        const auto before = folder.count_entries();
        const auto killed =
            run_program(decode(clip, folder.path() / name),
                        {.interrupt_when = [&] { return folder.count_entries() > before; }, .signal = SIGKILL});
        ASSERT_EQ(killed.exit_code, 128 + SIGKILL);
        ASSERT_EQ(folder.count_entries(), before + 1);
        ASSERT_EQ(run_program(decode(shorter, folder.path() / name)).exit_code, 0);
        EXPECT_EQ(folder.count_entries(), before + (name == "out.mp4" ? 1 : 5)) << name;
    }
}

TEST(ClosedDescriptors, TakeNoPartOfAnOutput) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    const auto wanted = folder.path() / "wanted.mp4", out = folder.path() / "out.mp4";
    ASSERT_EQ(run_program(decode(clip, wanted)).exit_code, 0);
    for (const std::vector<int>& closed : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1, 2}, {1, 2}, {0, 2}}) {
        EXPECT_EQ(run_program(decode(clip, out), {.closed = closed}).exit_code, 0) << closed.size();
        EXPECT_EQ(read_text(out), read_text(wanted)) << closed.size();
        std::filesystem::remove(out);
    }
    const auto unread = run_program(decode("-", out), {.closed = {0}});
    EXPECT_EQ(unread.exit_code, 1);
    EXPECT_NE(unread.messages.find("Bad file descriptor"), std::string::npos) << unread.messages;
    EXPECT_EQ(run_program(decode(clip, "-"), {.closed = {1}}).exit_code, 1);
    EXPECT_EQ(folder.count_entries(), 2U);
}

TEST(FailedDecode, OntoANameThatCannotBeReplacedIsRefusedBeforeTheDecode) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    std::filesystem::create_symlink("nowhere", folder.path() / "link.mp4");
    expect_failure(folder, decode(clip, folder.path() / (std::string(252, 'a') + ".mp4")), {"File name too long"});
    expect_failure(folder, decode(clip, folder.path() / "link.mp4"), {"it is a link to a file that is not there"});
}

TEST(FailedDecode, BeyondTheLimitOfAFilesSizeSaysSoForEveryKind) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer itself maps files beyond the limit";
#endif
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors", 8);
    for (const std::string name : {"out.mp4", "out.safetensors", "f%d.png"}) {
        const auto result = run_program(decode(clip, folder.path() / name), {.limits = {{RLIMIT_FSIZE, 1000}}});
        EXPECT_EQ(result.exit_code, 1) << name;
        EXPECT_NE(result.messages.find("File too large"), std::string::npos) << result.messages;
        EXPECT_EQ(folder.count_entries(), 1U) << name;
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve more than these limits
TEST(FailedDecode, WithLittleMemorySaysWhatCouldNotBeHad) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors", 3, 16, 16, 24);
    int failed = 0;
    for (std::uint64_t mebibytes = 240; mebibytes <= 600; mebibytes += 30) {
        auto words = decode(clip, folder.path() / "out.safetensors");
        words.insert(words.end(), {"--lane", "cpu"});
        const auto result = run_program(words, {.limits = {{RLIMIT_AS, mebibytes << 20U}}});
        std::filesystem::remove(folder.path() / "out.safetensors");
        EXPECT_EQ(folder.count_entries(), 1U) << mebibytes;
        constexpr int kNotLoaded = 127;  // by the dynamic loader, which says what it could not map
        if (result.exit_code == 0 || result.exit_code == kNotLoaded) continue;
        ++failed;
        EXPECT_EQ(result.exit_code, 1) << mebibytes << " MiB: " << result.messages;
        EXPECT_NE(result.messages.find("kinetograph: error: "), std::string::npos)
            << mebibytes << " MiB: " << result.messages;
        for (const char* bare : {"bad_alloc", "Resource temporarily unavailable", "terminate called", "libgcc_s"})
            EXPECT_EQ(result.messages.find(bare), std::string::npos) << mebibytes << " MiB: " << result.messages;
    }
    EXPECT_GT(failed, 0);
}

TEST(Usage, ThreadsThatCannotBeStartedAndAStackThatIsTooSmallAreNamed) {
    int refused = 0;
    for (std::uint64_t mebibytes = 200; mebibytes <= 320; mebibytes += 10) {
        const auto threads = run_program({"families"}, ProgramOptions{.limits = {{RLIMIT_AS, mebibytes << 20U}}});
        if (threads.messages.find(" threads can be started, 9 are needed: ") == std::string::npos) continue;
        EXPECT_EQ(threads.exit_code, 1);
        ++refused;
    }
    EXPECT_GT(refused, 0);
    const auto stack = run_program({"info"}, ProgramOptions{.limits = {{RLIMIT_STACK, 64 << 10U}}});
    EXPECT_EQ(stack.exit_code, 1);
    EXPECT_NE(stack.messages.find("the stack is limited to 64 KiB (ulimit -s), 1024 are needed"), std::string::npos)
        << stack.messages;
}
#endif

/// Statistics and traces come after the frames, which are kept.
TEST(FailedDecode, OfATraceThatCannotBeWrittenKeepsTheFrames) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer itself maps files beyond the limit";
#endif
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors", 2);
    const auto out = folder.path() / "f%d.png";
    auto arguments = decode(clip, out);
    arguments.insert(arguments.end(), {"--trace", folder.path() / "trace.json"});
    const auto result = run_program(arguments, {.limits = {{RLIMIT_FSIZE, 8000}}});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("trace.json"), std::string::npos) << result.messages;
    EXPECT_EQ(folder.count_entries(), 6U) << "the clip and five pictures";
}

/// Expects every role of `roles`, given to an option of `arguments`, to be refused with `sentence`, and no file to
/// change.
void expect_refusal(const std::vector<std::string>& arguments, const std::filesystem::path& precious,
                    const std::string& sentence) {
    const std::string before = read_text(precious);
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 1) << sentence;
    EXPECT_NE(result.messages.find(sentence), std::string::npos)
        << "wanted: " << sentence << "\nsaid: " << result.messages;
    EXPECT_EQ(read_text(precious), before) << sentence;
}

TEST(FailedDecode, NeverOverwritesWhatItReadsOrWritesBesides) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    const std::string link = folder.path() / "link.safetensors";
    std::filesystem::create_symlink("clip.safetensors", link);
    expect_refusal(decode(clip, clip), clip, "-o " + clip + " would overwrite LATENTS " + clip);
    expect_refusal(decode(clip, link), clip, "-o " + link + " would overwrite LATENTS " + clip);
    expect_refusal(decode(link, folder.path() / "." / "clip.safetensors"), clip, "would overwrite LATENTS " + link);
    expect_refusal(decode("assets.safetensors", clip, clip), clip, "would overwrite --weights " + clip);
    auto with_json = decode(clip, folder.path() / "out.safetensors");
    with_json.insert(with_json.end(), {"--json", clip});
    expect_refusal(with_json, clip, "--json " + clip + " would overwrite LATENTS");
    with_json.back() = folder.path() / "out.safetensors";
    expect_refusal(with_json, clip, "would overwrite --json " + with_json.back());
    auto sequence = decode(clip, folder.path() / "f%02d.png");
    sequence.insert(sequence.end(), {"--json", folder.path() / "f03.png"});
    expect_refusal(sequence, clip, "-o " + (folder.path() / "f%02d.png").string() + " would overwrite --json");
    EXPECT_EQ(folder.count_entries(), 2U);
}

TEST(FailedDecode, NeverOverwritesOneOutputByAnotherByWhicheverNames) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors"), before = read_text(clip);
    std::filesystem::create_symlink(".", folder.path() / "here");
    const auto refuse = [&](const std::string& out, const std::vector<std::string>& more, ProgramOptions options,
                            const std::string& sentence) {
        auto arguments = decode(clip, out);
        arguments.insert(arguments.end(), more.begin(), more.end());
        options.folder = folder.path();
        const auto result = run_program(arguments, options);
        EXPECT_EQ(result.exit_code, 1) << sentence;
        EXPECT_NE(result.messages.find(sentence), std::string::npos) << result.messages << "wanted: " << sentence;
        EXPECT_EQ(read_text(clip), before) << sentence;
    };
    for (const std::string option : {"--json", "--trace", "--stats"}) {
        refuse("q.mp4", {option, "./q.mp4"}, {}, "-o q.mp4 would overwrite " + option);
        refuse("q.mp4", {option, "here/q.mp4"}, {}, "-o q.mp4 would overwrite " + option);
        refuse("q%d.png", {option, "q3.png"}, {}, "-o q%d.png would overwrite " + option);
    }
    refuse("-", {}, {.append_to = clip}, "standard output would overwrite LATENTS");
    refuse("q.mp4", {"--json", "-"}, {.append_to = clip}, "standard output would overwrite LATENTS");
    EXPECT_EQ(folder.count_entries(), 2U);
    const auto log = folder.write("q.mp4", "");
    refuse("q.mp4", {"--json", "-"}, {.append_to = log}, "-o q.mp4 would overwrite --json -");
}

TEST(FailedView, NeverOverwritesWhatItReadsOrWritesBesides) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    const auto view = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"view", clip, "--weights", kSmallWeights, "--headless"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    const std::string picture = folder.path() / "f-00002.png";
    expect_refusal(view({"--trace", clip}), clip, "--trace " + clip + " would overwrite LATENTS " + clip);
    expect_refusal(view({"--record", clip}), clip, "--record " + clip + " would overwrite LATENTS " + clip);
    expect_refusal(view({"--record", folder.path() / "f.png", "--screenshot", picture}), clip,
                   "would overwrite --screenshot " + picture);
    expect_refusal(view({"--trace", picture, "--screenshot", picture}), clip, "would overwrite");
}

TEST(FailedInspection, NeverOverwritesTheCheckpoint) {
    const TemporaryFolder folder;
    const std::string weights = write_latents(folder, "vae.safetensors");
    expect_refusal({"weights", weights, "--json", weights}, weights,
                   "--json " + weights + " would overwrite CHECKPOINT");
    expect_refusal({"graph", "--weights", weights, "-o", weights}, weights,
                   "-o " + weights + " would overwrite --weights");
    expect_refusal({"bench", "decode", "--weights", weights, "--json", weights}, weights, "would overwrite --weights");
    expect_refusal({"bench", "interop", "--weights", weights, "--json", weights}, weights, "would overwrite --weights");
}

TEST(FailedDecode, WhereOlderPicturesWouldGoOnAfterItsLastOneNamesTheFirstOfThem) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    folder.write("f4.png", "of an older sequence");
    const auto next = folder.write("f5.png", "of an older sequence");
    expect_failure(folder, decode(clip, folder.path() / "f%d.png"), {next.string() + " is there", "5 frames"});
    EXPECT_EQ(read_text(folder.path() / "f4.png"), "of an older sequence");
    EXPECT_EQ(read_text(next), "of an older sequence");
}

TEST(FailedInspection, InterruptedByTheUserDiscardsItsOutput) {
    const TemporaryFolder folder;
    const std::string out = folder.path() / "out";
    const std::vector<std::string> conv{"conv", "--input",   "1,6,256,256,96", "--filter", "96,3,3,3", "--lane",
                                        "cpu",  "--repeats", "1000",           "--json",   out};
    const std::vector<std::string> graph{"graph", "--weights", "synthetic:wan2.1,dim=96", "--lane", "cpu", "-o", out};
    for (const auto& arguments : {conv, graph}) {
        const auto result =
            run_program(arguments, {.interrupt_when = [&folder] { return folder.count_entries() == 1; }});
        EXPECT_EQ(result.exit_code, 1) << arguments.front() << ": " << result.messages;
        EXPECT_EQ(folder.count_entries(), 0U) << arguments.front();
    }
}

TEST(FailedBench, InterruptedByTheUserDiscardsItsReport) {
    const TemporaryFolder folder;
    const auto result = run_program({"bench", "decode", "--weights", kSmallWeights, "--size", "48x32", "--lane", "cpu",
                                     "--steps", "100000", "--json", folder.path() / "report.json"},
                                    {.interrupt_when = [&folder] { return folder.count_entries() == 1; }});
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    EXPECT_NE(result.messages.find("interrupted"), std::string::npos) << result.messages;
    EXPECT_EQ(folder.count_entries(), 0U);
}

}  // namespace
}  // namespace kinetograph::test
