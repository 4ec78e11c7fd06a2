// The small programs of samples/: that they do what their first lines promise.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>

#include <kinetograph/tests/tools/kinetograph/latent_files.hpp>
#include <kinetograph/tests/tools/kinetograph/program.hpp>

namespace kinetograph::test {
namespace {

TEST(DecodeSample, WritesEveryFrameAsOneTensor) {
    const TemporaryFolder folder;
    const auto out = folder.path() / "out.safetensors";
    const auto result = run_program(SAMPLE_DECODE, {write_latents(folder, "clip.safetensors"), kSmallWeights, out});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto file = tensor::SafetensorsFile::open(out);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_NE(file->find("frames"), nullptr);
    EXPECT_EQ(file->find("frames")->shape, (tensor::Shape{5, 32, 48, 3}));
}

TEST(DecodeSample, NeverOverwritesWhatItReads) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    const std::string before = read_text(clip);
    const auto result = run_program(SAMPLE_DECODE, {clip, kSmallWeights, clip});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find(clip + " would be overwritten"), std::string::npos) << result.messages;
    EXPECT_EQ(read_text(clip), before);
}

TEST(EmbedSample, ShowsEveryFrameOfTheClipInOrder) {
    const TemporaryFolder folder;
    const auto result = run_program(SAMPLE_EMBED, {write_latents(folder, "clip.safetensors"), kSmallWeights});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::size_t at = 0;
    for (int frame = 0; frame < 5; ++frame) {
        at = result.out.find(fmt::format("frame {:3}, due at {:.3f} s", frame, frame / 12.0), at);
        ASSERT_NE(at, std::string::npos) << "frame " << frame << " is missing:\n" << result.out;
    }
    EXPECT_EQ(result.out.find("frame   5"), std::string::npos);
}

/// The lines of a sample that name frames.
std::string frames_of(const std::string& out) {
    std::string frames;
    for (std::size_t begin = 0; begin < out.size();) {
        const std::size_t end = out.find('\n', begin) + 1;
        if (out.compare(begin, 6, "frame ") == 0) frames += out.substr(begin, end - begin);
        begin = end;
    }
    return frames;
}

