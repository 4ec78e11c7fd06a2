// Tests of engine/accel/cuda run on the stand-in driver, which is opened like the real one, or on the driver that
// KINETOGRAPH_CUDA_LIBRARY names: KINETOGRAPH_CUDA_LIBRARY=libcuda.so.1 runs them on the machine's GPU.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/accel/cuda/driver.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/tests/engine/accel/cuda/test_kernels.hpp>

#include <dlfcn.h>

#include <cstdlib>

namespace kinetograph::accel::cuda {

inline const std::string kStandin = KINETOGRAPH_STANDIN_CUDA_LIBRARY;

inline std::string library_under_test() {
    const char* chosen = std::getenv("KINETOGRAPH_CUDA_LIBRARY");
    return chosen != nullptr && *chosen != '\0' ? chosen : kStandin;
}

/// Null where `library` is a real driver, or absent.
inline standin::Control* control_of(const std::string& library) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void* control = handle != nullptr ? ::dlsym(handle, standin::kControlSymbol) : nullptr;
    return control != nullptr ? reinterpret_cast<standin::ControlFunction>(control)() : nullptr;
}

/// The message of a result that should be an error.
template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

/// A device under test; on the stand-in, at the end, the proof that nothing is left of it and that it has nothing to
/// say.
struct Gpu : testing::Test {
    const std::string library = library_under_test();
    standin::Control* const control = control_of(library);  ///< null on a real driver
    std::unique_ptr<Device> device;

    void SetUp() override { start({}); }
    bool real() const { return control == nullptr; }

    /// Options are the stand-in's.
    void start(const standin::Options& options) {
        device.reset();
        if (control != nullptr) control->reset(options);
        auto created = create_device({.library = library});
        if (!created && real()) GTEST_SKIP() << created.error().message;
        ASSERT_TRUE(created) << created.error().message;
        device = std::move(*created);
    }
    void TearDown() override {
        device.reset();
        if (control == nullptr) return;
        EXPECT_EQ(control->live(), standin::Live{});
        for (const std::string& complaint : control->complaints()) ADD_FAILURE() << complaint;
        control->reset({});
    }

    const std::string& device_name() const { return device->info().name; }
    std::uint64_t calls(std::string_view symbol) const { return driver_calls(*device)->calls(symbol); }
    /// The test kernels; the stand-in knows them without an image.
    std::shared_ptr<Module> load_test_kernels() {
        const auto image = real() ? kinetograph::cuda::fat_binary("test_kernels") : standin::placeholder_image();
        auto loaded = device->load("test kernels", image);
        EXPECT_TRUE(loaded) << message_of(loaded);
        return loaded ? *loaded : nullptr;
    }
};

}  // namespace kinetograph::accel::cuda
