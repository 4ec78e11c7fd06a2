// Frames that the viewer draws where the CUDA lane leaves them; the lane's kernels run in the host model, on the
// stand-in driver beside lavapipe.
#include "in_place_test.hpp"

#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/samples/viewer/checkpoint_source.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <array>

namespace kinetograph::viewer {
namespace {

using testing::Pictures;
using testing::Way;

constexpr const char* kLibrary = KINETOGRAPH_STANDIN_CUDA_LIBRARY;

standin::Control& control() { return *accel::control_of(kLibrary); }

Result<std::unique_ptr<accel::Device>> create_device(const standin::Options& options) {
    control().reset(options);
    return accel::cuda::create_device({.library = kLibrary});
}

class CudaClips : public testing::InPlaceTest {
  protected:
    void TearDown() override {
        for (const std::string& complaint : control().complaints()) ADD_FAILURE() << complaint;
        EXPECT_EQ(control().live(), standin::Live{}) << "something is alive still";
    }
    void expect_both_ways_alike(const char* topology) {
        latent_frames_ = 2;
        const Pictures uploaded = view(Way::Uploaded), in_place = view(Way::InPlace);
        EXPECT_EQ(route_.rfind(topology, 0), 0U) << route_;
        ASSERT_EQ(in_place.size(), static_cast<std::size_t>(frames()));
        EXPECT_TRUE(in_place == uploaded);
        EXPECT_EQ(spans("upload", "transfer"), 0U);
        EXPECT_EQ(spans("frames to images", "async_compute"), static_cast<std::size_t>(latent_frames_));
        EXPECT_EQ(spans("write_frames", "accelerator"), static_cast<std::size_t>(latent_frames_));
    }
};

TEST_F(CudaClips, OnTheGpuThatDrawsShowBitForBitWhatAnUploadShowsAndUploadNothing) {
    make_device_ = [](const vulkan::Device& display) {
        return create_device({.uuid = display.report().uuid, .files = standin::MemoryFiles::Lavapipe});
    };
    expect_both_ways_alike("shared: ");
}

TEST_F(CudaClips, OnAnotherGpuShowBitForBitWhatAnUploadShowsAndUploadNothing) {
    make_device_ = [](const vulkan::Device&) { return create_device({}); };
    expect_both_ways_alike("staged: ");
}

/// A clip of the smallest size in a file.
std::filesystem::path write_clip(const test::TemporaryFolder& folder) {
    const vae::Latents clip = stream::testing::small_clip(1, 1);
    const std::array tensors{tensor::NamedTensor{"latents",
                                                 {tensor::DType::F32,
                                                  {clip.channels, clip.frames, clip.height, clip.width},
                                                  reinterpret_cast<const std::byte*>(clip.values.data()),
                                                  clip.values.size() * sizeof(float)}}};
    auto path = folder.path() / "clip.safetensors";
    EXPECT_TRUE(tensor::write_safetensors(path, tensors, {{"fps", "12"}}));
    return path;
}

TEST_F(CudaClips, ComeThroughTheHostAndSayWhyWhereTheDevicesHaveNothingInCommon) {
    const test::TemporaryFolder folder;
    vulkan::testing::faults().reset();
    vulkan::testing::faults().no_external_memory_host = true;
    const auto loader = vulkan::testing::faulty_loader();
    ASSERT_TRUE(loader) << loader.error().message;
    const auto instance = vulkan::Instance::create(*loader).value();
    const auto display = vulkan::Device::create(*instance).value();
    std::vector<Route> routes;
    CheckpointSource source("synthetic:wan2.1,dim=2", "",
                            {.accelerator = create_device({.registers_host_memory = false}).value()},
                            [&](const Route& route) { routes.push_back(route); });
    source.draw_on(*display);
    Player player(source, false, 1.0);
    player.open(write_clip(folder), host_now());
    for (const Nanoseconds end = host_now() + std::chrono::seconds(60); !player.ended() && host_now() < end;) {
        const auto moved = player.advance(host_now(), std::chrono::milliseconds(16));
        ASSERT_TRUE(moved) << moved.error().message;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_NE(player.frame(), nullptr);
    EXPECT_FALSE(player.frame()->pixels->record().host.empty());
    ASSERT_EQ(routes.size(), 1U);
    EXPECT_TRUE(routes[0].is_detour);
    EXPECT_EQ(routes[0].sentence.rfind("frames come through the host: headless: ", 0), 0U) << routes[0].sentence;
    ASSERT_EQ(player.toasts().size(), 1U);
    EXPECT_EQ(player.toasts()[0].text, routes[0].sentence);
}

}  // namespace
}  // namespace kinetograph::viewer
