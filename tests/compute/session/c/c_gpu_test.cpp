// kinetograph.h with latents and frames in the memory of a GPU, on the stand-ins for the CUDA driver and the HIP
// runtime: the application's side calls them by name, as an application does.
#include "c_fixture.hpp"

#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <limits>
#include <ostream>
#include <thread>

namespace kinetograph::c::testing {
namespace {

/// The beginning of a DLManagedTensor: what its consumer needs to let go of it.
struct Tensor {
    std::byte tensor[48];
    void* context;
    void (*deleter)(Tensor*);
};

/// The calls of an application. Statuses are 0 where all is well.
class Application {
  public:
    Application(const std::string& library, bool is_cuda)
        : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), is_cuda_(is_cuda) {
        if (is_cuda) {
            EXPECT_EQ((call<int(unsigned)>("cuInit")(0)), 0);
            EXPECT_EQ((call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, 0)), 0);
            EXPECT_EQ((call<int(void*)>("cuCtxPushCurrent_v2")(context_)), 0);
            EXPECT_EQ((call<int(void**, unsigned)>("cuStreamCreate")(&stream, 1)), 0);
        } else {
            EXPECT_EQ((call<int(void**, unsigned)>("hipStreamCreateWithFlags")(&stream, 1)), 0);
        }
    }
    ~Application() {
        for (void* memory : memory_) {
            if (is_cuda_)
                EXPECT_EQ((call<int(std::uint64_t)>("cuMemFree_v2")(reinterpret_cast<std::uint64_t>(memory))), 0);
            else
                EXPECT_EQ((call<int(void*)>("hipFree")(memory)), 0);
        }
        if (stream != nullptr) destroy_stream();
        if (!is_cuda_) return;
        EXPECT_EQ((call<int(void**)>("cuCtxPopCurrent_v2")(&context_)), 0);
        EXPECT_EQ((call<int(int)>("cuDevicePrimaryCtxRelease_v2")(0)), 0);
    }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    void* allocate(std::size_t bytes) {
        void* memory = nullptr;
        EXPECT_EQ((call<int(void**, std::size_t)>(is_cuda_ ? "cuMemAlloc_v2" : "hipMalloc")(&memory, bytes)), 0);
        memory_.push_back(memory);
        return memory;
    }
    /// Of the second device; before release_elsewhere().
    void* allocate_elsewhere(std::size_t bytes) {
        void *memory = nullptr, *context = nullptr;
        if (is_cuda_) {
            EXPECT_EQ((call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 1)), 0);
            EXPECT_EQ((call<int(void*)>("cuCtxPushCurrent_v2")(context)), 0);
            EXPECT_EQ((call<int(void**, std::size_t)>("cuMemAlloc_v2")(&memory, bytes)), 0);
            EXPECT_EQ((call<int(void**)>("cuCtxPopCurrent_v2")(&context)), 0);
        } else {
            EXPECT_EQ((call<int(int)>("hipSetDevice")(1)), 0);
            EXPECT_EQ((call<int(void**, std::size_t)>("hipMalloc")(&memory, bytes)), 0);
            EXPECT_EQ((call<int(int)>("hipSetDevice")(0)), 0);
        }
        memory_.push_back(memory);
        return memory;
    }
    void release_elsewhere() const {
        if (!is_cuda_) return;
        EXPECT_EQ((call<int(int)>("cuDevicePrimaryCtxRelease_v2")(1)), 0);
    }
    void* allocate_pinned(std::size_t bytes) const {
        void* host = nullptr;
        EXPECT_EQ(
            (call<int(void**, std::size_t, unsigned)>(is_cuda_ ? "cuMemHostAlloc" : "hipHostMalloc")(&host, bytes, 1)),
            0);
        return host;
    }
    void free_pinned(void* host) const {
        EXPECT_EQ((call<int(void*)>(is_cuda_ ? "cuMemFreeHost" : "hipHostFree")(host)), 0);
    }
    /// In the order of `stream`.
    void copy(void* to, const void* from, std::size_t bytes) const {
        if (is_cuda_)
            EXPECT_EQ((call<int(std::uint64_t, std::uint64_t, std::size_t, void*)>("cuMemcpyAsync")(
                          reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from), bytes, stream)),
                      0);
        else
            EXPECT_EQ(
                (call<int(void*, const void*, std::size_t, int, void*)>("hipMemcpyAsync")(to, from, bytes, 4, stream)),
                0);
    }
    void destroy_stream() {
        EXPECT_EQ((call<int(void*)>(is_cuda_ ? "cuStreamDestroy_v2" : "hipStreamDestroy")(stream)), 0);
        stream = nullptr;
    }
    void synchronize() const {
        EXPECT_EQ((call<int(void*)>(is_cuda_ ? "cuStreamSynchronize" : "hipStreamSynchronize")(stream)), 0);
    }
    /// What `stream` is given from now on waits until `held` was set.
    void hold(std::promise<void>& held) const {
        const auto wait = [](void* promise) { static_cast<std::promise<void>*>(promise)->get_future().wait(); };
        using HostFunction = void (*)(void*);
        EXPECT_EQ((call<int(void*, HostFunction, void*)>(is_cuda_ ? "cuLaunchHostFunc" : "hipLaunchHostFunc")(
                      stream, wait, &held)),
                  0);
    }
    void begin_capture() const {
        const int mode = is_cuda_ ? 0 : 1;  // global, the strictest, where the stand-in has it; of the thread
        EXPECT_EQ((call<int(void*, int)>(is_cuda_ ? "cuStreamBeginCapture_v2" : "hipStreamBeginCapture")(stream, mode)),
                  0);
    }
    /// How many pieces of work were captured.
    std::size_t end_capture() const {
        void* graph = nullptr;
        std::size_t nodes = 0;
        EXPECT_EQ((call<int(void*, void**)>(is_cuda_ ? "cuStreamEndCapture" : "hipStreamEndCapture")(stream, &graph)),
                  0);
        if (graph == nullptr) return 0;
        EXPECT_EQ((call<int(void*, void**, std::size_t*)>(is_cuda_ ? "cuGraphGetNodes" : "hipGraphGetNodes")(
                      graph, nullptr, &nodes)),
                  0);
        EXPECT_EQ((call<int(void*)>(is_cuda_ ? "cuGraphDestroy" : "hipGraphDestroy")(graph)), 0);
        return nodes;
    }
    standin::Control& control() const {
        return *reinterpret_cast<standin::ControlFunction>(::dlsym(library_, standin::kControlSymbol))();
    }

    void* stream = nullptr;

  private:
    template <class Function>
    Function* call(const char* name) const {
        return reinterpret_cast<Function*>(::dlsym(library_, name));
    }
    void* library_;
    bool is_cuda_;
    void* context_ = nullptr;
    std::vector<void*> memory_;
};

