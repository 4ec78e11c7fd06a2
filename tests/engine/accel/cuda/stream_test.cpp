// What of CUDA's streams HIP's have not: clusters, shared memory by request, callers' streams, PTX. The rest is in
// driver_stream_test.cpp.
#include "gpu_fixture.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/engine/accel/scaled_values.hpp>

#include <cstdlib>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

using standin::ScaleAddParams;

using CudaStreams = ScaledArrays<Gpu>;

TEST_F(CudaStreams, KernelsSayTheirRegistersSpillsAndArguments) {
    EXPECT_GT(scale_add->info().registers.value_or(0), 0U);
    EXPECT_EQ(scale_add->info().scratch_bytes, 0U);
    EXPECT_EQ(scale_add->info().argument_bytes, sizeof(ScaleAddParams));
}

TEST_F(CudaStreams, RefuseTooMuchSharedMemoryAndArgumentsOfAnotherSizeThanTheKernels) {
    const ScaleAddParams given = params(*a, *b, 1, 0);
    const std::uint32_t shared = device->info().shared_bytes_per_block;
    Launch launch{.name = "conv1",
                  .kernel = *scale_add,
                  .grid = {4},
                  .block = {256},
                  .dynamic_shared_bytes = shared + 1,
                  .arguments = bytes_of(given)};
    EXPECT_EQ(message_of_launch(launch),
              fmt::format("conv1: launching \"standin_scale_add\": a block with {} bytes of shared memory, {} has {}",
                          shared + 1, device_name(), shared));
    launch.dynamic_shared_bytes = 0;
    const std::uint64_t wrong = 0;
    launch.arguments = bytes_of(wrong);
    EXPECT_EQ(message_of_launch(launch),
              "conv1: launching \"standin_scale_add\": 8 bytes of arguments, the kernel takes 32");
    EXPECT_EQ(calls("cuLaunchKernelEx"), 0U);
}

TEST_F(CudaStreams, RefuseClustersThatDoNotDivideTheGrid) {
    const ScaleAddParams given = params(*a, *b, 1, 0);
    const Launch launch{.name = "conv1",
                        .kernel = *scale_add,
                        .grid = {5},
                        .block = {256},
                        .cluster = {2},
                        .arguments = bytes_of(given)};
    const std::string message = message_of_launch(launch);
    if (device->info().architecture < std::string("sm_90")) {
        EXPECT_EQ(message, "conv1: launching \"standin_scale_add\": a cluster of 2 x 1 x 1 blocks: " +
                               device->info().architecture + " devices have no clusters");
    } else {
        EXPECT_EQ(message,
                  "conv1: launching \"standin_scale_add\": a grid of 5 x 1 x 1 blocks does not divide into clusters of "
                  "2 x 1 x 1");
    }
}

TEST_F(CudaStreams, LaunchWithMoreDynamicSharedMemoryThanDriversGiveUnasked) {
    const auto sum = *module->kernel("sum_in_shared");
    const std::uint32_t bytes = device->info().shared_bytes_per_block, count = bytes / sizeof(float);
    const auto in = *device->allocate("in", bytes);
    const std::vector<float> ones(count, 1.F);
    ASSERT_TRUE(stream->upload(in->data(), std::as_bytes(std::span(ones))));
    const SharedSumParams given{reinterpret_cast<const float*>(in->data()), reinterpret_cast<float*>(b->data()), count};
    stream->launch({.name = "sum",
                    .kernel = *sum,
                    .grid = {1},
                    .block = {256},
                    .dynamic_shared_bytes = bytes,
                    .arguments = bytes_of(given)});
    EXPECT_EQ(read(*b).at(0), static_cast<float>(count));
}

TEST_F(CudaStreams, LaunchInClusters) {
    if (device->info().architecture < std::string("sm_90")) GTEST_SKIP() << "no clusters";
    const auto rank = *module->kernel("write_cluster_rank");
    if (real() && kinetograph::cuda::fat_binary_compiler().find("sm_90") == std::string_view::npos)
        GTEST_SKIP() << kinetograph::cuda::fat_binary_compiler() << ": the kernel knows no clusters";
    for (const std::uint32_t size : {2U, 4U, 8U, 16U}) {
        const ClusterRankParams given{reinterpret_cast<std::uint32_t*>(b->data())};
        stream->launch({.name = "ranks",
                        .kernel = *rank,
                        .grid = {32},
                        .block = {32},
                        .cluster = {size},
                        .arguments = bytes_of(given)});
        std::vector<std::uint32_t> ranks(32);
        const auto done = stream->read_back(std::as_writable_bytes(std::span(ranks)), b->data());
        ASSERT_TRUE(done) << message_of(done);
        for (std::uint32_t block = 0; block < 32; ++block) EXPECT_EQ(ranks[block], block % size) << size;
    }
}

