// The shared topology with the CUDA lane, end to end: latents in CUDA memory, frames in images and buffers of Vulkan's.
#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/frame_source.hpp>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/accel/cuda/entry_points.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>
#include <kinetograph/tests/engine/interop/cuda_side.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace kinetograph::stream {
namespace {

using testing::FrameRecord;
using testing::FrameRingDesc;
using testing::small_clip;
using testing::small_decoder;
using testing::small_model;

constexpr std::int64_t kLatents = 3;
constexpr int kRounds = 2;
constexpr std::int64_t kWidth = 1;  // latent pixels: as small as can be, for a model of a GPU
constexpr std::uint64_t kLatentBytes = 16 * testing::kHeight * kWidth * sizeof(float);

constexpr std::chrono::seconds kSoon{60};  // a model of a GPU takes its time

class CudaStreams : public testing::StreamTest, public ::testing::WithParamInterface<FrameRingDesc::Storage> {
  protected:
    /// Without synchronization checks: timelines are signalled while tests wait.
    void set_up(vulkan::Validation validation = vulkan::Validation::WithoutSynchronization) {
        validation_ = validation;
        ASSERT_NO_FATAL_FAILURE(open(cuda_));
        if (IsSkipped()) return;
        clip_ = small_clip(kLatents, kWidth);
        expected_ = testing::expected_frames(*small_decoder(*accelerator_, kWidth), clip_);
        stream_ = accelerator_->create_stream("who makes latents").value();
        latents_ = accelerator_->allocate("latents of the test", kLatents * kLatentBytes).value();
        for (std::int64_t t = 0; t < kLatents; ++t) write(t, clip_.frame(t));
        auto decoder =
            Stepper::create(*bridge_, small_model(*accelerator_), {testing::kHeight, kWidth},
                            {.storage = GetParam(), .slots = 8, .copies = vae::Copies::Ahead, .recorder = &recorder_});
        ASSERT_TRUE(decoder) << decoder.error().message;
        decoder_ = std::move(*decoder);
    }
    void release() override {
        decoder_.reset();
        stream_.reset();
        latents_.reset();
        StreamTest::release();
    }
    void TearDown() override {
        StreamTest::TearDown();
        EXPECT_EQ(cuda_.complaints(), "");
    }
    std::byte* at(std::int64_t t) const { return latents_->data() + static_cast<std::uint64_t>(t) * kLatentBytes; }
    void write(std::int64_t t, const std::vector<float>& values) {
        ASSERT_TRUE(stream_->upload(at(t), std::as_bytes(std::span(values))));
    }
    void step(std::int64_t t, const interop::TimelinePoint& ready = {}) {
        const auto stepped = decoder_->step({at(t), kLatentBytes, ready}, kSoon);
        ASSERT_TRUE(stepped) << stepped.error().message;
        ASSERT_EQ(*stepped, Stepped::Enqueued);
    }
    /// Takes the frames of the steps so far, compares them, and gives them back.
    void expect_frames(std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i) {
            const auto record = decoder_->ring().try_take();
            ASSERT_TRUE(record) << i;
            EXPECT_EQ(read(*record), expected_[i]) << i;
            ASSERT_TRUE(decoder_->ring().release(*record, {}));
        }
    }
    void drop_frames() {
        while (const auto record = decoder_->ring().try_take()) {
            ASSERT_TRUE(bridge_->wait(record->ready));
            ASSERT_TRUE(decoder_->ring().release(*record, {}));
        }
    }
    std::map<std::string, std::uint64_t> driver_calls() const {
        std::map<std::string, std::uint64_t> calls;
        for (const auto* entry_point : accel::cuda::driver_calls(*accelerator_)->all())
            calls[entry_point->symbol()] = entry_point->calls();
        return calls;
    }

    interop::testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
    profile::Recorder recorder_{4096};  ///< full before the soak looks at memory
    vae::Latents clip_;
    std::vector<std::vector<std::uint8_t>> expected_;
    std::unique_ptr<accel::Stream> stream_;
    std::unique_ptr<accel::Memory> latents_;
    std::unique_ptr<Stepper> decoder_;
};