struct Driver {
    const char* name;
    const char* device;
    const char* environment;
    const char* library;
    bool has_kernels;
};
std::ostream& operator<<(std::ostream& out, const Driver& driver) { return out << driver.name; }

class CInterfaceOnGpus : public CTest, public ::testing::WithParamInterface<Driver> {
  protected:
    void SetUp() override {
        ::setenv(GetParam().environment, GetParam().library, 1);
        CTest::SetUp();
        application_ = std::make_unique<Application>(GetParam().library, is_cuda());
        ASSERT_NO_FATAL_FAILURE(open(GetParam().device));
    }
    void TearDown() override {
        if (!application_) return;
        model_.reset();
        standin::Control& control = application_->control();
        application_.reset();
        EXPECT_EQ(control.complaints(), std::vector<std::string>{});
        EXPECT_EQ(control.live(), standin::Live{});
        control.reset({});
        ::unsetenv(GetParam().environment);
    }
    /// All again, with another driver.
    void reopen(const standin::Options& options) {
        model_.reset();
        standin::Control& control = application_->control();
        application_.reset();
        control.reset(options);
        application_ = std::make_unique<Application>(GetParam().library, is_cuda());
        open(GetParam().device);
    }
    /// Else pictures are those of new memory, and flags say that all is well.
    static bool has_kernels() { return GetParam().has_kernels; }
    void expect_pictures(const std::vector<std::vector<std::uint8_t>>& frames,
                         const std::vector<std::vector<std::uint8_t>>& wanted) const {
        EXPECT_EQ(frames.size(), wanted.size());
        if (has_kernels()) {
            EXPECT_EQ(frames, wanted);
        }
    }
    bool is_cuda() const { return std::strcmp(GetParam().device, "cuda") == 0; }
    kg_moment stream_moment() const {
        kg_moment moment{};
        moment.kind = KG_MOMENT_STREAM;
        moment.stream = application_->stream;
        return moment;
    }
    kg_latents upload(const std::vector<float>& values) { return upload(view_of(values)); }
    /// Latents of the host's memory in the application's, once its stream has got there.
    kg_latents upload(kg_latents latents) {
        const std::size_t bytes =
            static_cast<std::size_t>(16 * latents.shape[1]) * kHeight * kWidth * (latents.dtype == KG_FLOAT32 ? 4 : 2);
        void* const memory = application_->allocate(bytes);
        application_->copy(memory, latents.data, bytes);
        latents.data = memory;
        latents.memory = KG_MEMORY_DEVICE;
        latents.ready = stream_moment();
        return latents;
    }
    /// The frames that are ready or being decoded, read in the order of the application's stream.
    std::vector<std::vector<std::uint8_t>> read_ahead(kg_clip* clip) {
        std::vector<std::vector<std::uint8_t>> frames;
        auto frame = sized<kg_frame>();
        while (kg_clip_acquire(clip, KG_ACQUIRE_AHEAD, 0, &frame) == KG_OK) {
            EXPECT_EQ(kg_clip_wait(clip, frame.id, application_->stream), KG_OK) << kg_last_error();
            auto& bytes = frames.emplace_back(frame.row_bytes[0] * frame.height);
            application_->copy(bytes.data(), frame.planes[0], bytes.size());
            const kg_moment done = stream_moment();
            EXPECT_EQ(kg_clip_release(clip, frame.id, &done), KG_OK) << kg_last_error();
        }
        return frames;
    }

