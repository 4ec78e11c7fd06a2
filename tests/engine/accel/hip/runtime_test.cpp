#include "standin_fixture.hpp"

#include <cstdlib>

namespace kinetograph::accel::hip {
namespace {

/// Sets a variable of the environment for as long as it lives.
class Environment {
  public:
    Environment(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    ~Environment() { ::unsetenv(name_); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    const char* name_;
};

TEST(HipRuntime, IsOffByNameWhereTheLibraryIsAbsent) {
    const auto devices = inspect_devices("/nowhere/libamdhip64.so.7");
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_EQ(devices.error().message, "/nowhere/libamdhip64.so.7 not found: HIP lane off");
}

TEST(HipRuntime, NamesEveryLibraryThatItLookedFor) {
    const auto devices = inspect_devices();
    if (devices) GTEST_SKIP() << "this machine has a HIP runtime: " << devices->front().driver;
    if (devices.error().message.find("finds no device") != std::string::npos)
        GTEST_SKIP() << "this machine has a HIP runtime: " << devices.error().message;
    EXPECT_EQ(devices.error().message, "libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so not found: HIP lane off");
}

TEST(HipRuntime, SaysWhyALibraryThatExistsDoesNotLoad) {
    const auto devices = inspect_devices("/etc/hostname");
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_TRUE(devices.error().message.starts_with("/etc/hostname does not load (/etc/hostname: "))
        << message_of(devices);
    EXPECT_TRUE(devices.error().message.ends_with("): HIP lane off")) << message_of(devices);
}

TEST(HipRuntime, NamesTheFirstEntryPointThatAnOldLibraryLacks) {
    const std::string library = KINETOGRAPH_STANDIN_HIP_INCOMPLETE;
    EXPECT_EQ(message_of(inspect_devices(library)),
              library + " has no hipGetDevicePropertiesR0600 (ROCm 6.0 or newer has): HIP lane off");
}

TEST(HipRuntime, IsChosenByTheEnvironment) {
    control_of(kStandin).reset({});
    const Environment chosen("KINETOGRAPH_HIP_LIBRARY", kStandin);
    const auto devices = inspect_devices();
    ASSERT_TRUE(devices) << message_of(devices);
    EXPECT_EQ(devices->front().driver, kStandin + ", HIP 7.0.51831");
}

TEST(HipRuntime, ReportsThatThereIsNoDeviceWithTheRuntimesName) {
    standin::Control& control = control_of(kStandin);
    control.reset({.devices = 0});
    const auto devices = inspect_devices(kStandin);
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_EQ(devices.error().message,
              kStandin + " finds no device (hipGetDeviceCount: hipErrorNoDevice (100)): HIP lane off");
    control.reset({});
}

TEST(HipRuntime, ReportsThatItDoesNotStartWithTheRuntimesName) {
    standin::Control& control = control_of(kStandin);
    control.reset({.injections = {{"hipInit", 1, Status::NotInitialized}}});
    EXPECT_EQ(message_of(create_device({.library = kStandin})),
              kStandin + ": hipInit: hipErrorNotInitialized (3): HIP lane off");
    control.reset({});
}

TEST(HipRuntime, RefusesAnOrdinalBeyondItsDevices) {
    standin::Control& control = control_of(kStandin);
    control.reset({.devices = 2});
    EXPECT_TRUE(create_device({.library = kStandin, .ordinal = 1}));
    const auto third = create_device({.library = kStandin, .ordinal = 2});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::OutOfRange);
    EXPECT_EQ(third.error().message, "HIP device 2: " + kStandin + " has 2 devices, counted from 0");
    control.reset({});
}

TEST(HipRuntime, WithoutOptionalEntryPointsDeclinesWhatNeedsThemByName) {
    const std::string library = KINETOGRAPH_STANDIN_HIP_BARE;
    const auto created = create_device({.library = library});
    ASSERT_TRUE(created) << message_of(created);
    Device& device = **created;
    const DeviceInfo& info = device.info();
    EXPECT_TRUE(info.can_load);
    EXPECT_EQ(info.can_capture.reason, library + " has no hipStreamBeginCapture");
    EXPECT_EQ(info.can_time_graphs.reason, info.can_capture.reason);
    EXPECT_EQ(info.can_import_host.reason, library + " has no hipHostRegister");
    EXPECT_EQ(info.can_import_memory.reason, library + " has no hipImportExternalMemory");
    EXPECT_EQ(info.can_import_timeline.reason, library + " has no hipImportExternalSemaphore");

    const auto stream = *device.create_stream("decode");
    const auto begun = stream->begin_capture();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(begun.error().message, "capturing stream \"decode\": " + info.can_capture.reason);
    EXPECT_EQ(message_of(device.import_memory("frame", {.fd = 3, .bytes = 4096})),
              "importing \"frame\" into Stand-in MI355X: " + info.can_import_memory.reason);
    EXPECT_EQ(message_of(device.import_host("frame", {})),
              "importing \"frame\" into Stand-in MI355X: " + info.can_import_host.reason);
}

}  // namespace
}  // namespace kinetograph::accel::hip
