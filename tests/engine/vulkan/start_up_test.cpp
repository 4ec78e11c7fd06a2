// The sentences that a person reads if Vulkan is missing or unsuitable.
#include "faults.hpp"

#include <kinetograph/engine/vulkan/device.hpp>

#include <gtest/gtest.h>

namespace kinetograph::vulkan {
namespace {

class StartUp : public ::testing::Test {
  protected:
    void SetUp() override { testing::faults().reset(); }
    void TearDown() override { testing::faults().reset(); }
    static std::unique_ptr<Instance> make_instance() {
        auto instance = Instance::create(*testing::faulty_loader());
        EXPECT_TRUE(instance) << instance.error().message;
        return std::move(*instance);
    }
    static Error device_error(const Instance& instance, const DeviceOptions& options = {}) {
        const auto device = Device::create(instance, options);
        EXPECT_FALSE(device);
        return device ? Error{} : device.error();
    }
};

TEST_F(StartUp, AMissingLoaderIsNamed) {
    const auto loader = Loader::open("libvulkan-absent.so.1");
    ASSERT_FALSE(loader);
    EXPECT_EQ(loader.error().code, ErrorCode::NotFound);
    EXPECT_EQ(loader.error().message, "libvulkan-absent.so.1 not found: Vulkan lanes off");
}

TEST_F(StartUp, ALibraryThatIsNoLoaderIsNamed) {
    const auto loader = Loader::open("libm.so.6");
    ASSERT_FALSE(loader);
    EXPECT_NE(loader.error().message.find("libm.so.6 is not a Vulkan loader"), std::string::npos);
}

TEST_F(StartUp, NoDriverIsNotFound) {
    testing::faults().no_driver = true;
    const auto instance = Instance::create(*testing::faulty_loader());
    ASSERT_FALSE(instance);
    EXPECT_EQ(instance.error().code, ErrorCode::NotFound);
    EXPECT_EQ(instance.error().message, "the Vulkan loader found no driver: Vulkan lanes off");
}

TEST_F(StartUp, AMissingValidationLayerNamesItsPackage) {
    testing::faults().no_layers = true;
    const auto instance = Instance::create(*testing::faulty_loader(), {.validation = Validation::On});
    ASSERT_FALSE(instance);
    EXPECT_EQ(instance.error().code, ErrorCode::Unsupported);
    EXPECT_NE(instance.error().message.find("vulkan-validationlayers"), std::string::npos) << instance.error().message;
}

TEST_F(StartUp, AMissingInstanceExtensionIsNamed) {
    const auto instance = Instance::create(*testing::faulty_loader(), {.extensions = {"VK_KHR_no_such_thing"}});
    ASSERT_FALSE(instance);
    EXPECT_NE(instance.error().message.find("VK_KHR_no_such_thing"), std::string::npos) << instance.error().message;
}

TEST_F(StartUp, NoDeviceIsNotFound) {
    const auto instance = make_instance();
    testing::faults().no_devices = true;
    const Error error = device_error(*instance);
    EXPECT_EQ(error.code, ErrorCode::NotFound);
    EXPECT_EQ(error.message, "Vulkan is installed but finds no device: Vulkan lanes off");
}

TEST_F(StartUp, ADeviceWithoutARequiredFeatureIsDeclinedByTheFeaturesName) {
    const auto instance = make_instance();
    testing::faults().no_synchronization2 = true;
    const Error error = device_error(*instance);
    EXPECT_EQ(error.code, ErrorCode::Unsupported);
    EXPECT_NE(error.message.find("feature synchronization2 is missing"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("feature dynamicRendering is missing"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("timelineSemaphore"), std::string::npos) << error.message;
}

TEST_F(StartUp, AnOldDeviceIsDeclinedByItsVersion) {
    const auto instance = make_instance();
    testing::faults().old_device = true;
    EXPECT_NE(device_error(*instance).message.find("Vulkan 1.2, but 1.3 is needed"), std::string::npos);
}

TEST_F(StartUp, AWishForAnotherDeviceNamesTheOnesThatThereAre) {
    const auto instance = make_instance();
    const auto reports = inspect_devices(*instance);
    ASSERT_TRUE(reports);
    const Error error = device_error(*instance, {.name_contains = "Voodoo 2"});
    EXPECT_NE(error.message.find(reports->front().name + ": its name does not contain \"Voodoo 2\""), std::string::npos)
        << error.message;
}

TEST_F(StartUp, EveryDeviceIsReportedWithWhatItLacks) {
    const auto instance = make_instance();
    testing::faults().no_calibrated_timestamps = true;
    const auto reports = inspect_devices(*instance);
    ASSERT_TRUE(reports);
    for (const DeviceReport& report : *reports) {
        EXPECT_FALSE(report.name.empty());
        EXPECT_FALSE(report.driver.empty());
        EXPECT_GT(report.device_memory_bytes, 0U);
        EXPECT_FALSE(report.extensions.calibrated_timestamps);
        bool named = false;
        for (const std::string& line : report.missing) named = named || line.find("VK_EXT_calibrated_timestamps") == 0;
        EXPECT_TRUE(named || !report.usable());
    }
}

}  // namespace
}  // namespace kinetograph::vulkan