    /// Of the next frame, read in the order of the application's stream; the frame itself is released.
    void take_tensor(kg_clip* clip, void*& tensor) {
        auto frame = sized<kg_frame>();
        ASSERT_EQ(kg_clip_acquire(clip, KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
        ASSERT_EQ(kg_clip_wait(clip, frame.id, application_->stream), KG_OK) << kg_last_error();
        ASSERT_EQ(kg_clip_export(clip, frame.id, KG_LAYOUT_HWC, &tensor), KG_OK) << kg_last_error();
        ASSERT_EQ(kg_clip_release(clip, frame.id, nullptr), KG_OK) << kg_last_error();
    }

    /// Ends the process, with 0 if the clip ends in time, says what it has given up, and the stream finds it when it
    /// goes on.
    void destroy_a_clip_whose_stream_stands_still() {
        std::thread([] {
            std::this_thread::sleep_for(std::chrono::minutes(1));
            std::_Exit(2);
        }).detach();
        auto made = clip(KG_STORAGE_DEVICE);
        const kg_latents latents = upload(latents_of(1));
        std::promise<void> held;
        application_->hold(held);
        EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        auto frame = sized<kg_frame>();
        EXPECT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
        EXPECT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
        const std::uint64_t bytes = frame.row_bytes[0] * frame.height;
        application_->copy(application_->allocate(bytes), frame.planes[0], bytes);
        const kg_moment done = stream_moment();
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
        const char* const release = is_cuda() ? "cuMemFree_v2" : "hipFree";
        const std::uint64_t released = application_->control().calls(release);
        made.reset();
        const auto says = [this](const char* part) {
            return std::ranges::count_if(log_, [&](const auto& line) { return line.find(part) != std::string::npos; });
        };
        EXPECT_EQ(says("what reads its frames does not end, and their memory is never released"), 1);
        EXPECT_EQ(says("at the end of a clip: stream \"the application's\" was given up at value 0"), 1);
        EXPECT_EQ(application_->control().calls(release), released);
        held.set_value();
        application_->synchronize();
        EXPECT_EQ(application_->control().complaints(), std::vector<std::string>{});
        while (application_->control().calls(release) == released) clip(KG_STORAGE_DEVICE).reset();  // or it has failed
        for (const std::string& line : log_) std::fprintf(stderr, "%s\n", line.c_str());
        std::_Exit(HasFailure() ? 1 : 0);
    }

    std::unique_ptr<Application> application_;
};

TEST_P(CInterfaceOnGpus, LatentsAndFramesStayOnTheDeviceInTheOrderOfTheCallersStream) {
    const auto values = latents_of(2);
    const auto wanted = decode(clip().get(), values);
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const std::vector<float> other(values.size(),
                                   9.0F);  // they were copied: what the stream does next is its own affair
    application_->copy(const_cast<void*>(latents.data), other.data(), other.size() * sizeof(float));
    const auto frames = read_ahead(made.get());
    application_->synchronize();
    expect_pictures(frames, wanted);
}

TEST_P(CInterfaceOnGpus, HalvesAreWrittenByTheDeviceAsTheHostHasThem) {
    const auto values = latents_of(1);
    const auto wanted = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGB16F).get(), values);
    const auto floats = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGB32F).get(), values);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGB16F);
    const kg_latents latents = upload(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const auto frames = read_ahead(made.get());
    application_->synchronize();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].size(), std::size_t{kFrameHeight} * kFrameWidth * 6);
    expect_pictures(frames, wanted);
    if (!has_kernels()) return;
    for (std::size_t i = 0; i < std::size_t{kFrameHeight} * kFrameWidth * 3; ++i) {
        float value = 0;
        std::memcpy(&value, floats[0].data() + 4 * i, sizeof(value));
        EXPECT_NEAR(half_at(frames[0], i), value, 0x1p-12F);
    }
}

