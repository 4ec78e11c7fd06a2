// Tests of engine/accel/hip run on the stand-in runtime, which is opened like the real one.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/engine/accel/hip/driver_api.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>

namespace kinetograph::accel::hip {

inline const std::string kStandin = KINETOGRAPH_STANDIN_HIP_LIBRARY;

inline standin::Control& control_of(const std::string& library) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    EXPECT_NE(handle, nullptr) << ::dlerror();
    return *reinterpret_cast<standin::ControlFunction>(::dlsym(handle, standin::kControlSymbol))();
}

/// A device of the stand-in. At the end no object may be alive, and the stand-in must have no complaints.
struct Standin : testing::Test {
    standin::Control& control = control_of(kStandin);
    standin::Options options;
    std::unique_ptr<Device> device;

    void SetUp() override { start({}); }
    void start(const standin::Options& chosen) {
        device.reset();
        options = chosen;
        control.reset(options);
        auto created = create_device({.library = kStandin});
        ASSERT_TRUE(created) << created.error().message;
        device = std::move(*created);
    }
    void TearDown() override {
        device.reset();
        const standin::Live live = control.live();
        EXPECT_EQ(live.streams, 0U);
        EXPECT_EQ(live.events, 0U);
        EXPECT_EQ(live.modules, 0U);
        EXPECT_EQ(live.graphs, 0U);
        EXPECT_EQ(live.graph_execs, 0U);
        EXPECT_EQ(live.device_allocations, 0U);
        EXPECT_EQ(live.pinned_allocations, 0U);
        EXPECT_EQ(live.registrations, 0U);
        EXPECT_EQ(live.imports, 0U);
        for (const std::string& complaint : control.complaints()) ADD_FAILURE() << complaint;
        control.reset({});
    }
};

/// The message of a result that should be an error.
template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

}  // namespace kinetograph::accel::hip
