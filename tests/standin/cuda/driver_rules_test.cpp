// The stand-in enforces the rules of the CUDA driver that the lane depends on, and names the rule that was broken. A
// driver's answers are the same from the driver that KINETOGRAPH_CUDA_LIBRARY names:
// KINETOGRAPH_CUDA_LIBRARY=libcuda.so.1 tests the machine's GPU.
#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cuda/driver.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

std::string library_under_test() {
    const char* chosen = std::getenv("KINETOGRAPH_CUDA_LIBRARY");
    return chosen != nullptr && *chosen != '\0' ? chosen : KINETOGRAPH_STANDIN_CUDA_LIBRARY;
}

/// Null if `library` is a real driver.
standin::Control* control_of(const std::string& library) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void* control = handle != nullptr ? ::dlsym(handle, standin::kControlSymbol) : nullptr;
    return control != nullptr ? reinterpret_cast<standin::ControlFunction>(control)() : nullptr;
}

/// The driver with the context of device 0 current.
struct CudaRules : testing::Test {
    const std::string library = library_under_test();
    standin::Control* const control = control_of(library);
    std::shared_ptr<const Driver> driver;
    ContextHandle context = nullptr;
    StreamHandle stream = nullptr;

    void SetUp() override { start({}); }
    bool real() const { return control == nullptr; }
    void start(const standin::Options& options) {
        if (driver != nullptr) stop();
        if (control != nullptr) control->reset(options);
        auto opened = Driver::open(library);
        if (!opened && real()) GTEST_SKIP() << opened.error().message;
        driver = *opened;
        ASSERT_EQ(cuda().cuDevicePrimaryCtxRetain(&context, 0), Status::Success);
        ASSERT_EQ(cuda().cuCtxPushCurrent_v2(context), Status::Success);
        ASSERT_EQ(cuda().cuStreamCreate(&stream, kStreamNonBlocking), Status::Success);
    }
    void stop() {
        (void)cuda().cuStreamDestroy_v2(stream);
        (void)cuda().cuCtxPopCurrent_v2(&context);
        (void)cuda().cuDevicePrimaryCtxRelease_v2(0);
        driver.reset();
    }
    void TearDown() override {
        if (driver != nullptr) stop();
        if (real()) return;
        EXPECT_EQ(control->live(), standin::Live{});
        control->reset({});
    }

    const EntryPoints& cuda() const { return driver->entry_points(); }
    /// Checks the stand-in's newest complaint; a driver has none.
    void expect_complaint(std::string_view sentence) const {
        if (real()) return;
        const auto complaints = control->complaints();
        EXPECT_EQ(complaints.empty() ? "no complaint" : complaints.back(), sentence);
    }
    const void* test_kernels() const {
        return real() ? kinetograph::cuda::fat_binary("test_kernels").data() : standin::placeholder_image().data();
    }
    /// The result of an allocation on the calling thread; frees the memory.
    Status allocate() const {
        DeviceAddress memory = 0;
        const Status status = cuda().cuMemAlloc_v2(&memory, 256);
        if (status == Status::Success) {
            EXPECT_EQ(cuda().cuMemFree_v2(memory), Status::Success);
        }
        return status;
    }
    Status allocate_elsewhere() const {
        Status status = Status::Unknown;
        std::thread([&] {
            ContextHandle popped = nullptr;
            ASSERT_EQ(cuda().cuCtxPushCurrent_v2(context), Status::Success);
            status = allocate();
            ASSERT_EQ(cuda().cuCtxPopCurrent_v2(&popped), Status::Success);
        }).join();
        return status;
    }
    Status begin(CaptureMode mode) const { return cuda().cuStreamBeginCapture_v2(stream, mode); }
    Status end() const {
        GraphHandle graph = nullptr;
        const Status status = cuda().cuStreamEndCapture(stream, &graph);
        if (graph != nullptr) {
            EXPECT_EQ(cuda().cuGraphDestroy(graph), Status::Success);
        }
        return status;
    }
};

/// Tests that need a stand-in.
struct StandinCuda : CudaRules {
    void SetUp() override {
        if (real()) GTEST_SKIP() << "a real driver poses as nothing and fails at no word";
        CudaRules::SetUp();
    }
};

