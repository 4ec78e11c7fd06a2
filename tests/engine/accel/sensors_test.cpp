// Sensors of stand-ins: a library in the place of NVML, folders in the place of /sys; and their counters in a recorder.
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/device_watch.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace kinetograph::accel {
namespace {

std::map<std::string, double> read(Sensors& sensors) {
    std::map<std::string, double> values;
    for (const SensorReading& reading : sensors.read())
        values[std::string(reading.quantity) + " " + reading.unit] = reading.value;
    return values;
}

DeviceInfo gpu_at(std::string_view kind, std::uint32_t bus) {
    DeviceInfo gpu;
    gpu.kind = kind;
    gpu.name = "a GPU";
    gpu.pci = PciAddress{.domain = 0, .bus = bus, .device = 0};
    return gpu;
}

class SensorFiles : public ::testing::Test {
  protected:
    SensorFiles() { std::filesystem::remove_all(sysfs_); }
    ~SensorFiles() override { std::filesystem::remove_all(sysfs_); }
    void write(const std::string& file, const std::string& text) const {
        const auto path = sysfs_ / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << "\n";
    }

    const std::filesystem::path sysfs_ =
        std::filesystem::path(::testing::TempDir()) /
        (std::string("sysfs_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    const DeviceInfo gpu_ = gpu_at("hip", 0x3b);
};

TEST(Nvml, TellsWhatTheGpuTellsAndLeavesOutTheRest) {
    const DeviceInfo gpu = gpu_at("cuda", 0x3b);
    auto sensors = open_sensors(gpu, {.nvml = KINETOGRAPH_STANDIN_NVML});
    ASSERT_TRUE(sensors) << sensors.error().message;
    const std::map<std::string, double> wanted{
        {"clock MHz", 1980}, {"power W", 685.25}, {"temperature \u00b0C", 54}, {"memory in use MiB", 3072}};
    EXPECT_EQ(read(**sensors), wanted);
}

TEST(Nvml, IsNotThereForAnotherGpuOrWithoutItsLibrary) {
    DeviceInfo gpu = gpu_at("cuda", 0x5e);
    const auto another = open_sensors(gpu, {.nvml = KINETOGRAPH_STANDIN_NVML});
    ASSERT_FALSE(another);
    EXPECT_NE(another.error().message.find("finds no GPU at 00000000:5E:00.0: Not Found"), std::string::npos)
        << another.error().message;
    const auto missing = open_sensors(gpu, {.nvml = "/nowhere/libnvidia-ml.so.1"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "/nowhere/libnvidia-ml.so.1 not found: no clocks and power of NVIDIA GPUs");
    gpu.pci.reset();
    const auto nowhere = open_sensors(gpu, {.nvml = KINETOGRAPH_STANDIN_NVML});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().message, "a GPU: its place on the PCI bus is not known");
}

TEST_F(SensorFiles, OfAmdgpuAreReadInTheirUnits) {
    const std::string folder = "bus/pci/devices/0000:3b:00.0/";
    write(folder + "hwmon/hwmon4/freq1_input", "2100000000");
    write(folder + "hwmon/hwmon4/power1_input", "750000000");
    write(folder + "hwmon/hwmon4/temp2_input", "61500");
    write(folder + "mem_info_vram_used", "1073741824");
    auto sensors = open_sensors(gpu_, {.sysfs = sysfs_});
    ASSERT_TRUE(sensors) << sensors.error().message;
    const std::map<std::string, double> wanted{
        {"clock MHz", 2100}, {"power W", 750}, {"temperature \u00b0C", 61.5}, {"memory in use MiB", 1024}};
    EXPECT_EQ(read(**sensors), wanted);
    std::filesystem::remove_all(sysfs_);  // a device that has gone tells nothing
    EXPECT_TRUE((*sensors)->read().empty());
}

TEST_F(SensorFiles, OfAnotherGpuAreNotTaken) {
    write("bus/pci/devices/0000:5e:00.0/hwmon/hwmon4/freq1_input", "2100000000");
    const auto sensors = open_sensors(gpu_, {.sysfs = sysfs_});
    ASSERT_FALSE(sensors);
    EXPECT_NE(sensors.error().message.find("0000:3b:00.0/hwmon: no sensors of a GPU"), std::string::npos)
        << sensors.error().message;
}

TEST_F(SensorFiles, OfTheCpuGiveAMeanClockAndThePowerBetweenTwoReadings) {
    write("devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2000000");
    write("devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "3000000");
    write("class/powercap/intel-rapl:0/energy_uj", "999000000");
    write("class/powercap/intel-rapl:0/max_energy_range_uj", "1000000000");
    write("class/powercap/intel-rapl:0:0/energy_uj", "1");  // the cores of that package
    auto sensors = open_sensors({}, {.sysfs = sysfs_});
    ASSERT_TRUE(sensors) << sensors.error().message;
    const Nanoseconds before = host_now();
    EXPECT_EQ(read(**sensors), (std::map<std::string, double>{{"clock MHz", 2500}}));
    const Nanoseconds between = host_now();
    write("class/powercap/intel-rapl:0/energy_uj", "1000000");  // 2 J later: the counter has begun again
    const Nanoseconds latest = host_now();
    const auto values = read(**sensors);
    ASSERT_TRUE(values.contains("power W"));
    const auto seconds = [](Nanoseconds time) { return static_cast<double>(time.count()) * 1e-9; };
    EXPECT_GE(values.at("power W"), 2.0 / seconds(host_now() - before));
    EXPECT_LE(values.at("power W"), 2.0 / seconds(latest - between));
}

TEST_F(SensorFiles, OfTheCpuMayAllBeMissing) {
    const auto sensors = open_sensors({}, {.sysfs = sysfs_});
    ASSERT_FALSE(sensors);
    EXPECT_NE(sensors.error().message.find("no sensors of the CPU"), std::string::npos) << sensors.error().message;
}

TEST_F(SensorFiles, AreCountedByAWatchWithTheMemoryOfTheDevice) {
    write("devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2000000");
    const std::shared_ptr<Device> device = cpu::create_device();
    const auto memory = device->allocate("some", 3 << 20);
    ASSERT_TRUE(memory);
    profile::Recorder recorder;
    {
        const DeviceWatch watch(device, recorder, {.period = std::chrono::hours(1), .sources = {.sysfs = sysfs_}});
        EXPECT_EQ(recorder.counters().size(), 3U) << "one sample at once";
        write("devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1500000");
    }
    const auto samples = recorder.counters();
    ASSERT_EQ(samples.size(), 6U) << "and one at the end";
    const auto& clock = samples[3];
    EXPECT_EQ(recorder.names().text(clock.name), "clock");
    EXPECT_EQ(recorder.names().text(clock.device), device->info().name);
    EXPECT_EQ(recorder.names().text(clock.unit), "MHz");
    EXPECT_EQ(clock.value, 1500.0);
    EXPECT_EQ(samples[0].value, 2000.0);
    EXPECT_EQ(samples[4].value, 3.0) << "MiB of the decoder";
    EXPECT_EQ(samples[5].value, 3.0) << "their peak";
    ASSERT_EQ(recorder.newest_counters().size(), 3U);
    EXPECT_EQ(recorder.newest_counters()[0].value, 1500.0);
}

TEST(DeviceWatches, CountEqualGpusApart) {
    DeviceInfo gpu = gpu_at("cuda", 0x3b);
    EXPECT_EQ(counted_name_of(gpu), "a GPU at 3b:00");
    EXPECT_EQ(counted_name_of(gpu_at("cuda", 0x5e)), "a GPU at 5e:00");
    gpu.pci->domain = 1;
    EXPECT_EQ(counted_name_of(gpu), "a GPU at 0001:3b:00");
    gpu.pci.reset();
    EXPECT_EQ(counted_name_of(gpu), "a GPU");
}

TEST_F(SensorFiles, AreAskedAgainEveryPeriod) {
    const std::shared_ptr<Device> device = cpu::create_device();
    profile::Recorder recorder(8);
    const DeviceWatch watch(device, recorder, {.period = std::chrono::microseconds(100), .sources = {.sysfs = sysfs_}});
    const Nanoseconds first = recorder.counters().front().time;
    while (recorder.counters().front().time == first) std::this_thread::yield();
    EXPECT_EQ(recorder.counters().size(), 8U) << "the oldest samples go";
}

}  // namespace
}  // namespace kinetograph::accel