/// Each value's upper half, as bfloat16, or, of the same bits, half.
std::vector<std::uint16_t> halves_of(const std::vector<float>& values) {
    std::vector<std::uint16_t> halves;
    for (const float value : values) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        halves.push_back(static_cast<std::uint16_t>(bits >> 16U));
    }
    return halves;
}

TEST_P(CInterfaceOnGpus, LatentsOfTwoBytesAreReadAsTheyAre) {
    const auto halves = halves_of(latents_of(2));
    for (const kg_dtype dtype : {KG_FLOAT16, KG_BFLOAT16}) {
        kg_latents latents = view_of(latents_of(2));
        latents.data = halves.data();
        latents.dtype = dtype;
        const auto wanted = decode(clip().get(), latents);  // the host widens them
        const auto made = clip(KG_STORAGE_DEVICE);
        const kg_latents uploaded = upload(latents);
        ASSERT_EQ(kg_clip_push(made.get(), &uploaded, kLong, nullptr), KG_OK) << kg_last_error();
        const auto frames = read_ahead(made.get());
        application_->synchronize();
        expect_pictures(frames, wanted);
    }
}

TEST_P(CInterfaceOnGpus, AClipTakesLatentsOfSeveralTypesAndRefusesOthersInASentence) {
    const auto values = latents_of(1);
    const auto halves = halves_of(values);
    kg_latents latents = view_of(values);
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents floats = upload(latents);
    latents.data = halves.data();
    latents.dtype = KG_BFLOAT16;
    const kg_latents bfloats = upload(latents);
    latents = bfloats;
    latents.dtype = 3;
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(kg_last_error(), "3 is no kg_dtype");
    std::size_t frames = 0;
    for (const kg_latents* given : {&bfloats, &floats, &bfloats}) {
        ASSERT_EQ(kg_clip_push(made.get(), given, kLong, nullptr), KG_OK) << kg_last_error();
        frames += read_ahead(made.get()).size();
    }
    application_->synchronize();
    EXPECT_EQ(frames, 9U);
}

