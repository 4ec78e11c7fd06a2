#include "interop_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::interop {
namespace {

using testing::Pairing;

constexpr std::uint64_t kWords = 3000;  // no whole number of pages
constexpr std::uint64_t kBytes = kWords * sizeof(std::uint32_t);

class SharedBuffers : public testing::InteropTest {
  protected:
    void expect_fallback(Staging staging, std::string_view reason) {
        EXPECT_EQ(bridge_->choice().staging, staging) << bridge_->choice().reason;
        EXPECT_NE(bridge_->choice().reason.find(reason), std::string::npos) << bridge_->choice().reason;
        const auto buffer = bridge_->memory().create_buffer("after all", kBytes);
        EXPECT_TRUE(buffer) << buffer.error().message;
    }
};
class SharedBuffersOf : public SharedBuffers, public ::testing::WithParamInterface<Pairing> {};

TEST_P(SharedBuffersOf, BothSidesSeeWhatTheOtherHasWritten) {
    ASSERT_NO_FATAL_FAILURE(open(GetParam()));
    if (IsSkipped()) return;
    auto shared = bridge_->memory().create_buffer("shared", kBytes);
    auto result = vulkan::Buffer::create(*display_, "result", kBytes, {.memory = vulkan::MemoryUse::Readback});
    ASSERT_TRUE(shared && result);
    const auto stream = accelerator_->create_stream("test").value();
    const VolkDeviceTable& table = display_->table();

    (*stream).fill((*shared)->address(), std::byte{0x5a}, kBytes);
    ASSERT_TRUE(stream->synchronize());
    ASSERT_TRUE(display_->run_once("copying", [&](VkCommandBuffer commands) {
        const VkBufferCopy all{0, 0, kBytes};
        table.vkCmdCopyBuffer(commands, (*shared)->buffer()->handle(), (*result)->handle(), 1, &all);
    }));
    std::vector<std::uint32_t> words(kWords);
    std::memcpy(words.data(), (*result)->mapped(), kBytes);
    EXPECT_EQ(std::count(words.begin(), words.end(), 0x5a5a5a5aU), static_cast<std::ptrdiff_t>(kWords));

    ASSERT_TRUE(display_->run_once("filling", [&](VkCommandBuffer commands) {
        table.vkCmdFillBuffer(commands, (*shared)->buffer()->handle(), 0, kBytes, 0xabcdef01U);
    }));
    ASSERT_TRUE(stream->read_back(std::as_writable_bytes(std::span(words)), (*shared)->address()));
    EXPECT_EQ(std::count(words.begin(), words.end(), 0xabcdef01U), static_cast<std::ptrdiff_t>(kWords));
    EXPECT_EQ((*shared)->host_address() != nullptr, GetParam().topology == Topology::Staged);
}

INSTANTIATE_TEST_SUITE_P(Pairings, SharedBuffersOf,
                         ::testing::Values(testing::kSharedRelayed, testing::kStagedPinned, testing::kStagedMapped),
                         [](const auto& pairing) { return pairing.param.name; });

TEST_F(SharedBuffers, HeadlessTheyAreTheAcceleratorsMemory) {
    accelerator_ = accel::cpu::create_device();
    make_bridge();
    EXPECT_EQ(bridge_->choice().topology, Topology::Headless);
    const auto before = accelerator_->bytes_allocated();
    auto shared = bridge_->memory().create_buffer("frames", kBytes);
    ASSERT_TRUE(shared);
    EXPECT_EQ((*shared)->buffer(), nullptr);
    EXPECT_GE(accelerator_->bytes_allocated(), before + kBytes);
    EXPECT_EQ((*shared)->physical(16, 32).address(), (*shared)->address() + 16);
}

TEST_F(SharedBuffers, AnImportThatFailsIsRuledOutAndToldWhy) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    accelerator_ = testing::create_same_gpu({.uuid = display_->report().uuid, .refuses_imports = true});
    make_bridge();
    expect_fallback(Staging::Pinned, "staged: tried in vain: \"a page to try\": this memory is refused");
}

TEST_F(SharedBuffers, PinnedMemoryThatVulkansDriverDeclinesGivesWayToMappedMemory) {
    vulkan::testing::faults().no_host_imports = true;
    ASSERT_NO_FATAL_FAILURE(open_display());
    accelerator_ = accel::cpu::create_device();
    make_bridge();
    expect_fallback(Staging::Mapped, "asking how to import \"a page to try\" from the host");
}

TEST_F(SharedBuffers, WithNothingLeftItIsHeadless) {
    vulkan::testing::faults().no_external_memory_host = true;
    ASSERT_NO_FATAL_FAILURE(open_display());
    accelerator_ = testing::create_same_gpu({.refuses_host_memory = true});
    make_bridge();
    EXPECT_EQ(bridge_->choice().topology, Topology::Headless);
    EXPECT_EQ(bridge_->display(), nullptr);
    EXPECT_NE(bridge_->choice().reason.find("these pages are refused"), std::string::npos) << bridge_->choice().reason;
}

TEST_F(SharedBuffers, OutOfMemoryNamesTheBufferAndEndsTheSearch) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    accelerator_ = accel::cpu::create_device({.budget = {.bytes = 1U << 20U}});
    make_bridge();
    const auto buffer = bridge_->memory().create_buffer("frames of a film", 1U << 30U);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(buffer.error().message.find("\"frames of a film\" needs"), std::string::npos) << buffer.error().message;
}

TEST_F(SharedBuffers, PagesThatAreNotWholeAreRefused) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    const auto memory = accel::cpu::create_device()->allocate_pinned("pages", 8192).value();
    for (const std::span<std::byte> pages :
         {std::span(memory->host_data() + 64, 4096), std::span(memory->host_data(), 4000), std::span<std::byte>{}}) {
        const auto buffer = vulkan::Buffer::import_host(*display_, "odd", pages);
        ASSERT_FALSE(buffer);
        EXPECT_EQ(buffer.error().code, ErrorCode::InvalidArgument);
        EXPECT_NE(buffer.error().message.find("are not whole pages of 4096 bytes"), std::string::npos);
    }
}

}  // namespace
}  // namespace kinetograph::interop
