// The front door: sessions, and the streams that come out of them.
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/stream/small_decoder.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/source_tree.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <regex>

namespace kinetograph::session {
namespace {

constexpr const char* kWeights = "synthetic:wan2.1,dim=2";
constexpr Nanoseconds kLong = std::chrono::seconds(30);

std::unique_ptr<Session> open(SessionOptions options = {.device = "cpu"}) {
    options.model.precision = vae::Precision::Fp32;
    auto session = Session::open(kWeights, options);
    EXPECT_TRUE(session) << session.error().message;
    return std::move(*session);
}

/// All frames to the clip's end.
std::vector<std::vector<std::uint8_t>> frames_of(stream::FrameSource& stream) {
    std::vector<std::vector<std::uint8_t>> frames;
    while (!stream.finished()) {
        const auto frame = stream.take(kLong);
        EXPECT_TRUE(frame) << frame.error().message;
        if (!frame) return frames;
        if (!*frame) continue;
        EXPECT_EQ((*frame)->label.index, static_cast<std::int64_t>(frames.size()));
        const auto* pixels = reinterpret_cast<const std::uint8_t*>((*frame)->host.data());
        frames.emplace_back(pixels, pixels + (*frame)->host.size());
        EXPECT_TRUE(stream.release(**frame));
    }
    return frames;
}

TEST(Sessions, DecodeClipsSideBySideWithOneModelToTheFramesOfDecodersOfTheirOwn) {
    const auto session = open();
    const vae::Latents clip = stream::testing::small_clip(5), wide = stream::testing::small_clip(4, 3);
    const auto first = session->decode(clip).value(), second = session->decode(wide).value(),
               third = session->decode(clip).value();
    const auto frames = frames_of(*second);
    EXPECT_EQ(frames, stream::testing::expected_frames(*stream::testing::small_decoder(session->device(), 3), wide));
    const auto wanted = stream::testing::expected_frames(*stream::testing::small_decoder(session->device()), clip);
    EXPECT_EQ(frames_of(*third), wanted);
    EXPECT_EQ(frames_of(*first), wanted);
}

TEST(Sessions, HoldTheWeightsOnceAndStateWhatAStreamTakesBesideThem) {
    const auto session = open();
    accel::Device& device = session->device();
    if (device.info().features.find("avx512f") == std::string::npos)
        GTEST_SKIP() << "without AVX-512 images smaller than filters are the reference's, which holds its own";
    const std::uint64_t empty = device.bytes_allocated();
    const vae::Latents clip = stream::testing::small_clip(3);
    const auto first = session->decode(clip).value();
    const std::uint64_t one = device.bytes_allocated() - empty;
    const vae::StackMemory memory = first->facts().memory;
    EXPECT_LE(one, memory.parameters + memory.clip());
    const auto second = session->decode(clip).value();
    const std::uint64_t of_the_second = device.bytes_allocated() - empty - one;
    EXPECT_LE(of_the_second, memory.clip());
    EXPECT_EQ(of_the_second, one - memory.parameters);
}

TEST(Sessions, KeepABudgetOfWhatAStreamStatesFramesIncluded) {
    const vae::Latents clip = stream::testing::small_clip(4);
    const auto open_with = [](std::uint64_t bytes) {
        return open({.device = "cpu", .hooks = {.log = {}, .host = {}, .budget = {.bytes = bytes, .on_pressure = {}}}});
    };
    const auto unlimited = open();
    const auto wanted = frames_of(*unlimited->decode(clip).value());
    const std::uint64_t stated = unlimited->decode(clip).value()->facts().memory.total();
    const auto session = open_with(stated);
    const auto stream = session->decode(clip);
    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_EQ((*stream)->facts().memory.bands, 1);
    EXPECT_EQ(frames_of(**stream), wanted);
    EXPECT_LE(session->device().peak_bytes(), stated);
    // Frames of which there are too many are no less part of it.
    const auto second = open_with(stated);
    const auto refused = second->decode(clip, {.slots = 4000});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_LE(second->device().peak_bytes(), stated);
}

TEST(Sessions, StateABudgetThatSufficesWhicheverAllocationASmallerOneEnds) {
    vae::Latents clip{"clip", 16, 4, 32, 32, {}, 25.0, 0};
    clip.values.resize(static_cast<std::size_t>(16 * 4 * 32 * 32), 0.5F);
    const auto refusal = [&](std::uint64_t mib) -> std::string {
        const auto session = open(
            {.device = "cpu", .hooks = {.log = {}, .host = {}, .budget = {.bytes = mib << 20U, .on_pressure = {}}}});
        const auto stream = session->decode(clip);
        if (stream) return "";
        EXPECT_EQ(stream.error().code, ErrorCode::OutOfMemory);
        EXPECT_LE(session->device().peak_bytes(), mib << 20U);
        return stream.error().message;
    };
    const std::string stated = refusal(1);
    std::smatch least;
    ASSERT_TRUE(std::regex_search(stated, least,
                                  std::regex("^decoding 32x32 latents needs [0-9]+ MiB, and ([0-9]+) in the "
                                             "[0-9]+ bands that need least \\(transients .*, histories .*, the "
                                             "model's parameters .*, latents and frames .*\\); the budget of "
                                             "1\\.0 MiB on .* leaves 1$")))
        << stated;
    const std::uint64_t enough = std::stoull(least[1]);
    ASSERT_GT(enough, 2U);
    const std::string figures = stated.substr(0, stated.find(';'));
    for (const std::uint64_t mib : {enough / 2, enough - 1}) {
        const std::string refused = refusal(mib);
        EXPECT_TRUE(refused.starts_with(figures)) << mib << ": " << refused;
    }
    EXPECT_EQ(refusal(enough), "");
}

TEST(Sessions, SayWhyNoConvolutionTakesThePreferredBackEnd) {
    std::string warned;
    const auto decode_with = [&](const std::string& backend) {
        warned.clear();
        const auto session = open({.device = "cpu",
                                   .hooks = {.log = Log([&](LogLevel level, std::string_view message) {
                                                 if (level == LogLevel::Warning) warned += message;
                                             }),
                                             .host = {},
                                             .budget = {}},
                                   .model = {.preferred_backend = backend}});
        for (int clips = 0; clips < 2; ++clips) ASSERT_TRUE(session->decode(stream::testing::small_clip(2)));
    };
    decode_with("q-slice-sm80");
    EXPECT_TRUE(
        warned.starts_with("synthetic:wan2.1,dim=2: no convolution takes the preferred back end q-slice-sm80: wants "
                           "a CUDA device"))
        << warned;
    EXPECT_EQ(warned.find("preferred", warned.find("preferred") + 1), std::string::npos) << "once a model: " << warned;
    decode_with("reference-cpu");
    EXPECT_EQ(warned, "");
}

TEST(Sessions, OpenAndDecodeWithinTheLimitsOfACall) {
    std::stop_source source;
    const CallLimits limits{.until = host_now() + kLong * 10, .stop = source.get_token()};
    const std::string weights = test::source_tree() / "assets" / "demo_vae.safetensors";
    ASSERT_TRUE(Session::open(weights, {.device = "cpu", .limits = limits}));
    const auto session = open();
    const vae::Latents clip = stream::testing::small_clip(2);
    ASSERT_TRUE(session->decode(clip, {.limits = limits}));
    source.request_stop();
    const auto unopened = Session::open(weights, {.device = "cpu", .limits = limits});
    ASSERT_FALSE(unopened);
    EXPECT_EQ(unopened.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(unopened.error().message, weights + ": a stop was requested");
    const std::uint64_t before = session->device().bytes_allocated();
    const auto undecoded = session->decode(clip, {.limits = limits});
    ASSERT_FALSE(undecoded);
    EXPECT_EQ(undecoded.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(session->device().bytes_allocated(), before);
}

TEST(Sessions, TellTheApplicationsLogAndTakeItsMemoryForWeightsAndArenas) {
    std::atomic<std::size_t> held{0}, largest{0};
    std::vector<std::string> messages;
    std::mutex mutex;
    {
        const auto session = open({.device = "cpu",
                                   .hooks = {.log = Log([&](LogLevel, std::string_view message) {
                                                 const std::lock_guard lock(mutex);
                                                 messages.emplace_back(message);
                                             }),
                                             .host = {.allocate =
                                                          [&](std::size_t bytes, std::size_t alignment) {
                                                              largest = std::max(largest.load(), held += bytes);
                                                              return std::aligned_alloc(alignment, bytes);
                                                          },
                                                      .release =
                                                          [&](void* memory, std::size_t bytes) {
                                                              held -= bytes;
                                                              std::free(memory);
                                                          }}}});
        const auto stream = session->decode(stream::testing::small_clip(4)).value();
        EXPECT_EQ(frames_of(*stream).size(), 13U);
        EXPECT_EQ(largest, session->device().peak_bytes());
    }
    EXPECT_EQ(held, 0U);
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_TRUE(messages[0].starts_with("opened synthetic:wan2.1,dim=2 \u00b7 fp32 \u00b7 ")) << messages[0];
}

TEST(Sessions, AreOutlivedByTheirStreams) {
    auto session = open();
    const auto stream = session->decode(stream::testing::small_clip(4)).value();
    session.reset();
    EXPECT_EQ(frames_of(*stream).size(), 13U);
}

TEST(Sessions, LeaveOtherStreamsAloneWhenOneFails) {
    const auto session = open();
    const vae::Latents clip = stream::testing::small_clip(4);
    vae::Latents broken = clip;
    broken.values[1 * 2] = std::numeric_limits<float>::quiet_NaN();  // channel 0, frame 1
    const auto failing = session->decode(broken).value(), well = session->decode(clip).value();
    const auto first = failing->take(kLong);
    ASSERT_TRUE(first && *first);
    const auto error = failing->take(kLong);
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().message, "latent frame 1: value nan at channel 0, pixel 0 is not finite");
    EXPECT_EQ(frames_of(*well),
              stream::testing::expected_frames(*stream::testing::small_decoder(session->device()), clip));
    ASSERT_TRUE(failing->release(**first));
}

TEST(Sessions, TakeLatentsAsTheyAreMade) {
    const auto session = open();
    const vae::Latents clip = stream::testing::small_clip(3);
    const auto source = session->decode(vae::LatentSize{clip.height, clip.width}, {.fps = 25}).value();
    const auto wanted = stream::testing::expected_frames(*stream::testing::small_decoder(session->device()), clip);
    std::size_t next = 0;
    for (std::int64_t t = 0; t < 3; ++t) {
        const auto pushed = source.latents->push(clip.frame(t), kLong);
        ASSERT_TRUE(pushed) << pushed.error().message;
        ASSERT_TRUE(*pushed);
        for (; next < static_cast<std::size_t>(4 * t + 1); ++next) {
            const auto frame = source.frames->take(kLong);
            ASSERT_TRUE(frame && *frame);
            EXPECT_EQ((*frame)->label.presentation_time, next * std::chrono::milliseconds(40));
            EXPECT_EQ(std::memcmp((*frame)->host.data(), wanted[next].data(), wanted[next].size()), 0) << next;
            ASSERT_TRUE(source.frames->release(**frame));
        }
    }
}

/// With their models, devices and streams; KINETOGRAPH_SOAK_ROUNDS scales their number.
TEST(Sessions, ThatComeAndGoLeaveNothing) {
    const vae::Latents clip = stream::testing::small_clip(2);
    interop::testing::expect_nothing_grows({}, 2, interop::testing::soak_rounds(10), [&] {
        const auto session = open();
        const auto stream = session->decode(clip).value();
        const auto frame = stream->take(kLong);
        ASSERT_TRUE(frame && *frame);
        ASSERT_TRUE(stream->release(**frame));
    });
}

TEST(Sessions, MeasureTheRooflinesOfTheirDeviceWhereTheyAreAskedTo) {
    profile::Recorder recorder;
    ASSERT_TRUE(Session::open(kWeights, {.device = "cpu", .recorder = &recorder}));
    EXPECT_TRUE(recorder.ceilings().empty());
    ASSERT_TRUE(Session::open(kWeights, {.device = "cpu", .recorder = &recorder, .measure_ceiling = true}));
    ASSERT_EQ(recorder.ceilings().size(), 1U);
    const auto [track, ceiling] = recorder.ceilings().front();
    EXPECT_EQ(recorder.names().text(track), "accelerator");
    EXPECT_GT(ceiling.operations_per_second, 1e6);
    EXPECT_GT(ceiling.bytes_per_second, 1e6);
    EXPECT_NE(ceiling.source.find("32x32x256 bf16"), std::string::npos) << ceiling.source;
}

TEST(Sessions, SayWhatTheyAre) {
    EXPECT_EQ(open()->description().rfind("synthetic:wan2.1,dim=2 \u00b7 fp32 \u00b7 ", 0), 0U);
}

TEST(Sessions, SayWhatIsWrong) {
    const auto nothing = Session::open("/nowhere/vae.safetensors");
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.error().message.find("/nowhere/vae.safetensors"), std::string::npos);
    const auto no_lane = Session::open(kWeights, {.device = "gpu"});
    ASSERT_FALSE(no_lane);
    EXPECT_TRUE(no_lane.error().message.starts_with("lane gpu: there are cpu, cuda")) << no_lane.error().message;
    const auto session = open();
    const auto no_file = session->decode(std::filesystem::path("/nowhere/clip.safetensors"));
    ASSERT_FALSE(no_file);
    EXPECT_NE(no_file.error().message.find("/nowhere/clip.safetensors"), std::string::npos);
    const auto no_image = session->decode(stream::testing::small_clip(1), {.storage = interop::FrameStorage::Image});
    ASSERT_FALSE(no_image);
    EXPECT_EQ(no_image.error().message, "frames as images: the session was opened without Vulkan");
    vae::Latents wrong = stream::testing::small_clip(1);
    wrong.channels = 48;
    const auto channels = session->decode(wrong);
    ASSERT_FALSE(channels);
    EXPECT_EQ(
        channels.error().message,
        "clip has 48 latent channels, synthetic:wan2.1,dim=2 is a Wan 2.1 VAE and takes 16 (48 channels are latents of "
        "Wan 2.2)");
}

}  // namespace
}  // namespace kinetograph::session
