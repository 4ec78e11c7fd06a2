#include <kinetograph/engine/vulkan/upload_heap.hpp>

#include <algorithm>
#include <bit>

namespace kinetograph::vulkan {
namespace {
constexpr VkDeviceSize kSmallest = 256ULL << 10U;
}

Result<Upload> UploadHeap::allocate(VkDeviceSize bytes, VkDeviceSize alignment) {
    VkDeviceSize offset = (used_ + alignment - 1) / alignment * alignment;
    if (buffers_.empty() || offset + bytes > buffers_.back()->bytes()) {
        const VkDeviceSize size = std::bit_ceil(std::max({bytes, wanted_, kSmallest}));
        KG_TRY(auto buffer, Buffer::create(device_, "upload", size, {.memory = MemoryUse::Upload}));
        buffers_.push_back(std::move(buffer));
        offset = 0;
    }
    used_ = offset + bytes;
    wanted_ += bytes + alignment;
    return Upload{buffers_.back()->handle(), offset, buffers_.back()->mapped() + offset};
}

void UploadHeap::reset() {
    if (buffers_.size() > 1) buffers_.clear();  // the next allocation takes one buffer for all of `wanted_`
    used_ = 0;
    if (!buffers_.empty()) wanted_ = 0;
}

}  // namespace kinetograph::vulkan