TEST_P(CudaStreams, ReadersOnVulkanSeeThePixelsOfTheBlockingDecoderAlsoFromReplays) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const auto made = accelerator_->create_timeline().value();
    write(0, std::vector<float>(kLatentBytes / sizeof(float), 0.5F));  // not yet what is to be decoded
    ASSERT_NO_FATAL_FAILURE(step(0, {VK_NULL_HANDLE, made, 7}));       // all of it is submitted, Vulkan's part too
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(decoder_->ring().try_take_ready());
    write(0, clip_.frame(0));
    stream_->signal(made, 7);
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 1));
    for (int round = 0; round < kRounds; ++round) {
        for (std::int64_t t = 1; t < kLatents; ++t) {
            ASSERT_NO_FATAL_FAILURE(step(t));
            ASSERT_NO_FATAL_FAILURE(expect_frames(4 * t - 3, 4 * t + 1));
        }
        ASSERT_TRUE(decoder_->begin_clip(0));
        ASSERT_NO_FATAL_FAILURE(step(0));
        ASSERT_NO_FATAL_FAILURE(expect_frames(0, 1));
    }
    EXPECT_TRUE(decoder_->status());
}

/// Everything that a step asks of the CUDA driver, and what it must not ask.
TEST_P(CudaStreams, ASteadyStepIsAHandfulOfCallsAndNeitherWaitsNorAllocatesNorCopies) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const int steps = cuda_.real() ? 200 : 2;
    auto& faults = vulkan::testing::faults();
    const auto gate = accelerator_->create_timeline().value();
    ASSERT_NO_FATAL_FAILURE(step(0));
    // As many steps in flight as the slots allow: pools are as large afterwards as they will ever be.
    ASSERT_NO_FATAL_FAILURE(step(1, {VK_NULL_HANDLE, gate, 1}));
    stream_->signal(gate, 1);
    ASSERT_NO_FATAL_FAILURE(drop_frames());
    // Rings of three, two and three steps' length: captured once for each of six places.
    for (int i = 0; i < (cuda_.real() ? 50 : 6); ++i) {
        ASSERT_NO_FATAL_FAILURE(step(i % kLatents));
        ASSERT_NO_FATAL_FAILURE(drop_frames());
    }
    auto before = driver_calls();
    faults.allocations = faults.objects = faults.waits = 0;
    Nanoseconds host{};
    for (int i = 0; i < steps; ++i) {
        faults.watched = std::this_thread::get_id();
        const Nanoseconds begin = host_now();
        ASSERT_NO_FATAL_FAILURE(step(i % kLatents));
        host += host_now() - begin;
        faults.watched = std::thread::id{};
        ASSERT_NO_FATAL_FAILURE(drop_frames());
    }
    const auto after = driver_calls();
    EXPECT_EQ(faults.allocations.load(), 0);
    EXPECT_EQ(faults.objects.load(), 0);
    EXPECT_EQ(faults.waits.load(), 0);
    std::map<std::string, double> a_step;
    for (const auto& [symbol, calls] : after)
        if (calls != before[symbol]) a_step[symbol] = static_cast<double>(calls - before[symbol]) / steps;
    std::string text;
    for (const auto& [symbol, calls] : a_step) text += fmt::format("{} {:.1f}\n", symbol, calls);
    RecordProperty("calls_a_step", text);
    RecordProperty("host_us_a_step", std::to_string(host.count() / 1000 / steps));
    fmt::print("{}host work of a step: {} us\n", text, host.count() / 1000 / steps);
    // Without the driver's version suffixes. cuEventSynchronize is the clock's thread, which belongs to no step.
    for (const std::string_view forbidden : {"cuMem", "cuStreamSynchronize", "cuStreamCreate", "cuStreamBeginCapture",
                                             "cuEventCreate", "cuGraphInstantiate", "cuGraphUpload", "cuLaunchHostFunc",
                                             "cuModule", "cuFunc", "cuImport", "cuExternalMemory"})
        for (const auto& [symbol, calls] : a_step)
            EXPECT_FALSE(symbol.starts_with(forbidden)) << symbol << ' ' << calls;
    EXPECT_EQ(a_step["cuLaunchKernelEx"], 2.0) << "the two ends, which move from step to step";
    EXPECT_EQ(a_step["cuGraphLaunch"], 1.0) << "all between the ends";
}

