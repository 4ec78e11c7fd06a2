// Opening the driver: what is absent, too old, or does not start. On the stand-in alone.
#include "gpu_fixture.hpp"

namespace kinetograph::accel::cuda {
namespace {

/// Sets a variable of the environment for as long as it lives.
class Environment {
  public:
    Environment(const char* name, const std::string& value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        ::setenv(name, value.c_str(), 1);
    }
    ~Environment() {
        if (before_)
            ::setenv(name_, before_->c_str(), 1);
        else
            ::unsetenv(name_);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    const char* name_;
    std::optional<std::string> before_;
};

struct CudaDriver : testing::Test {
    standin::Control* const control = control_of(kStandin);
    void SetUp() override {
        if (control == nullptr) GTEST_SKIP() << "there is no stand-in here: " << kStandin;
    }
    void TearDown() override {
        if (control != nullptr) control->reset({});
    }
};

TEST_F(CudaDriver, IsOffByNameWhereTheLibraryIsAbsent) {
    const auto devices = inspect_devices("/nowhere/libcuda.so.1");
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_EQ(devices.error().message, "/nowhere/libcuda.so.1 not found: CUDA lane off");
}

TEST_F(CudaDriver, SaysWhyALibraryThatExistsDoesNotLoad) {
    const auto devices = inspect_devices("/etc/hostname");
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_TRUE(devices.error().message.starts_with("/etc/hostname does not load (/etc/hostname: "))
        << message_of(devices);
    EXPECT_TRUE(devices.error().message.ends_with("): CUDA lane off")) << message_of(devices);
}

TEST_F(CudaDriver, NamesTheFirstEntryPointThatAnOldLibraryLacks) {
    const std::string library = KINETOGRAPH_STANDIN_CUDA_INCOMPLETE;
    const auto devices = inspect_devices(library);
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_EQ(devices.error().message, library +
                                           " has no cuGetErrorName (drivers for CUDA 12.0 and newer have): "
                                           "CUDA lane off");
}

TEST_F(CudaDriver, IsChosenByTheEnvironment) {
    const Environment chosen("KINETOGRAPH_CUDA_LIBRARY", kStandin);
    const auto devices = inspect_devices();
    ASSERT_TRUE(devices) << message_of(devices);
    EXPECT_EQ(devices->front().driver, kStandin + ", driver 13.0");
}

TEST_F(CudaDriver, ReportsThatThereIsNoDeviceWithTheDriversName) {
    control->reset({.devices = 0});
    const auto devices = inspect_devices(kStandin);
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().code, ErrorCode::NotFound);
    EXPECT_EQ(devices.error().message, kStandin + ": cuInit: CUDA_ERROR_NO_DEVICE (100): CUDA lane off");
}

TEST_F(CudaDriver, ReportsThatItDoesNotFitItsKernelModule) {
    control->reset({.injections = {{"cuInit", 1, Status::SystemDriverMismatch}}});
    const auto created = create_device({.library = kStandin});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(created.error().message, kStandin + ": cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): CUDA lane off");
}

TEST_F(CudaDriver, ShowsEveryDeviceUnderItsOrdinal) {
    control->reset({.devices = 2});
    const auto devices = inspect_devices(kStandin);
    ASSERT_TRUE(devices) << message_of(devices);
    ASSERT_EQ(devices->size(), 2U);
    EXPECT_NE((*devices)[0].uuid, (*devices)[1].uuid);
    const auto second = create_device({.library = kStandin, .ordinal = 1});
    ASSERT_TRUE(second) << message_of(second);
    EXPECT_EQ((*second)->info().uuid, (*devices)[1].uuid);
    EXPECT_EQ((*second)->info().pci, (*devices)[1].pci);
    const auto third = create_device({.library = kStandin, .ordinal = 2});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::OutOfRange);
}

TEST_F(CudaDriver, ServesTwoDevicesFromOneThread) {
    control->reset({.devices = 2});
    struct Side {
        std::unique_ptr<Device> device;
        std::shared_ptr<Kernel> kernel;
        std::unique_ptr<Stream> stream;
        std::unique_ptr<Memory> memory;
    };
    std::array<Side, 2> sides;
    for (std::uint32_t ordinal = 0; ordinal < 2; ++ordinal) {
        Side& side = sides.at(ordinal);
        side.device = std::move(*create_device({.library = kStandin, .ordinal = ordinal}));
        side.kernel = *(*side.device->load("kernels", standin::placeholder_image()))->kernel("standin_scale_add");
        side.stream = std::move(*side.device->create_stream("test"));
        side.memory = std::move(*side.device->allocate("numbers", 64 * sizeof(float)));
        side.stream->fill(side.memory->data(), std::byte{0}, 64 * sizeof(float));
    }
    for (int step = 0; step < 10; ++step)
        for (Side& side : sides) {
            const standin::ScaleAddParams params{reinterpret_cast<const float*>(side.memory->data()),
                                                 reinterpret_cast<float*>(side.memory->data()), 64, 1, 1};
            side.stream->launch(
                {.name = "count", .kernel = *side.kernel, .grid = {1}, .block = {64}, .arguments = bytes_of(params)});
        }
    for (Side& side : sides) {
        float counted = 0;
        const auto read = side.stream->read_back(std::as_writable_bytes(std::span(&counted, 1)), side.memory->data());
        EXPECT_TRUE(read) << message_of(read);
        EXPECT_EQ(counted, 10.F);
    }
    EXPECT_TRUE(control->complaints().empty());
}

TEST_F(CudaDriver, WithoutWhatCameAfterCuda12LaunchesAllTheSame) {
    const std::string library = KINETOGRAPH_STANDIN_CUDA_BARE;
    const auto device = create_device({.library = library});
    ASSERT_TRUE(device) << message_of(device);
    const auto kernel = *(*(*device)->load("test kernels", standin::placeholder_image()))->kernel("standin_scale_add");
    EXPECT_FALSE(kernel->info().argument_bytes) << "cuFuncGetParamInfo tells it, which is not there";
    const auto memory = *(*device)->allocate("numbers", 64 * sizeof(float));
    const auto stream = *(*device)->create_stream("test");
    stream->fill(memory->data(), std::byte{0}, 64 * sizeof(float));
    const standin::ScaleAddParams params{reinterpret_cast<const float*>(memory->data()),
                                         reinterpret_cast<float*>(memory->data()), 64, 1, 7};
    stream->launch({.name = "sevens", .kernel = *kernel, .grid = {1}, .block = {64}, .arguments = bytes_of(params)});
    float seven = 0;
    EXPECT_TRUE(stream->read_back(std::as_writable_bytes(std::span(&seven, 1)), memory->data()));
    EXPECT_EQ(seven, 7.F);
}

}  // namespace
}  // namespace kinetograph::accel::cuda
