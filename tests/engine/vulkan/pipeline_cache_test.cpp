// What a driver has compiled, from one device to the next: read only as it was written, and of the same driver.
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/pipeline_cache.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace kinetograph::vulkan {
namespace {

VkPhysicalDeviceProperties some_device() {
    VkPhysicalDeviceProperties properties{};
    properties.vendorID = 0x10DE;
    properties.deviceID = 0x2335;
    properties.driverVersion = 7;
    for (std::uint8_t i = 0; i < VK_UUID_SIZE; ++i) properties.pipelineCacheUUID[i] = i;
    return properties;
}

/// A driver's cache: the header, then `bytes` of its own.
std::vector<std::byte> cache_of(const VkPhysicalDeviceProperties& properties, std::size_t bytes) {
    VkPipelineCacheHeaderVersionOne header{
        sizeof(header), VK_PIPELINE_CACHE_HEADER_VERSION_ONE, properties.vendorID, properties.deviceID, {}};
    std::memcpy(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE);
    std::vector<std::byte> cache(sizeof(header) + bytes, std::byte{0x5A});
    std::memcpy(cache.data(), &header, sizeof(header));
    return cache;
}

TEST(PipelineCaches, AreReadAsTheyWereSealedAndNotOtherwise) {
    const VkPhysicalDeviceProperties device = some_device();
    const std::vector<std::byte> cache = cache_of(device, 100), sealed = sealed_pipelines(cache);
    EXPECT_EQ(unsealed_pipelines(sealed, device), cache);
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::vector<std::byte> damaged = sealed;
        damaged[i] ^= std::byte{1};
        EXPECT_FALSE(unsealed_pipelines(damaged, device)) << "byte " << i;
        EXPECT_FALSE(unsealed_pipelines(std::span(sealed).first(i), device)) << i << " bytes";
    }
}

TEST(PipelineCaches, OfAnotherDeviceOrDriverAreNotRead) {
    const VkPhysicalDeviceProperties device = some_device();
    const auto refused = [&](void (*change)(VkPhysicalDeviceProperties&)) {
        VkPhysicalDeviceProperties other = device;
        change(other);
        return !unsealed_pipelines(sealed_pipelines(cache_of(other, 10)), device);
    };
    EXPECT_TRUE(refused([](VkPhysicalDeviceProperties& p) { ++p.vendorID; }));
    EXPECT_TRUE(refused([](VkPhysicalDeviceProperties& p) { ++p.deviceID; }));
    EXPECT_TRUE(refused([](VkPhysicalDeviceProperties& p) { ++p.pipelineCacheUUID[VK_UUID_SIZE - 1]; }));
    EXPECT_FALSE(refused([](VkPhysicalDeviceProperties&) {}));
}

/// Calls of the driver's, in whose place a test's own stand.
struct Driver {
    std::vector<std::byte> given, grown;  ///< to begin with; what it has at the end
};
Driver* driver = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL create(VkDevice, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks*,
                                      VkPipelineCache* cache) {
    const auto* data = static_cast<const std::byte*>(info->pInitialData);
    driver->given.assign(data, data + info->initialDataSize);
    std::memset(cache, 1, sizeof(*cache));
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL get(VkDevice, VkPipelineCache, std::size_t* bytes, void* data) {
    if (data != nullptr) std::memcpy(data, driver->grown.data(), *bytes);
    *bytes = driver->grown.size();
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy(VkDevice, VkPipelineCache, const VkAllocationCallbacks*) {}

class PipelineCacheFiles : public ::testing::Test {
  protected:
    void SetUp() override {
        if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
        folder_ = std::filesystem::path(::testing::TempDir()) /
                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
        table_.vkCreatePipelineCache = create;
        table_.vkGetPipelineCacheData = get;
        table_.vkDestroyPipelineCache = destroy;
        driver = &driver_;
    }
    void TearDown() override {
        driver = nullptr;
        if (before_.empty())
            ::unsetenv("XDG_CACHE_HOME");
        else
            ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }
    /// Of a process whose driver had `first` at the beginning and `last` at the end.
    std::filesystem::path run(const VkPhysicalDeviceProperties& device, std::size_t first, std::size_t last) {
        driver_.grown = cache_of(device, first);
        const auto cache = PipelineCache::create(nullptr, table_, device);
        EXPECT_TRUE(cache) << cache.error().message;
        driver_.grown = cache_of(device, last);
        return (*cache)->file();
    }

    std::string before_;
    std::filesystem::path folder_;
    VolkDeviceTable table_{};
    Driver driver_;
};

TEST_F(PipelineCacheFiles, AreWrittenOnceTheyHaveGrownAndReadByTheNext) {
    const VkPhysicalDeviceProperties device = some_device();
    const auto file = run(device, 0, 0);
    EXPECT_EQ(file.filename(), "pipelines-000102030405060708090a0b0c0d0e0f-7.bin");
    EXPECT_FALSE(std::filesystem::exists(file)) << "nothing was compiled";
    run(device, 0, 50);
    EXPECT_TRUE(driver_.given.empty());
    run(device, 50, 50);
    EXPECT_EQ(driver_.given, cache_of(device, 50));
    VkPhysicalDeviceProperties newer = device;
    ++newer.driverVersion;
    EXPECT_NE(run(newer, 0, 0), file);
    EXPECT_TRUE(driver_.given.empty());

    std::ofstream(file, std::ios::binary | std::ios::app) << "more";
    run(device, 0, 20);
    EXPECT_TRUE(driver_.given.empty()) << "a damaged file is not given to the driver";
    run(device, 20, 20);
    EXPECT_EQ(driver_.given, cache_of(device, 20));
}

TEST_F(PipelineCacheFiles, ThatCannotBeWrittenCostNothing) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "kinetograph") << "no folder";
    run(some_device(), 0, 50);
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    const char* home = std::getenv("HOME");
    const std::string kept = home != nullptr ? home : "";
    ::unsetenv("HOME");
    EXPECT_EQ(run(some_device(), 0, 50), "");
    if (home != nullptr) ::setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace kinetograph::vulkan