TEST_F(CudaRules, WantsAContextOnEveryThread) {
    ASSERT_EQ(cuda().cuCtxPopCurrent_v2(&context), Status::Success);
    EXPECT_EQ(allocate(), Status::InvalidContext);
    expect_complaint("cuMemAlloc_v2 while no context is current");
    ASSERT_EQ(cuda().cuCtxPushCurrent_v2(context), Status::Success);
    EXPECT_EQ(allocate(), Status::Success);
    std::thread([&] { EXPECT_EQ(allocate(), Status::InvalidContext); }).join();
}

TEST_F(StandinCuda, WantsTheContextThatAnObjectBelongsTo) {
    start({.devices = 2});
    ContextHandle other = nullptr;
    ASSERT_EQ(cuda().cuDevicePrimaryCtxRetain(&other, 1), Status::Success);
    ASSERT_EQ(cuda().cuCtxPushCurrent_v2(other), Status::Success);
    EXPECT_EQ(cuda().cuStreamQuery(stream), Status::InvalidHandle);
    expect_complaint("cuStreamQuery of what belongs to device 0 while device 1 is current");
    ASSERT_EQ(cuda().cuCtxPopCurrent_v2(&other), Status::Success);
    ASSERT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(1), Status::Success);
}

TEST_F(StandinCuda, KnowsWhatHasBeenReleased) {
    DeviceAddress memory = 0;
    ASSERT_EQ(cuda().cuMemAlloc_v2(&memory, 256), Status::Success);
    EXPECT_EQ(cuda().cuMemsetD8Async(memory, 1, 257, stream), Status::InvalidValue);
    EXPECT_EQ(cuda().cuMemFree_v2(memory), Status::Success);
    EXPECT_EQ(cuda().cuMemFree_v2(memory), Status::InvalidValue);
    expect_complaint("cuMemFree of what is not allocated");
    EXPECT_EQ(cuda().cuMemsetD8Async(memory, 1, 256, stream), Status::InvalidValue);

    StreamHandle gone = nullptr;
    ASSERT_EQ(cuda().cuStreamCreate(&gone, kStreamNonBlocking), Status::Success);
    ASSERT_EQ(cuda().cuStreamDestroy_v2(gone), Status::Success);
    EXPECT_EQ(cuda().cuStreamSynchronize(gone), Status::InvalidHandle);
    expect_complaint("cuStreamSynchronize of what does not exist");
}

TEST_F(CudaRules, ForbidsACapturingThreadWhatWaitsForTheDevice) {
    ASSERT_EQ(begin(CaptureMode::ThreadLocal), Status::Success);
    EXPECT_EQ(allocate_elsewhere(), Status::Success);
    EXPECT_EQ(allocate(), Status::StreamCaptureUnsupported);
    expect_complaint("cuMemAlloc_v2 while a capture forbids it");
    EXPECT_EQ(end(), Status::StreamCaptureInvalidated);

    ASSERT_EQ(begin(CaptureMode::ThreadLocal), Status::Success);
    CaptureMode mode = CaptureMode::Relaxed;
    ASSERT_EQ(cuda().cuThreadExchangeStreamCaptureMode(&mode), Status::Success);
    EXPECT_EQ(allocate(), Status::Success);
    ASSERT_EQ(cuda().cuThreadExchangeStreamCaptureMode(&mode), Status::Success);
    EXPECT_EQ(mode, CaptureMode::Relaxed);
    EXPECT_EQ(end(), Status::Success);
}

TEST_F(CudaRules, AGlobalCaptureForbidsItEveryThread) {
    ASSERT_EQ(begin(CaptureMode::Global), Status::Success);
    EXPECT_EQ(allocate_elsewhere(), Status::StreamCaptureUnsupported);
    EXPECT_EQ(end(), Status::StreamCaptureInvalidated);
    ASSERT_EQ(begin(CaptureMode::Relaxed), Status::Success);
    EXPECT_EQ(allocate(), Status::Success);
    EXPECT_EQ(end(), Status::Success);
}