TEST_P(CInterfaceOnGpus, TheSteadyStateAllocatesNothingAndWaitsForNothing) {
    const auto values = latents_of(1);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGB32F);
    const kg_latents latents = upload(values);
    const char* const synchronize = is_cuda() ? "cuStreamSynchronize" : "hipStreamSynchronize";
    const char* const allocate = is_cuda() ? "cuMemAlloc_v2" : "hipMalloc";
    std::uint64_t synchronized = 0, allocated = 0;
    for (int step = 0; step < 6; ++step) {
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), step == 0 ? 1U : 4U);
        if (step == 3) {
            synchronized = application_->control().calls(synchronize);
            allocated = application_->control().calls(allocate);
        }
    }
    EXPECT_EQ(application_->control().calls(synchronize), synchronized);
    EXPECT_EQ(application_->control().calls(allocate), allocated);
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, AddressesThatTheDeviceDoesNotReachAreRefused) {
    const auto values = latents_of(1);
    const auto made = clip(KG_STORAGE_DEVICE);
    for (const kg_moment& ready : {kg_moment{}, stream_moment()}) {
        kg_latents latents = view_of(values);
        latents.memory = KG_MEMORY_DEVICE;
        latents.ready = ready;
        EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                        "kg_latents.data in KG_MEMORY_DEVICE: 0x");
        EXPECT_NE(std::string(kg_last_error()).find("ordinary memory of the host"), std::string::npos);
    }
    const std::size_t bytes = values.size() * sizeof(float);
    void* const pinned = application_->allocate_pinned(bytes);
    std::memcpy(pinned, values.data(), bytes);
    kg_latents latents = view_of(values);
    latents.data = pinned;
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready = stream_moment();
    const char* const question = is_cuda() ? "cuPointerGetAttributes" : "hipPointerGetAttributes";
    const std::uint64_t asked = application_->control().calls(question);
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(application_->control().calls(question), asked + 1);
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
    application_->free_pinned(pinned);
}

TEST_P(CInterfaceOnGpus, MemoryOfAnotherDeviceIsRefused) {
    const std::string library = GetParam().library;
    standin::Control& control = application_->control();
    model_.reset();
    application_.reset();
    control.reset({.devices = 2});
    application_ = std::make_unique<Application>(library, is_cuda());
    ASSERT_NO_FATAL_FAILURE(open(GetParam().device));
    const auto made = clip(KG_STORAGE_DEVICE);
    kg_latents latents = view_of(latents_of(1));
    latents.data = application_->allocate_elsewhere(16 * kHeight * kWidth * sizeof(float));
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready = stream_moment();
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    is_cuda() ? "is memory of CUDA device 1, and not of device 0, Stand-in"
                              : "is memory of HIP device 1, and not of device 0, Stand-in");
    application_->release_elsewhere();
}

TEST_P(CInterfaceOnGpus, ACaptureOfTheCallersStreamIsLeftAsItIs) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1)), other = upload(latents_of(1));
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    application_->synchronize();
    application_->begin_capture();
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "the stream is in a capture of a graph");
    EXPECT_SENTENCE(kg_clip_wait(made.get(), frame.id, application_->stream), KG_ERROR_INVALID_ARGUMENT,
                    "the stream is in a capture of a graph");
    application_->copy(const_cast<void*>(other.data), latents.data, 16);
    EXPECT_EQ(application_->end_capture(), 1U);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 4U);
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
    application_->synchronize();
}

/// As CUDA answers of the default stream while another stream is in a capture.
TEST_P(CInterfaceOnGpus, AStreamWhoseWorkWouldBreakAnothersCaptureIsLeftAloneToo) {
    if (!is_cuda()) GTEST_SKIP() << "HIP has no such answer";
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    application_->control().inject({"cuStreamIsCapturing", 1, standin::Code::StreamCaptureImplicit});
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "the stream is in a capture of a graph");
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    application_->control().inject({"cuStreamIsCapturing", 1, standin::Code::StreamCaptureImplicit});
    const kg_moment done = stream_moment();
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
    auto info = sized<kg_clip_info>();
    EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(info.frames_acquired, 1U) << "it goes back with the next call that asks";
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 4U);
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, FramesThatAreReleasedInACaptureGoBackAfterIt) {
    auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(2));
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const auto held = [&] {
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
        return info.frames_acquired;
    };
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
    void* tensor = nullptr;
    ASSERT_NO_FATAL_FAILURE(take_tensor(made.get(), tensor));
    application_->begin_capture();
    const kg_moment done = stream_moment();
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
    static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor));
    EXPECT_EQ(held(), 2U);
    EXPECT_SENTENCE(kg_clip_destroy(made.get()), KG_ERROR_BUSY, "2 were released on a stream that is in a capture");
    EXPECT_EQ(application_->end_capture(), 0U);
    EXPECT_EQ(read_ahead(made.get()).size(), 3U);
    EXPECT_EQ(held(), 0U);
    application_->synchronize();
    EXPECT_EQ(std::ranges::count_if(log_, [](const std::string& line) { return line.starts_with("! "); }), 0);
}

