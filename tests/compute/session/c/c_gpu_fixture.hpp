// What tests of kinetograph.h on GPUs share: an application that calls the stand-ins for the CUDA driver and the HIP
// runtime by name, as an application does, and its model on each of them.
#pragma once

#include "c_fixture.hpp"

#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <list>
#include <ostream>
#include <thread>

namespace kinetograph::c::testing {

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
inline std::ostream& operator<<(std::ostream& out, const Driver& driver) { return out << driver.name; }
inline constexpr Driver kDrivers[] = {
    {"idle_cuda", "cuda", "KINETOGRAPH_CUDA_LIBRARY", STANDIN_CUDA_IDLE, false},
    {"idle_hip", "hip", "KINETOGRAPH_HIP_LIBRARY", STANDIN_HIP_IDLE, false},
#if defined(STANDIN_CUDA_SM80)
    {"cuda", "cuda", "KINETOGRAPH_CUDA_LIBRARY", STANDIN_CUDA_SM80, true},
    {"hip", "hip", "KINETOGRAPH_HIP_LIBRARY", STANDIN_HIP_GFX950, true},
#endif
};
constexpr auto kNameOfDriver = [](const auto& driver) { return std::string(driver.param.name); };

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
    /// Latents of the host's memory in the application's, once its stream has got there; the caller's may change
    /// before.
    kg_latents upload(kg_latents latents) {
        const std::size_t bytes =
            static_cast<std::size_t>(16 * latents.shape[1]) * kHeight * kWidth * (latents.dtype == KG_FLOAT32 ? 4 : 2);
        void* const memory = application_->allocate(bytes);
        const auto* const given = static_cast<const std::byte*>(latents.data);
        application_->copy(memory, uploaded_.emplace_back(given, given + bytes).data(), bytes);
        latents.data = memory;
        latents.memory = KG_MEMORY_DEVICE;
        latents.ready = stream_moment();
        return latents;
    }
    /// Asks for a frame again while there is none, `patience` nanoseconds at most: its step begins once readers of its
    /// frames are done, for which steps of the host model may take seconds.
    static kg_result acquire_ahead(kg_clip* clip, std::uint64_t patience, kg_frame& frame) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
        kg_result result = KG_TIMEOUT;
        do result = kg_clip_acquire(clip, KG_ACQUIRE_AHEAD, 0, &frame);
        while (result == KG_TIMEOUT && std::chrono::steady_clock::now() < until);
        return result;
    }
    std::vector<std::vector<std::uint8_t>> read_ahead(kg_clip* clip) { return read_ahead(clip, stream_moment()); }
    /// The frames that are ready or being decoded, read in the order of the application's stream, and released at
    /// `done`; the first is waited for, `first` nanoseconds at most.
    std::vector<std::vector<std::uint8_t>> read_ahead(kg_clip* clip, const kg_moment& done, std::uint64_t first = 0) {
        std::vector<std::vector<std::uint8_t>> frames;
        auto frame = sized<kg_frame>();
        while (acquire_ahead(clip, frames.empty() ? first : 0, frame) == KG_OK) {
            EXPECT_EQ(kg_clip_wait(clip, frame.id, application_->stream), KG_OK) << kg_last_error();
            auto& bytes = frames.emplace_back(frame.row_bytes[0] * frame.height);
            application_->copy(bytes.data(), frame.planes[0], bytes.size());
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

    std::list<std::vector<std::byte>> uploaded_;  ///< What copies of the application's stream may still read.
    std::unique_ptr<Application> application_;
};

}  // namespace kinetograph::c::testing
