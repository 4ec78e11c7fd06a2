// What goes wrong ends with exit code 1, one sentence that names the thing, and no file behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

std::vector<std::string> decode(const std::string& latents, const std::string& out,
                                const std::string& weights = kSmallWeights) {
    return {"decode", latents, "--weights", weights, "-o", out};
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
    expect_failure(folder, decode(clip, folder.path() / "out.mp4"), {clip, "48 latent channels", kSmallWeights, "16"});
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

TEST(FailedDecode, WithACheckpointThatLacksTensorsNamesThem) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    const auto weights = write_tensor(folder, "vae.safetensors", "decoder.conv1.weight", {128, 16, 3, 3, 3});
    expect_failure(folder, decode(clip, folder.path() / "out.mp4", weights), {weights, "missing"});
}

TEST(FailedDecode, IntoAFolderThatIsMissingNamesTheOutputForEveryKind) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const char* name : {"out.mp4", "out.safetensors", "f%d.png"}) {
        const std::string out = folder.path() / "nowhere" / name;
        expect_failure(folder, decode(clip, out), {"/nowhere/", "cannot create", "No such file"});
    }
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
    expect_failure(folder, decode(clip, out), {"48 latent channels"});
    EXPECT_EQ(read_text(out), "an older file");
}

TEST(FailedDecode, OnALaneThatThisBuildLacksNamesItAndTheOnesThereAre) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const std::string lane : {"vulkan", "cuda", "hip"}) {
        auto arguments = decode(clip, folder.path() / "out.mp4");
        arguments.insert(arguments.end(), {"--lane", lane});
        expect_failure(folder, arguments, {"lane " + lane, "cpu"});
    }
}

TEST(FailedDecode, InAPrecisionThatTheLaneLacksNamesIt) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const std::string precision : {"fp16", "fp8"}) {
        auto arguments = decode(clip, folder.path() / "out.mp4");
        arguments.insert(arguments.end(), {"--precision", precision});
        expect_failure(folder, arguments, {precision});
    }
}

TEST(FailedDecode, InterruptedByTheUserDiscardsItsOutputsAtOnce) {
    const TemporaryFolder folder;
    // Long enough that it cannot be done before the signal: 400 latent frames.
    auto arguments = decode(write_latents(folder, "clip.safetensors", 400), folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--json", folder.path() / "stats.json"});
    const auto outputs_are_open = [&folder] { return folder.count_entries() == 3; };
    const auto result = run_program(arguments, {.interrupt_when = outputs_are_open});
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    EXPECT_NE(result.messages.find("interrupted"), std::string::npos) << result.messages;
    EXPECT_EQ(folder.count_entries(), 1U);
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