TEST_F(CudaRules, LetsACaptureEndWhereItBeganUnlessItIsRelaxed) {
    const auto end_elsewhere = [&] {
        Status status = Status::Unknown;
        std::thread([&] {
            ContextHandle popped = nullptr;
            ASSERT_EQ(cuda().cuCtxPushCurrent_v2(context), Status::Success);
            status = end();
            ASSERT_EQ(cuda().cuCtxPopCurrent_v2(&popped), Status::Success);
        }).join();
        return status;
    };
    ASSERT_EQ(begin(CaptureMode::ThreadLocal), Status::Success);
    EXPECT_EQ(begin(CaptureMode::ThreadLocal), Status::IllegalState);
    EXPECT_EQ(end(), Status::Success);
    EXPECT_EQ(end(), Status::IllegalState);
    ASSERT_EQ(begin(CaptureMode::ThreadLocal), Status::Success);
    EXPECT_EQ(end_elsewhere(), Status::StreamCaptureWrongThread);
    EXPECT_EQ(end(), Status::IllegalState) << "it has ended all the same";
    ASSERT_EQ(begin(CaptureMode::Relaxed), Status::Success);
    EXPECT_EQ(end_elsewhere(), Status::Success);
    if (!real()) {
        EXPECT_TRUE(control->complaints().empty());
    }
}

TEST_F(CudaRules, WaitingForACapturingStreamSpoilsTheCapture) {
    ASSERT_EQ(begin(CaptureMode::ThreadLocal), Status::Success);
    EXPECT_EQ(cuda().cuStreamSynchronize(stream), Status::StreamCaptureUnsupported);
    EXPECT_EQ(end(), Status::StreamCaptureInvalidated);
}

TEST_F(CudaRules, StampsEventsInGraphsWhereTheRecordSaysExternal) {
    EventHandle event = nullptr;
    ASSERT_EQ(cuda().cuEventCreate(&event, kEventDefault), Status::Success);
    float milliseconds = 0;
    EXPECT_EQ(cuda().cuEventElapsedTime_v1(&milliseconds, event, event), Status::InvalidHandle) << "never recorded";
    EXPECT_EQ(cuda().cuEventRecordWithFlags(event, stream, kEventRecordExternal), Status::IllegalState);
    ASSERT_EQ(begin(CaptureMode::Relaxed), Status::Success);
    ASSERT_EQ(cuda().cuEventRecordWithFlags(event, stream, kEventRecordDefault), Status::Success);
    EXPECT_EQ(cuda().cuEventQuery(event), Status::CapturedEvent);
    (void)end();
    EXPECT_EQ(cuda().cuEventQuery(event), Status::InvalidValue) << "the capture that it marked a place in is over";

    GraphHandle graph = nullptr;
    GraphExecHandle exec = nullptr;
    std::size_t nodes = 0;
    ASSERT_EQ(begin(CaptureMode::ThreadLocal), Status::Success);
    ASSERT_EQ(cuda().cuEventRecordWithFlags(event, stream, kEventRecordExternal), Status::Success);
    ASSERT_EQ(cuda().cuStreamEndCapture(stream, &graph), Status::Success);
    ASSERT_EQ(cuda().cuGraphGetNodes(graph, nullptr, &nodes), Status::Success);
    EXPECT_EQ(nodes, 1U);
    ASSERT_EQ(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0), Status::Success);
    EXPECT_EQ(cuda().cuEventElapsedTime_v1(&milliseconds, event, event), Status::InvalidValue) << "never replayed";
    ASSERT_EQ(cuda().cuGraphLaunch(exec, stream), Status::Success);
    ASSERT_EQ(cuda().cuStreamSynchronize(stream), Status::Success);
    EXPECT_EQ(cuda().cuEventElapsedTime_v1(&milliseconds, event, event), Status::Success);
    EXPECT_EQ(cuda().cuGraphExecDestroy(exec), Status::Success);
    EXPECT_EQ(cuda().cuGraphDestroy(graph), Status::Success);
    EXPECT_EQ(cuda().cuEventDestroy_v2(event), Status::Success);
}