TEST(EmbedCSample, IsGivenTheFramesOfTheOneInCpp) {
    const TemporaryFolder folder;
    const std::vector<std::string> arguments{write_latents(folder, "clip.safetensors"), kSmallWeights};
    const auto result = run_program(SAMPLE_EMBED_C, arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(result.out, run_program(SAMPLE_EMBED, arguments).out);
}

TEST(PluginSample, ShowsEveryFrameOfAGeneratorsChunks) {
    const auto result = run_program(SAMPLE_PLUGIN, {KINETOGRAPH_C_LIBRARY, kSmallWeights});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::string wanted;
    for (int frame = 0; frame < 33; ++frame) wanted += fmt::format("frame {:3}: 96 x 64\n", frame);
    EXPECT_EQ(result.out, wanted);
}

TEST(PluginSample, SaysWhatIsMissing) {
    const auto no_library = run_program(SAMPLE_PLUGIN, {"/nowhere/libkinetograph.so", kSmallWeights});
    EXPECT_EQ(no_library.exit_code, 1);
    EXPECT_NE(no_library.messages.find("/nowhere/libkinetograph.so"), std::string::npos) << no_library.messages;
    const auto no_weights = run_program(SAMPLE_PLUGIN, {KINETOGRAPH_C_LIBRARY, "/nowhere/vae.safetensors"});
    EXPECT_EQ(no_weights.exit_code, 1);
    EXPECT_NE(no_weights.messages.find("plugin: /nowhere/vae.safetensors"), std::string::npos) << no_weights.messages;
}

TEST(EmbedVulkanSample, ReadsOnItsOwnDeviceWhatTheOtherOneIsGivenInMemory) {
    const TemporaryFolder folder;
    const std::vector<std::string> arguments{write_latents(folder, "clip.safetensors"), kSmallWeights};
    const auto result = run_program(SAMPLE_EMBED_VULKAN, arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(result.out.rfind("staged: ", 0), 0U) << result.out;
    EXPECT_EQ(frames_of(result.out), frames_of(run_program(SAMPLE_EMBED, arguments).out));
    EXPECT_NE(result.out.find("frame   4, due at 0.333 s"), std::string::npos) << result.out;
}

/// That the frames of an accelerator's lane are the CPU's: bf16 in another order of additions, so colours agree to a
/// few of 256 levels. Unused in a build without the host model.
[[maybe_unused]] void expect_nearly_the_same(const std::string& frames, const std::string& on_cpu) {
    std::istringstream wanted_lines(frames_of(on_cpu)), found_lines(frames_of(frames));
    int count = 0;
    for (std::string wanted, found; std::getline(wanted_lines, wanted); ++count) {
        ASSERT_TRUE(std::getline(found_lines, found)) << frames;
        int index = 0;
        float due = 0;
        std::array<int, 3> cpu{}, lane{};
        constexpr const char* kLine = "frame %d, due at %f s, centre pixel %d %d %d";
        ASSERT_EQ(std::sscanf(wanted.c_str(), kLine, &index, &due, &cpu[0], &cpu[1], &cpu[2]), 5) << wanted;
        ASSERT_EQ(std::sscanf(found.c_str(), kLine, &index, &due, &lane[0], &lane[1], &lane[2]), 5) << found;
        EXPECT_EQ(index, count);
        for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(lane.at(c), cpu.at(c), 6) << found;
    }
    EXPECT_EQ(count, 5);
}

#ifdef STANDIN_HIP_GFX950
/// The HIP lane on its stand-in, gfx950's kernels in the host model of waves, on one side; a real Vulkan device on the
/// other.
TEST(EmbedVulkanSample, ReadsOnItsOwnDeviceWhatTheHipLaneDecodes) {
    const TemporaryFolder folder;
    std::vector<std::string> arguments{write_latents(folder, "clip.safetensors", 2, 16, 2, 2), kSmallWeights};
    const std::string on_cpu = run_program(SAMPLE_EMBED_VULKAN, arguments).out;
    arguments.emplace_back("hip");
    const auto result =
        run_program(SAMPLE_EMBED_VULKAN, arguments, {.environment = {"KINETOGRAPH_HIP_LIBRARY=" STANDIN_HIP_GFX950}});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(result.out.rfind("staged: Stand-in MI355X", 0), 0U) << result.out;
    expect_nearly_the_same(result.out, on_cpu);
}
#endif

#ifdef STANDIN_CUDA_SM80
/// The same with the CUDA lane, its sm_80 kernels in the host model, and latents in memory of that lane.
TEST(EmbedCudaSample, DecodesOnTheCudaLaneWithoutBeingAskedTo) {
    const TemporaryFolder folder;
    const std::vector<std::string> arguments{write_latents(folder, "clip.safetensors", 2, 16, 2, 2),
                                             "synthetic:wan2.1,dim=8"};
    const auto result =
        run_program(SAMPLE_EMBED_CUDA, arguments, {.environment = {"KINETOGRAPH_CUDA_LIBRARY=" STANDIN_CUDA_SM80}});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(result.out.rfind("staged: Stand-in H200", 0), 0U) << result.out;
    expect_nearly_the_same(result.out, run_program(SAMPLE_EMBED, arguments).out);
}
#endif

TEST(EmbedCudaSample, DecodesWhatAGeneratorLeavesWithTheAcceleratorIntoImages) {
    const TemporaryFolder folder;
    std::vector<std::string> arguments{write_latents(folder, "clip.safetensors"), kSmallWeights};
    const std::string wanted = frames_of(run_program(SAMPLE_EMBED, arguments).out);
    arguments.emplace_back("cpu");
    const auto result = run_program(SAMPLE_EMBED_CUDA, arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(frames_of(result.out), wanted);
}

TEST(EmbedVulkanSample, SaysWhyALaneIsOff) {
    const TemporaryFolder folder;
    const auto result =
        run_program(SAMPLE_EMBED_VULKAN, {write_latents(folder, "clip.safetensors"), kSmallWeights, "cuda"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("CUDA lane off"), std::string::npos) << result.messages;
}

TEST(Samples, TakeNoLaneForAnother) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const char* sample : {SAMPLE_EMBED_VULKAN, SAMPLE_EMBED_CUDA}) {
        const auto result = run_program(sample, {clip, kSmallWeights, "gpu"});
        EXPECT_EQ(result.exit_code, 1) << sample;
        EXPECT_NE(result.messages.find("lane gpu: there are cpu, cuda"), std::string::npos) << result.messages;
    }
}

TEST(Samples, SayWhatIsWrongAndFail) {
    for (const char* sample :
         {SAMPLE_DECODE, SAMPLE_EMBED, SAMPLE_EMBED_C, SAMPLE_EMBED_VULKAN, SAMPLE_EMBED_CUDA, SAMPLE_PLUGIN}) {
        EXPECT_EQ(run_program(sample, {}).exit_code, 2) << sample;
    }
    const auto result = run_program(SAMPLE_EMBED, {"/nowhere/clip.safetensors", kSmallWeights});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("/nowhere/clip.safetensors"), std::string::npos) << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