/// A stream that the application has made by the driver or the CUDA runtime.
class CallersStream {
  public:
    explicit CallersStream(const std::string& library) : driver_(*Driver::open(library)) {
        EXPECT_EQ(cuda().cuDevicePrimaryCtxRetain(&primary_, 0), Status::Success);
        EXPECT_EQ(cuda().cuCtxPushCurrent_v2(primary_), Status::Success);
        EXPECT_EQ(cuda().cuStreamCreate(&stream_, kStreamNonBlocking), Status::Success);
    }
    ~CallersStream() {
        EXPECT_EQ(cuda().cuStreamDestroy_v2(stream_), Status::Success) << "it is still there";
        EXPECT_EQ(cuda().cuCtxPopCurrent_v2(&primary_), Status::Success);
        EXPECT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(0), Status::Success);
    }
    CallersStream(const CallersStream&) = delete;
    CallersStream& operator=(const CallersStream&) = delete;
    StreamHandle handle() const { return stream_; }
    void clear(const Memory& memory, std::size_t bytes) const {
        EXPECT_EQ(cuda().cuMemsetD8Async(reinterpret_cast<DeviceAddress>(memory.data()), 0, bytes, stream_),
                  Status::Success);
    }

  private:
    const EntryPoints& cuda() const { return driver_->entry_points(); }
    std::shared_ptr<const Driver> driver_;
    ContextHandle primary_ = nullptr;
    StreamHandle stream_ = nullptr;
};

TEST_F(CudaStreams, AStreamOfTheCallersTakesOurWorkInItsOrderAndStaysTheCallers) {
    const CallersStream theirs(library);
    {
        auto adopted = device->adopt_stream("the caller's", theirs.handle());
        ASSERT_TRUE(adopted) << message_of(adopted);
        enqueue(**adopted, "ours", params(*a, *b, 2, 0));
        theirs.clear(*b, 4 * sizeof(float));
        EXPECT_TRUE((*adopted)->synchronize());
    }
    const auto values = read(*b);
    EXPECT_EQ(values.at(3), 0.F);
    EXPECT_EQ(values.at(4), 8.F);
}

TEST_F(CudaStreams, AStreamOfTheCallersMayBeDestroyedWhileItsSignalsAreWaitedFor) {
    auto theirs = std::make_unique<CallersStream>(library);
    const auto made = *device->create_timeline(), asked = *device->create_timeline();
    auto adopted = std::move(*device->adopt_stream("the caller's", theirs->handle()));
    adopted->wait(asked, 1);
    enqueue(*adopted, "ours", params(*a, *b, 2, 0));
    adopted->signal(made, 1);
    std::thread ends([&] { adopted.reset(); });
    asked->signal(1);
    ends.join();
    EXPECT_EQ(made->value(), 1U);

    adopted = std::move(*device->adopt_stream("the caller's", theirs->handle()));
    adopted->signal(made, 2);
    ASSERT_TRUE(made->wait(2));
    theirs.reset();
    adopted.reset();  // the fixture counts complaints about streams that are not there
}

/// Ends the process, with 0 if the adopted stream ends although its signal does not come, and its timeline stays.
void give_up_an_adopted_stream(const std::string& library) {
    const auto device = create_device({.library = library}).value();
    const auto* const theirs = new CallersStream(library);
    const auto asked = device->create_timeline().value();
    auto made = device->create_timeline().value();
    const std::weak_ptr<Timeline> written = made;
    made->set_name("what is made");
    auto adopted = device->adopt_stream("the caller's", theirs->handle()).value();
    adopted->wait(asked, 1);
    adopted->signal(made, 1);
    made.reset();
    std::thread([] {
        std::this_thread::sleep_for(5 * graph::kPatience);
        std::_Exit(2);
    }).detach();
    adopted.reset();
    asked->signal(1);
    const auto kept = written.lock();
    const bool told =
        kept != nullptr &&
        message_of(kept->status()) == "stream \"the caller's\" was given up at value 0 of what is made, before value 1";
    std::_Exit(told && kept->wait(1, std::chrono::seconds(10)) ? 0 : 1);
}

TEST_F(CudaStreams, AStreamOfTheCallersIsGivenUpWhoseSignalDoesNotCome) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(give_up_an_adopted_stream(library), testing::ExitedWithCode(0), "");
}

TEST_F(CudaStreams, AStreamOfTheCallersHandsOverByATimelineAndTheHostNeverWaits) {
    const CallersStream theirs(library);
    const auto written = *device->create_timeline(), taken = *device->create_timeline();
    const auto adopted = std::move(*device->adopt_stream("the caller's", theirs.handle()));
    for (std::uint64_t step = 1; step <= 20; ++step) {
        adopted->wait(taken, step - 1);
        theirs.clear(*a, kCount * sizeof(float));
        adopted->signal(written, step);
        stream->wait(written, step);
        enqueue(*stream, "latent", params(*a, *b, 1, static_cast<float>(step)));
        enqueue(*stream, "spoil", params(*b, *a, 1, 0));
        stream->signal(taken, step);
    }
    EXPECT_EQ(read(*b).at(5), 20.F);
}

TEST_F(CudaStreams, TheDefaultStreamIsAdoptedTooAndCannotBeCaptured) {
    auto adopted = device->adopt_stream("default", nullptr);
    ASSERT_TRUE(adopted) << message_of(adopted);
    enqueue(**adopted, "ours", params(*a, *b, 2, 0));
    EXPECT_TRUE((*adopted)->synchronize());
    EXPECT_EQ(read(*b).at(4), 8.F);
    EXPECT_EQ(message_of((*adopted)->begin_capture()),
              "capturing stream \"default\": cuStreamBeginCapture: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)");
}

TEST_F(CudaStreams, ErrorsOfPtxCarryTheCompilersLog) {
    const std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.entry broken() { nonsense; }\n";
    const auto refused = device->load("broken", std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Corrupt);
    EXPECT_TRUE(refused.error().message.starts_with("loading \"broken\" on " + device_name() +
                                                    ": cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218) (\"ptxas "))
        << message_of(refused);
}

}  // namespace
}  // namespace kinetograph::accel::cuda