TEST_F(CudaRules, CallsOfAHostFunctionAreNotPermitted) {
    struct Call {
        const CudaRules* test;
        Status status = Status::Unknown;
    } call{this};
    const auto function = [](void* user_data) {
        auto& mine = *static_cast<Call*>(user_data);
        mine.status = mine.test->allocate();
    };
    ASSERT_EQ(cuda().cuLaunchHostFunc(stream, function, &call), Status::Success);
    ASSERT_EQ(cuda().cuStreamSynchronize(stream), Status::Success);
    EXPECT_EQ(call.status, Status::NotPermitted);
    expect_complaint("cuMemAlloc_v2 from a host function of a stream");
}

TEST_F(CudaRules, WaitsForValuesInAnyMemoryOfTheDevice) {
    DeviceAddress memory = 0;
    ASSERT_EQ(cuda().cuMemAlloc_v2(&memory, 256), Status::Success);
    if (!real()) {  // which might accept them, and wait for ever
        EXPECT_EQ(cuda().cuStreamWaitValue64_v2(stream, memory + 4, 1, kStreamWaitValueGeq), Status::InvalidValue);
        EXPECT_EQ(cuda().cuStreamWaitValue64_v2(stream, memory + 256, 1, kStreamWaitValueGeq), Status::InvalidValue);
    }
    StreamHandle writer = nullptr;
    ASSERT_EQ(cuda().cuStreamCreate(&writer, kStreamNonBlocking), Status::Success);
    ASSERT_EQ(cuda().cuStreamWriteValue64_v2(stream, memory, 0, kStreamWriteValueDefault), Status::Success);
    ASSERT_EQ(cuda().cuStreamSynchronize(stream), Status::Success);
    ASSERT_EQ(cuda().cuStreamWaitValue64_v2(stream, memory, 7, kStreamWaitValueGeq), Status::Success);
    EXPECT_EQ(cuda().cuStreamQuery(stream), Status::NotReady);
    ASSERT_EQ(cuda().cuStreamWriteValue64_v2(writer, memory, 7, kStreamWriteValueDefault), Status::Success);
    EXPECT_EQ(cuda().cuStreamSynchronize(stream), Status::Success);
    EXPECT_EQ(cuda().cuStreamDestroy_v2(writer), Status::Success);
    EXPECT_EQ(cuda().cuMemFree_v2(memory), Status::Success);
}

/// As where more streams than connections are made: what a stream waits for also holds up another.
TEST_F(StandinCuda, StreamsThatShareAQueueOfTheDeviceBlockEachOther) {
    start({.hardware_queues = 1});
    DeviceAddress memory = 0;
    ASSERT_EQ(cuda().cuMemAlloc_v2(&memory, 256), Status::Success);
    StreamHandle behind = nullptr;
    ASSERT_EQ(cuda().cuStreamCreate(&behind, kStreamNonBlocking), Status::Success);
    void* flag = nullptr;
    DeviceAddress on_device = 0;
    ASSERT_EQ(cuda().cuMemHostAlloc(&flag, 64, kHostAllocPortable | kHostAllocMapped), Status::Success);
    ASSERT_EQ(cuda().cuMemHostGetDevicePointer_v2(&on_device, flag, 0), Status::Success);
    std::atomic_ref gate(*static_cast<std::uint64_t*>(flag));
    gate = 0;
    ASSERT_EQ(cuda().cuStreamWaitValue64_v2(stream, on_device, 1, kStreamWaitValueGeq), Status::Success);
    ASSERT_EQ(cuda().cuStreamWriteValue64_v2(behind, memory, 7, kStreamWriteValueDefault), Status::Success);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(cuda().cuStreamQuery(behind), Status::NotReady);
        std::this_thread::yield();
    }
    gate = 1;
    EXPECT_EQ(cuda().cuStreamSynchronize(behind), Status::Success);
    EXPECT_EQ(cuda().cuStreamSynchronize(stream), Status::Success);
    EXPECT_EQ(cuda().cuStreamDestroy_v2(behind), Status::Success);
    EXPECT_EQ(cuda().cuMemFreeHost(flag), Status::Success);
    EXPECT_EQ(cuda().cuMemFree_v2(memory), Status::Success);
}