/// The lane waits for a stream that stands still, so its queue fills up, and the driver blocks the thread that fills
/// it.
TEST_P(CInterfaceOnGpus, APushReturnsThoughTheDriverBlocksTheStartOfItsStep) {
    ASSERT_NO_FATAL_FAILURE(reopen({.queue_depth = 4}));
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    std::promise<void> held;
    application_->hold(held);
    auto pushed =
        std::async(std::launch::async, [&] { return kg_clip_push(made.get(), &latents, kLong, nullptr) == KG_OK; });
    EXPECT_EQ(pushed.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    auto frame = sized<kg_frame>();
    EXPECT_EQ(kg_clip_acquire(made.get(), 0, 1'000'000, &frame), KG_TIMEOUT);
    held.set_value();
    EXPECT_TRUE(pushed.get());
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
}

/// An error that the thread meets is told by the calls that follow, and a reset begins anew.
TEST_P(CInterfaceOnGpus, AStepThatCannotStartEndsTheClipUntilItIsReset) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    application_->synchronize();
    application_->control().inject(
        {is_cuda() ? "cuEventCreate" : "hipEventCreateWithFlags", 1, standin::Code::InvalidValue});
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    EXPECT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT);
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    for (std::size_t step = 0; step < 3; ++step) {
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), step == 0 ? 1U : 4U);
    }
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, APushAsksTheDriverNothingTwice) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    const standin::Control& control = application_->control();
    const std::string api = is_cuda() ? "cu" : "hip", captures = api + "StreamIsCapturing", state = api + "StreamQuery";
    std::uint64_t fewest = 100;  // a lane whose work stands still on a busy machine asks too
    for (int step = 0; step < 8; ++step) {
        const std::uint64_t captures_before = control.calls(captures), state_before = control.calls(state);
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        auto frame = sized<kg_frame>();
        ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
        EXPECT_EQ(control.calls(captures) - captures_before, 1U);
        fewest = std::min(fewest, control.calls(state) - state_before);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
        static_cast<void>(read_ahead(made.get()));
        application_->synchronize();
    }
    EXPECT_EQ(fewest, 1U);
}

/// A driver's call on it that fails, once.
TEST_P(CInterfaceOnGpus, AnErrorOfTheCallersStreamIsToldOnceAndTakesNoFrame) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const auto fails_next = [&](const char* of_cuda, const char* of_hip) {
        application_->control().inject({is_cuda() ? of_cuda : of_hip, 1, standin::Code::InvalidValue});
    };
    const kg_latents latents = upload(latents_of(1));
    fails_next("cuMemcpyAsync", "hipMemcpyAsync");
    EXPECT_LT(kg_clip_push(made.get(), &latents, kLong, nullptr), 0);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
    fails_next("cuStreamWriteValue64_v2", "hipStreamWriteValue64");
    const kg_moment done = stream_moment();
    EXPECT_LT(kg_clip_release(made.get(), frame.id, &done), 0);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    void* tensor = nullptr;
    ASSERT_NO_FATAL_FAILURE(take_tensor(made.get(), tensor));
    fails_next("cuStreamWriteValue64_v2", "hipStreamWriteValue64");
    static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor));
    auto info = sized<kg_clip_info>();
    EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(info.frames_acquired, 0U);
    EXPECT_EQ(read_ahead(made.get()).size(), 3U);
    for (int round = 0; round < 8; ++round) {  // every slot comes back
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), 4U) << round;
    }
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, AStreamMayBeDestroyedBeforeTheClipThatItWasNamedTo) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
    application_->destroy_stream();
    auto info = sized<kg_clip_info>();
    EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(info.frames_acquired, 0U);
}