std::uint64_t resident_pages() {
    std::uint64_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return resident;
}
std::size_t open_files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_P(CudaStreams, TenThousandStepsNeitherGrowNorDrift) {
    if (!cuda_.real()) GTEST_SKIP() << "a soak of the real driver; ring_decoder_test has one of the CPU";
    ASSERT_NO_FATAL_FAILURE(set_up(vulkan::Validation::Off));  // the layers grow with every submission
    if (IsSkipped()) return;
    constexpr int kWarmUp = 1000, kSteps = 10'000;
    std::optional<interop::TimelinePoint> before;
    std::uint64_t stride = 0;
    const auto run = [&](int steps) {
        for (int i = 0; i < steps; ++i) {
            ASSERT_NO_FATAL_FAILURE(step(i % kLatents));
            while (const auto record = decoder_->ring().try_take()) {
                const interop::TimelinePoint ready = record->ready;
                if (before && ready.value != before->value) {
                    if (stride == 0) stride = ready.value - before->value;
                    ASSERT_EQ(ready.value - before->value, stride);
                }
                before = ready;
                ASSERT_TRUE(decoder_->ring().release(*record, ready));  // after the frame itself: steps run ahead
            }
        }
        ASSERT_TRUE(bridge_->wait(*before));
    };
    ASSERT_NO_FATAL_FAILURE(step(0));
    ASSERT_NO_FATAL_FAILURE(drop_frames());
    ASSERT_NO_FATAL_FAILURE(run(kWarmUp));
    const auto resident = resident_pages(), on_device = accelerator_->bytes_allocated(),
               in_vulkan = display_->memory().bytes_held();
    const auto files = open_files();
    recorder_.clear();
    const Nanoseconds begin = host_now();
    ASSERT_NO_FATAL_FAILURE(run(kSteps));
    const double seconds = std::chrono::duration<double>(host_now() - begin).count();
    EXPECT_TRUE(decoder_->status());
    EXPECT_EQ(accelerator_->bytes_allocated(), on_device);
    EXPECT_EQ(display_->memory().bytes_held(), in_vulkan);
    EXPECT_EQ(open_files(), files);
    EXPECT_LT(resident_pages(), resident + 1024) << "4 MiB, of 40 bytes a step";
    ASSERT_TRUE(*vulkan::wait_timeline(*display_, before->semaphore, before->value, std::chrono::seconds(10)));
    std::uint64_t value = 0;
    display_->table().vkGetSemaphoreCounterValue(display_->handle(), before->semaphore, &value);
    EXPECT_EQ(value, before->value);
    std::vector<Nanoseconds> host;
    for (const auto& span : recorder_.spans())
        if (span.track == "host") host.push_back(span.end - span.begin);
    std::sort(host.begin(), host.end());
    ASSERT_FALSE(host.empty());
    fmt::print(
        "{} steps in {:.2f} s, {:.1f} us each; host's work of a step: median {} us, 99 % {} us; {} values a step\n",
        kSteps, seconds, 1e6 * seconds / kSteps, host[host.size() / 2].count() / 1000,
        host[host.size() * 99 / 100].count() / 1000, stride);
}

INSTANTIATE_TEST_SUITE_P(Storage, CudaStreams,
                         ::testing::Values(FrameRingDesc::Storage::Image, FrameRingDesc::Storage::Buffer),
                         [](const auto& storage) {
                             return storage.param == FrameRingDesc::Storage::Image ? "Images" : "Buffers";
                         });

}  // namespace
}  // namespace kinetograph::stream