TEST_F(CudaRules, ChecksWhatALaunchSays) {
    ModuleHandle module = nullptr;
    FunctionHandle function = nullptr;
    ASSERT_EQ(cuda().cuModuleLoadDataEx(&module, test_kernels(), 0, nullptr, nullptr), Status::Success);
    EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "no such kernel"), Status::NotFound);
    ASSERT_EQ(cuda().cuModuleGetFunction(&function, module, "standin_spin"), Status::Success);
    const standin::SpinParams params{1};
    const auto launch = [&](LaunchConfig config, std::uint32_t cluster) {
        LaunchAttribute attribute{};
        attribute.id = LaunchAttributeId::ClusterDimension;
        attribute.cluster = {cluster, 1, 1};
        config.stream = stream;
        config.attributes = &attribute;
        config.attribute_count = 1;
        void* parameter = const_cast<standin::SpinParams*>(&params);
        return cuda().cuLaunchKernelEx(&config, function, &parameter, nullptr);
    };
    LaunchConfig good{};
    good.grid_x = 16, good.grid_y = good.grid_z = 1;
    good.block_x = 64, good.block_y = good.block_z = 1;
    good.stream = stream;
    LaunchConfig config = good;
    EXPECT_EQ(launch(good, 8), Status::Success);
    EXPECT_EQ(launch(good, 3), Status::InvalidClusterSize);
    EXPECT_EQ(launch(good, 16), Status::InvalidClusterSize) << "more than every chip takes";
    if (!real()) {  // which would read it from a null pointer
        EXPECT_EQ(cuda().cuLaunchKernelEx(&good, function, nullptr, nullptr), Status::InvalidValue);
        expect_complaint("standin_spin launched without the address of its parameter");
    }
    config.grid_y = 0;
    EXPECT_EQ(launch(config, 1), Status::InvalidValue);
    config = good;
    config.block_x = 1025;
    EXPECT_EQ(launch(config, 1), Status::InvalidValue);
    config = good;
    config.dynamic_shared_bytes = (48U << 10U) + 1;
    EXPECT_EQ(launch(config, 1), Status::InvalidValue) << "the attribute is not set";
    ASSERT_EQ(cuda().cuFuncSetAttribute(function, FunctionAttribute::MaxDynamicSharedBytes, 64 << 10), Status::Success);
    EXPECT_EQ(launch(config, 1), Status::Success);
    ASSERT_EQ(cuda().cuFuncSetAttribute(function, FunctionAttribute::NonPortableClusterSizeAllowed, 1),
              Status::Success);
    EXPECT_EQ(launch(good, 16), Status::Success);
    EXPECT_EQ(cuda().cuFuncSetAttribute(function, FunctionAttribute::MaxDynamicSharedBytes, 228 << 10),
              Status::InvalidValue)
        << "more than the chip has";
    ASSERT_EQ(cuda().cuStreamSynchronize(stream), Status::Success);
    EXPECT_EQ(cuda().cuModuleUnload(module), Status::Success);
}

/// A fat binary with one entry: machine code with a kernel of that name, or PTX.
std::vector<std::byte> fat_binary(bool ptx, std::uint32_t architecture, std::string_view kernel) {
    const std::string names = std::string("\0.text.", 7) + std::string(kernel) + std::string(8, '\0');
    const std::uint32_t entry_header = 64;
    std::vector<std::byte> image(16 + entry_header + names.size());
    const auto put = [&](std::size_t at, auto value) { std::memcpy(image.data() + at, &value, sizeof(value)); };
    put(0, std::uint32_t{0xBA55ED50});
    put(4, std::uint16_t{1});
    put(6, std::uint16_t{16});
    put(8, std::uint64_t{entry_header + names.size()});
    put(16, static_cast<std::uint16_t>(ptx ? 1 : 2));
    put(20, entry_header);
    put(24, std::uint64_t{names.size()});
    put(44, architecture);
    std::memcpy(image.data() + 16 + entry_header, names.data(), names.size());
    return image;
}

