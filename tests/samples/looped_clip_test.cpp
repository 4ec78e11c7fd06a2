// A clip that is shown again and again takes no more memory.
#include <kinetograph/samples/viewer/checkpoint_source.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>
#include <kinetograph/tests/sanitizers.hpp>
#include <kinetograph/tests/tools/kinetograph/latent_files.hpp>

#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <vector>

namespace kinetograph::viewer {
namespace {

/// A frame's drawing allocates and frees, so that the heap's use differs from frame to frame: the least of a part of
/// the run is compared with the least of another.
TEST(LoopedClips, TakeNoMoreMemoryFromRoundToRound) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's heap tells nothing";
#endif
    const test::TemporaryFolder folder;
    constexpr std::size_t kFrames = 5, kRounds = 800, kPart = kFrames * kRounds / 4;
    std::vector<std::size_t> used;  // bytes after each frame
    used.reserve(kFrames * kRounds);
    ViewerOptions options;
    options.latents = test::write_latents(folder, "clip.safetensors", 2, 16, 4, 8);
    options.weights = "synthetic:wan2.1,dim=2";
    options.model.precision = vae::Precision::Fp32;
    options.lane = "cpu";
    options.headless = true;
    options.loop = true;
    options.width = 64;
    options.height = 32;
    options.frames = kFrames * kRounds;
    options.on_frame = [&](const PresentedFrame&) -> Result<void> {
        used.push_back(::mallinfo2().uordblks);
        return {};
    };
    const auto summary = viewer::run(std::move(options));
    ASSERT_TRUE(summary) << summary.error().message;
    ASSERT_EQ(used.size(), kFrames * kRounds);
    const auto least = [&](std::size_t part) {
        const auto begin = used.begin() + static_cast<std::ptrdiff_t>(part * kPart);
        return *std::min_element(begin, begin + kPart);
    };
    std::string parts;
    for (std::size_t part = 0; part < 4; ++part) parts += fmt::format(" {}", least(part));
    EXPECT_LE(least(3), least(1) + 4096) << "least use of each quarter, bytes:" << parts;
    RecordProperty("least", parts);
}

}  // namespace
}  // namespace kinetograph::viewer