TEST_P(CInterfaceOnGpus, AClipOfWhichATensorIsKeptIsDestroyedInTimeThoughItsStreamStandsStill) {
    auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    std::promise<void> held;
    application_->hold(held);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    void* tensor = nullptr;
    ASSERT_NO_FATAL_FAILURE(take_tensor(made.get(), tensor));
    const auto begin = std::chrono::steady_clock::now();
    made.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    held.set_value();
    application_->synchronize();
    static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor));
    EXPECT_EQ(std::ranges::count_if(log_, [](const std::string& line) { return line.starts_with("! "); }), 0);
}

TEST_P(CInterfaceOnGpus, AClipWhoseStreamStandsStillReleasesNothingThatItMayUse) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(destroy_a_clip_whose_stream_stands_still(), ::testing::ExitedWithCode(0), "");
}

TEST_P(CInterfaceOnGpus, LatentsOfAnotherApiComeByAFileDescriptorAndAreReadInPlace) {
    const auto values = latents_of(1);
    const auto wanted = decode(clip().get(), values);
    constexpr std::uint64_t kBytes = 65536;
    const int fd = ::memfd_create("latents", 0);
    ASSERT_EQ(::ftruncate(fd, kBytes), 0);
    ASSERT_EQ(::pwrite(fd, values.data(), values.size() * sizeof(float), 4096),
              static_cast<ssize_t>(values.size() * sizeof(float)));
    kg_memory* memory = nullptr;
    ASSERT_EQ(kg_memory_import(model_.get(), fd, kBytes, 0, &memory), KG_OK) << kg_last_error();
    const Owned<kg_memory> owned(memory);
    void* address = nullptr;
    ASSERT_EQ(kg_memory_address(memory, &address), KG_OK);
    const auto made = clip();
    kg_latents latents = view_of(values);
    latents.memory = KG_MEMORY_DEVICE;
    latents.data = static_cast<std::byte*>(address) + 4096;
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    if (has_kernels()) {
        EXPECT_EQ(bytes_of(frame), wanted[0]);
    }
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
}

TEST_P(CInterfaceOnGpus, ValuesThatAreNotFiniteAreToldByTheFrame) {
    if (!has_kernels()) GTEST_SKIP() << "kernels that do nothing flag nothing";
    auto values = latents_of(1);
    values[5] = std::numeric_limits<float>::infinity();
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    EXPECT_EQ(frame.finite, KG_FINITE_NO);
    EXPECT_EQ(log_.back(), "! frame 0 has values that are not finite");
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
}

TEST_P(CInterfaceOnGpus, AFrameTakenAheadIsKnownToBeFiniteOnceItIsComplete) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    std::promise<void> held;
    application_->hold(held);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    EXPECT_EQ(frame.finite, KG_FINITE_UNKNOWN);
    ASSERT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
    std::uint32_t finite = 77;
    ASSERT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_OK) << kg_last_error();
    EXPECT_EQ(finite, KG_FINITE_UNKNOWN);
    held.set_value();
    application_->synchronize();
    ASSERT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_OK) << kg_last_error();
    EXPECT_EQ(finite, KG_FINITE_YES);
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    EXPECT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_ERROR_INVALID_ARGUMENT);
}