TEST_F(StandinCuda, TakesFatBinariesWithCodeForItsChipAndTheKernelsThatTheyName) {
    const auto load = [&](const std::string& chip, bool ptx, std::uint32_t architecture, std::string_view kernel,
                          const char* wanted) {
        start({.architecture = chip});
        const auto image = fat_binary(ptx, architecture, kernel);
        ModuleHandle module = nullptr;
        FunctionHandle function = nullptr;
        Status status = cuda().cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr);
        if (status != Status::Success) return status;
        status = cuda().cuModuleGetFunction(&function, module, wanted);
        EXPECT_EQ(cuda().cuModuleUnload(module), Status::Success);
        return status;
    };
    EXPECT_EQ(load("sm_90", false, 90, "standin_spin", "standin_spin"), Status::Success);
    EXPECT_EQ(load("sm_90", false, 90, "standin_spin", "standin_scale_add"), Status::NotFound);
    EXPECT_EQ(load("sm_90", false, 80, "standin_spin", "standin_spin"), Status::NoBinaryForGpu);
    EXPECT_EQ(load("sm_90", true, 80, "", "standin_spin"), Status::Success) << "PTX of an older chip";
    EXPECT_EQ(load("sm_80", true, 90, "", "standin_spin"), Status::NoBinaryForGpu) << "PTX of a newer chip";
    EXPECT_EQ(load("sm_86", false, 80, "standin_spin", "standin_spin"), Status::Success) << "the same major version";
    EXPECT_EQ(load("sm_80", false, 86, "standin_spin", "standin_spin"), Status::NoBinaryForGpu);
    EXPECT_EQ(load("sm_75", true, 80, "", "standin_spin"), Status::NoBinaryForGpu) << "a chip that is too old";
}

TEST_F(CudaRules, RefusesWhatIsNoImage) {
    ModuleHandle module = nullptr;
    const char text[64] = "not an image";
    EXPECT_EQ(cuda().cuModuleLoadDataEx(&module, text, 0, nullptr, nullptr), Status::InvalidImage);
    if (real()) return;
    auto cut = fat_binary(false, 90, "standin_spin");
    const std::uint64_t too_many = 1 << 20;
    std::memcpy(cut.data() + 24, &too_many, sizeof(too_many));  // an entry longer than the file
    EXPECT_EQ(cuda().cuModuleLoadDataEx(&module, cut.data(), 0, nullptr, nullptr), Status::InvalidImage);
}

TEST_F(StandinCuda, AFailedContextOnlyReleases) {
    start({.faulting_launch = 1});
    ModuleHandle module = nullptr;
    FunctionHandle function = nullptr;
    ASSERT_EQ(cuda().cuModuleLoadDataEx(&module, test_kernels(), 0, nullptr, nullptr), Status::Success);
    ASSERT_EQ(cuda().cuModuleGetFunction(&function, module, "standin_spin"), Status::Success);
    const standin::SpinParams params{1};
    const void* parameters[]{&params};
    const LaunchConfig config{.grid_x = 1,
                              .grid_y = 1,
                              .grid_z = 1,
                              .block_x = 1,
                              .block_y = 1,
                              .block_z = 1,
                              .dynamic_shared_bytes = 0,
                              .stream = stream,
                              .attributes = nullptr,
                              .attribute_count = 0};
    ASSERT_EQ(cuda().cuLaunchKernelEx(&config, function, const_cast<void**>(parameters), nullptr), Status::Success);
    EXPECT_EQ(cuda().cuStreamSynchronize(stream), Status::LaunchFailed);
    EXPECT_EQ(allocate(), Status::LaunchFailed);
    EXPECT_EQ(cuda().cuModuleUnload(module), Status::LaunchFailed);
    EXPECT_EQ(control->live().modules, 0U) << "released all the same";
    EXPECT_EQ(cuda().cuStreamDestroy_v2(stream), Status::LaunchFailed);
    ASSERT_EQ(cuda().cuCtxPopCurrent_v2(&context), Status::Success);
    ASSERT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(0), Status::Success);
    ASSERT_EQ(cuda().cuDevicePrimaryCtxRetain(&context, 0), Status::Success);
    ASSERT_EQ(cuda().cuCtxPushCurrent_v2(context), Status::Success);
    ASSERT_EQ(cuda().cuStreamCreate(&stream, kStreamNonBlocking), Status::Success);
    EXPECT_EQ(allocate(), Status::Success) << "after its last reference, another context is made";
}

}  // namespace
}  // namespace kinetograph::accel::cuda
