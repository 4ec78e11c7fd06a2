#include <kinetograph/engine/base/cache_folder.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/pipeline_cache.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace kinetograph::vulkan {
namespace {

using Hash = XXH64_hash_t;

constexpr std::uintmax_t kMost = std::uintmax_t{256} << 20U;  // bytes of a file

std::vector<std::byte> read(const std::filesystem::path& file) {
    std::error_code ignored;
    const std::uintmax_t bytes = std::filesystem::file_size(file, ignored);
    if (ignored || bytes > kMost) return {};
    std::vector<std::byte> contents(bytes);
    std::ifstream stream(file, std::ios::binary);
    stream.read(reinterpret_cast<char*>(contents.data()), static_cast<std::streamsize>(bytes));
    contents.resize(static_cast<std::size_t>(stream.gcount()));
    return contents;
}

Result<void> write(const std::filesystem::path& path, std::span<const std::byte> contents) {
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    KG_TRY(auto file, ReplacingFile::create(path));
    KG_CHECK(file.write(contents));
    return file.commit();
}

std::filesystem::path file_for(const VkPhysicalDeviceProperties& properties) {
    const std::filesystem::path folder = cache_folder();
    if (folder.empty()) return {};
    std::string uuid;
    for (const std::uint8_t byte : properties.pipelineCacheUUID) uuid += fmt::format("{:02x}", byte);
    return folder / fmt::format("pipelines-{}-{:x}.bin", uuid, properties.driverVersion);
}

}  // namespace

std::vector<std::byte> sealed_pipelines(std::span<const std::byte> cache) {
    const Hash hash = XXH3_64bits(cache.data(), cache.size());
    std::vector<std::byte> sealed(sizeof(hash) + cache.size());
    std::memcpy(sealed.data(), &hash, sizeof(hash));
    std::ranges::copy(cache, sealed.begin() + sizeof(hash));
    return sealed;
}

std::optional<std::vector<std::byte>> unsealed_pipelines(std::span<const std::byte> sealed,
                                                         const VkPhysicalDeviceProperties& properties) {
    Hash hash{};
    VkPipelineCacheHeaderVersionOne header{};
    if (sealed.size() < sizeof(hash) + sizeof(header)) return std::nullopt;
    std::memcpy(&hash, sealed.data(), sizeof(hash));
    const std::span cache = sealed.subspan(sizeof(hash));
    if (XXH3_64bits(cache.data(), cache.size()) != hash) return std::nullopt;
    std::memcpy(&header, cache.data(), sizeof(header));
    const bool fits = header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
                      header.vendorID == properties.vendorID && header.deviceID == properties.deviceID &&
                      std::ranges::equal(header.pipelineCacheUUID, properties.pipelineCacheUUID);
    if (!fits) return std::nullopt;
    return std::vector(cache.begin(), cache.end());
}

Result<std::unique_ptr<PipelineCache>> PipelineCache::create(VkDevice device, const VolkDeviceTable& table,
                                                             const VkPhysicalDeviceProperties& properties) {
    std::unique_ptr<PipelineCache> made(new PipelineCache(device, table));
    made->file_ = file_for(properties);
    const auto left = unsealed_pipelines(read(made->file_), properties);
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = left ? left->size() : 0;
    info.pInitialData = left ? left->data() : nullptr;
    if (const VkResult result = table.vkCreatePipelineCache(device, &info, nullptr, &made->handle_);
        result != VK_SUCCESS)
        return fail(result, "vkCreatePipelineCache");
    made->bytes_at_first_ = made->contents().size();
    return made;
}

PipelineCache::~PipelineCache() {
    if (handle_ == VK_NULL_HANDLE) return;
    save();
    table_.vkDestroyPipelineCache(device_, handle_, nullptr);
}

/// Empty if the driver does not give it.
std::vector<std::byte> PipelineCache::contents() const {
    std::size_t bytes = 0;
    if (table_.vkGetPipelineCacheData(device_, handle_, &bytes, nullptr) != VK_SUCCESS) return {};
    std::vector<std::byte> contents(bytes);
    if (table_.vkGetPipelineCacheData(device_, handle_, &bytes, contents.data()) != VK_SUCCESS) return {};
    contents.resize(bytes);
    return contents;
}

void PipelineCache::save() const {
    if (file_.empty()) return;
    const std::vector<std::byte> grown = contents();
    if (grown.size() <= bytes_at_first_ || grown.size() > kMost) return;
    [[maybe_unused]] const auto written = write(file_, sealed_pipelines(grown));  // else they are compiled again
}

}  // namespace kinetograph::vulkan