TEST_P(CInterfaceOnGpus, WhatAFrameSaysOfItsValuesDoesNotChangeWithLaterSteps) {
    if (!has_kernels()) GTEST_SKIP() << "kernels that do nothing flag nothing";
    auto values = latents_of(1);
    const kg_latents good = upload(values);
    values[5] = std::numeric_limits<float>::quiet_NaN();
    const kg_latents bad = upload(values);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGBA8, 5);
    std::vector<std::pair<kg_frame, kg_finite>> kept;
    for (const auto& [latents, finite] : {std::pair(&bad, KG_FINITE_NO), {&good, KG_FINITE_YES}}) {
        ASSERT_EQ(kg_clip_push(made.get(), latents, kLong, nullptr), KG_OK) << kg_last_error();
        kept.emplace_back(sized<kg_frame>(), finite);
        ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &kept.back().first), KG_OK) << kg_last_error();
        ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    }
    for (int step = 0; step < 8; ++step) {  // good and bad clips of one step, more than the stream has slots
        ASSERT_EQ(kg_clip_push(made.get(), step % 2 == 0 ? &good : &bad, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), 1U);
        ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    }
    application_->synchronize();
    for (const auto& [frame, wanted] : kept) {
        std::uint32_t finite = 77;
        ASSERT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_OK) << kg_last_error();
        EXPECT_EQ(finite, wanted);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
}

TEST_P(CInterfaceOnGpus, ThreadsPushReadAndDeleteTensorsOfClipsOfOneModel) {
    constexpr int kSteps = 3, kFrames = 1 + 4 * (kSteps - 1);
    const kg_latents latents = upload(latents_of(1));
    const auto run = [&] {
        const auto made = clip(KG_STORAGE_DEVICE);
        std::thread generator([&] {
            for (int step = 0; step < kSteps; ++step)
                EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        });
        std::vector<std::thread> readers;
        for (int taken = 0; taken < kFrames;) {
            auto frame = sized<kg_frame>();
            if (kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame) != KG_OK) {
                ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
            }
            EXPECT_EQ(frame.index, taken++);
            EXPECT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
            void* tensor = nullptr;
            EXPECT_EQ(kg_clip_export(made.get(), frame.id, KG_LAYOUT_HWC, &tensor), KG_OK) << kg_last_error();
            EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
            readers.emplace_back([tensor] { static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor)); });
            auto info = sized<kg_clip_info>();
            EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
        }
        generator.join();
        for (std::thread& reader : readers) reader.join();
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
        EXPECT_EQ(info.frames_acquired, 0U);
    };
    std::thread other(run);
    run();
    other.join();
}

TEST_P(CInterfaceOnGpus, FramesOnTheDeviceAreNotThoseOfCameras) {
    auto desc = sized<kg_clip_desc>();
    desc.storage = KG_STORAGE_DEVICE;
    desc.format = KG_FORMAT_NV12;
    kg_clip* made = nullptr;
    EXPECT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(kg_last_error(), "frames in the device's memory are RGBA8, RGB32F or RGB16F, not NV12");
}

TEST_P(CInterfaceOnGpus, TheDeviceIsListedAndKnownByItsOrdinal) {
    auto info = sized<kg_model_info>();
    ASSERT_EQ(kg_model_describe(model_.get(), &info), KG_OK);
    EXPECT_EQ(info.device_kind, is_cuda() ? KG_DEVICE_CUDA : KG_DEVICE_HIP);
    EXPECT_EQ(info.device_ordinal, 0U);
    std::string found;
    ASSERT_EQ(kg_list_devices(
                  instance_.get(),
                  [](void* user, const kg_device_info* device) {
                      if (device->kind != KG_DEVICE_CPU && device->available != 0)
                          *static_cast<std::string*>(user) += device->product;
                  },
                  &found),
              KG_OK);
    EXPECT_EQ(found, info.device_product);
}

constexpr Driver kDrivers[] = {
    {"idle_cuda", "cuda", "KINETOGRAPH_CUDA_LIBRARY", STANDIN_CUDA_IDLE, false},
    {"idle_hip", "hip", "KINETOGRAPH_HIP_LIBRARY", STANDIN_HIP_IDLE, false},
#if defined(STANDIN_CUDA_SM80)
    {"cuda", "cuda", "KINETOGRAPH_CUDA_LIBRARY", STANDIN_CUDA_SM80, true},
    {"hip", "hip", "KINETOGRAPH_HIP_LIBRARY", STANDIN_HIP_GFX950, true},
#endif
};
INSTANTIATE_TEST_SUITE_P(Drivers, CInterfaceOnGpus, ::testing::ValuesIn(kDrivers),
                         [](const auto& driver) { return std::string(driver.param.name); });

}  // namespace
}  // namespace kinetograph::c::testing
