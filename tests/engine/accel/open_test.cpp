// Devices by name: "cuda:1", "hip:GPU-...", as the stand-ins play them.
#include "driver_under_test.hpp"

#include <kinetograph/engine/accel/open.hpp>

#include <cstdlib>

namespace kinetograph::accel {
namespace {

struct DevicesByName : testing::Test {
    standin::Control* const cuda = control_of(KINETOGRAPH_STANDIN_CUDA_LIBRARY);
    standin::Control* const hip = control_of(KINETOGRAPH_STANDIN_HIP_LIBRARY);
    void SetUp() override {
        ::setenv("KINETOGRAPH_CUDA_LIBRARY", KINETOGRAPH_STANDIN_CUDA_LIBRARY, 1);
        ::setenv("KINETOGRAPH_HIP_LIBRARY", KINETOGRAPH_STANDIN_HIP_LIBRARY, 1);
        cuda->reset({.devices = 2});
        hip->reset({.devices = 2});
    }
    void TearDown() override {
        cuda->reset({});
        hip->reset({});
        ::unsetenv("KINETOGRAPH_CUDA_LIBRARY");
        ::unsetenv("KINETOGRAPH_HIP_LIBRARY");
    }
};

TEST_F(DevicesByName, AreListedWithTheirOrdinals) {
    std::vector<std::string> names;
    for (const Availability& one : inspect_accelerators()) {
        if (one.kind == "vulkan") continue;  // of this machine, if it has any
        ASSERT_TRUE(one.device) << one.situation;
        names.push_back(one.name());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"cpu:0", "cuda:0", "cuda:1", "hip:0", "hip:1"}));
}

TEST_F(DevicesByName, OpenByOrdinalAndByUuid) {
    for (const Availability& one : inspect_accelerators()) {
        if (!one.device) continue;
        const auto by_ordinal = open(one.name());
        ASSERT_TRUE(by_ordinal) << message_of(by_ordinal);
        EXPECT_EQ((*by_ordinal)->info().uuid, one.device->uuid) << one.name();
        if (one.kind == "cpu") continue;
        const auto by_uuid = open(fmt::format("{}:{}", one.kind, uuid_text(*one.device)));
        ASSERT_TRUE(by_uuid) << message_of(by_uuid);
        EXPECT_EQ((*by_uuid)->info().uuid, one.device->uuid) << one.name();
    }
    const auto plain = open("cuda:5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b");
    ASSERT_TRUE(plain) << message_of(plain);
    EXPECT_EQ((*plain)->info().uuid.front(), 0x5B);
}

TEST_F(DevicesByName, SayWhatThereIsWhereANameFitsNone) {
    EXPECT_TRUE(message_of(open("abacus:0")).starts_with("lane abacus: there are cpu, cuda"));
    EXPECT_EQ(message_of(open("cuda:first")), "lane cuda:first: after the colon comes a number from 0 or a UUID");
    EXPECT_EQ(message_of(open("cuda:")), "lane cuda:: after the colon comes a number from 0 or a UUID");
    EXPECT_EQ(message_of(open("cpu:1")), "CPU device 1: there is one, counted from 0");
    EXPECT_EQ(message_of(open("hip:2")),
              "HIP device 2: " KINETOGRAPH_STANDIN_HIP_LIBRARY " has 2 devices, counted from 0");
    EXPECT_EQ(message_of(open("cuda:GPU-00000000-0000-0000-0000-000000000000")),
              "no cuda device has the UUID GPU-00000000-0000-0000-0000-000000000000; there is: "
              "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a, GPU-5b5b5b5b-5b5b-5b5b-5b5b-5b5b5b5b5b5b");
}

TEST(AdoptStream, TheCpuHasNone) {
    const auto cpu = open("cpu").value();
    const auto adopted = cpu->adopt_stream("theirs", nullptr);
    ASSERT_FALSE(adopted);
    EXPECT_EQ(adopted.error().message,
              "adopting stream \"theirs\": " + cpu->info().name + " has no streams of a caller's");
}

}  // namespace
}  // namespace kinetograph::accel
