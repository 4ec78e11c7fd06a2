// Both targets run the same frames: clear to a colour, read back, present.
#include "../vulkan/blocked_queue.hpp"
#include "../vulkan/faults.hpp"
#include "virtual_display.hpp"

#include <kinetograph/engine/present/offscreen.hpp>
#include <kinetograph/engine/present/readback.hpp>
#include <kinetograph/engine/present/swapchain.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace kinetograph::present {
namespace {

struct Clear {
    graph::Image image;
};

class Targets : public ::testing::Test {
  protected:
    /// A window's target on a device with injected faults; neither where there is no display.
    void open_faulty_window() {
        open_device(true, vulkan::testing::faulty_loader());
        if (!device_) return;
        auto target = SwapchainTarget::create(*device_, *window_, surface_, *lane_);
        ASSERT_TRUE(target) << target.error().message;
        target_ = std::move(*target);
    }
    void open_device(bool in_window, Result<vulkan::Loader> loader = vulkan::Loader::open()) {
        ASSERT_TRUE(loader) << loader.error().message;
        vulkan::InstanceOptions options;
        // It does not know of extensions that only the stand-in has, nor that a picture was dropped.
        const auto& faults = vulkan::testing::faults();
        options.validation =
            faults.tells_screen || faults.drops_presents ? vulkan::Validation::Off : vulkan::Validation::On;
        if (in_window) {
            display_ = testing::VirtualDisplay::start();
            if (!display_) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
            auto window = Window::create({.title = "test", .width = 320, .height = 200});
            ASSERT_TRUE(window) << window.error().message;
            window_ = std::move(*window);
            options.extensions = Window::instance_extensions();
        }
        auto instance = vulkan::Instance::create(*loader, options);
        ASSERT_TRUE(instance) << instance.error().message;
        instance_ = std::move(*instance);
        log_ = instance_->validation();
        if (in_window) {
            auto surface = window_->create_surface(*instance_);
            ASSERT_TRUE(surface) << surface.error().message;
            surface_ = *surface;
        }
        auto device = vulkan::Device::create(*instance_, {.surface = surface_});
        if (!device && in_window) GTEST_SKIP() << device.error().message;  // a GPU without a display of its own
        ASSERT_TRUE(device) << device.error().message;
        device_ = std::move(*device);
        auto lane = vulkan::VulkanLane::create(*device_, graph::Lane::Graphics);
        ASSERT_TRUE(lane);
        lane_ = std::move(*lane);
        memory_ = std::make_unique<vulkan::VulkanMemory>(*device_);
        graph::ExecutorDesc desc;
        desc.lanes = {lane_.get()};
        desc.memory = {{graph::MemoryDomain::Graphics, memory_.get()}};
        auto executor = graph::Executor::create(std::move(desc));
        ASSERT_TRUE(executor);
        executor_ = std::move(*executor);
        readback_ = std::make_unique<Readback>(*device_);
    }
    void TearDown() override {
        if (device_) {
            ASSERT_TRUE(device_->wait_idle());
        }
        target_.reset();
        readback_.reset();
        executor_.reset();
        memory_.reset();
        lane_.reset();
        device_.reset();
        if (surface_ != VK_NULL_HANDLE) instance_->table().vkDestroySurfaceKHR(instance_->handle(), surface_, nullptr);
        instance_.reset();
        window_.reset();
        display_.reset();
        if (log_) {
            EXPECT_EQ(log_->text(), "");
        }
    }
    static graph::Image clear(graph::FrameGraph& frame, graph::Image target) {
        return frame
            .add_pass<Clear>(
                "clear", graph::Lane::Graphics,
                [&](graph::PassBuilder& pass, Clear& data) {
                    data.image = pass.write(target, graph::Access::ColorAttachment);
                },
                [](const Clear& data, vulkan::PassContext& context) {
                    context.begin_rendering(context.image(data.image), vulkan::PassContext::Contents::Clear, {});
                    context.end_rendering();
                })
            .image;
    }
    /// One picture of one colour. None if the target takes none now.
    std::optional<Picture> show(float red, float green, float blue) {
        auto image = target_->acquire();
        EXPECT_TRUE(image) << image.error().message;
        if (!image || *image == nullptr) return std::nullopt;
        graph::FrameGraph frame;
        const graph::Image target = frame.import_image("target", target_->desc(), physical_of(**image));
        const graph::Image drawn =
            frame
                .add_pass<Clear>(
                    "clear", graph::Lane::Graphics,
                    [&](graph::PassBuilder& pass, Clear& data) {
                        data.image = pass.write(target, graph::Access::ColorAttachment);
                    },
                    [=](const Clear& data, vulkan::PassContext& context) {
                        context.begin_rendering(context.image(data.image), vulkan::PassContext::Contents::Clear,
                                                {{red, green, blue, 1.0F}});
                        context.end_rendering();
                    })
                .image;
        EXPECT_TRUE(readback_->declare(frame, drawn, target_->desc()));
        target_->declare_handover(frame, drawn);
        auto execution = executor_->execute(frame);
        EXPECT_TRUE(execution) << execution.error().message;
        if (!execution) return std::nullopt;
        EXPECT_TRUE(target_->present(*execution));
        EXPECT_TRUE(executor_->wait(*execution));
        return readback_->picture();
    }
    static void expect_color(const std::optional<Picture>& picture, std::uint32_t width, std::uint32_t height,
                             std::array<std::uint8_t, 4> rgba) {
        ASSERT_TRUE(picture);
        EXPECT_EQ(picture->width, width);
        EXPECT_EQ(picture->height, height);
        for (std::size_t i = 0; i < picture->rgba.size(); ++i) ASSERT_EQ(picture->rgba[i], rgba[i % 4]) << "byte " << i;
    }

    std::unique_ptr<testing::VirtualDisplay> display_;
    std::unique_ptr<Window> window_;
    std::unique_ptr<vulkan::Instance> instance_;
    std::shared_ptr<vulkan::ValidationLog> log_;
    VkSurfaceKHR surface_ = VK_NULL_HANDLE;
    std::unique_ptr<vulkan::Device> device_;
    std::unique_ptr<vulkan::VulkanLane> lane_;
    std::unique_ptr<vulkan::VulkanMemory> memory_;
    std::unique_ptr<graph::Executor> executor_;
    std::unique_ptr<Readback> readback_;
    std::unique_ptr<Target> target_;
};

TEST_F(Targets, OffscreenPicturesAreReadBackExactly) {
    open_device(false);
    auto target = OffscreenTarget::create(*device_, 64, 48);
    ASSERT_TRUE(target) << target.error().message;
    target_ = std::move(*target);
    for (int i = 0; i < 5; ++i)
        expect_color(show(0.2F * static_cast<float>(i), 1.0F, 0.0F), 64, 48,
                     {static_cast<std::uint8_t>(51 * i), 255, 0, 255});
}

TEST_F(Targets, AWindowShowsPicturesAndFollowsItsSize) {
    open_device(true);
    if (!device_) return;
    auto target = SwapchainTarget::create(*device_, *window_, surface_, *lane_);
    ASSERT_TRUE(target) << target.error().message;
    SwapchainTarget& swapchain = **target;
    target_ = std::move(*target);
    for (int i = 0; i < 8; ++i) expect_color(show(1.0F, 0.0F, 0.2F), 320, 200, {255, 0, 51, 255});
    EXPECT_EQ(swapchain.recreations(), 1U);

    glfwSetWindowSize(window_->handle(), 500, 300);
    std::optional<Picture> picture;
    for (int i = 0; i < 50 && !(picture && picture->width == 500); ++i) {
        window_->poll();
        picture = show(0.0F, 1.0F, 0.4F);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    expect_color(picture, 500, 300, {0, 255, 102, 255});
    for (int i = 0; i < 4; ++i) expect_color(show(0.0F, 0.0F, 1.0F), 500, 300, {0, 0, 255, 255});
    EXPECT_GE(swapchain.recreations(), 2U);
}

TEST_F(Targets, AWindowShowsPicturesAfterExecutionsThatHaveFailed) {
    open_device(true);
    if (!device_) return;
    auto target = SwapchainTarget::create(*device_, *window_, surface_, *lane_);
    ASSERT_TRUE(target) << target.error().message;
    target_ = std::move(*target);
    const auto fail_to_draw = [&] {
        auto image = target_->acquire();
        ASSERT_TRUE(image) << image.error().message;
        ASSERT_NE(*image, nullptr);
        graph::FrameGraph frame;
        const graph::Image drawn =
            frame
                .add_pass<Clear>(
                    "fails", graph::Lane::Graphics,
                    [&](graph::PassBuilder& pass, Clear& data) {
                        data.image = pass.write(frame.import_image("target", target_->desc(), physical_of(**image)),
                                                graph::Access::ColorAttachment);
                    },
                    [](const Clear&, vulkan::PassContext&) { throw std::runtime_error("its mesh is gone"); })
                .image;
        target_->declare_handover(frame, drawn);
        EXPECT_FALSE(executor_->execute(frame));
    };
    for (int i = 0; i < 10; ++i) {  // a swapchain has fewer images
        ASSERT_NO_FATAL_FAILURE(fail_to_draw());
        expect_color(show(1.0F, 0.0F, 0.2F), 320, 200, {255, 0, 51, 255});
    }
    ASSERT_NO_FATAL_FAILURE(fail_to_draw());
    glfwSetWindowSize(window_->handle(), 500, 300);
    std::optional<Picture> picture;
    for (int i = 0; i < 50 && !(picture && picture->width == 500); ++i) {
        window_->poll();
        picture = show(0.0F, 1.0F, 0.4F);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    expect_color(picture, 500, 300, {0, 255, 102, 255});
    ASSERT_NO_FATAL_FAILURE(fail_to_draw());
}

/// Pictures are dropped, because lavapipe waits for one before it presents it.
TEST_F(Targets, AWindowTakesNoPictureWhileItsQueueIsBlocked) {
    using vulkan::testing::faults;
    faults().drops_presents = true;
    const auto recover = std::unique_ptr<void, void (*)(void*)>(&faults(), [](void*) { faults().reset(); });
    ASSERT_NO_FATAL_FAILURE(open_faulty_window());
    if (!device_) return;
    const auto gate = vulkan::TimelineSemaphore::create(*device_, "gate").value();
    vulkan::testing::block(*device_, graph::Lane::Graphics, *gate);
    const Nanoseconds begin = host_now();
    int taken = 0;
    for (int i = 0; i < 4; ++i) {
        auto image = target_->acquire();
        ASSERT_TRUE(image) << image.error().message;
        if (*image == nullptr) continue;
        ++taken;
        graph::FrameGraph frame;
        const graph::Image drawn = frame.import_image("target", target_->desc(), physical_of(**image));
        target_->declare_handover(frame, clear(frame, drawn));
        const auto execution = executor_->execute(frame);
        ASSERT_TRUE(execution) << execution.error().message;
        ASSERT_TRUE(target_->present(*execution));
    }
    EXPECT_EQ(taken, 2) << "so many are in flight";
    EXPECT_LT(host_now() - begin, graph::kWorkPatience / 2);
    gate->signal(1);
    ASSERT_TRUE(device_->wait_idle());
    const auto image = target_->acquire();
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_NE(*image, nullptr) << "it goes on";
}

TEST_F(Targets, AWindowTellsWhenPicturesAreOnTheScreenWhereTheDriverHasPresentWait) {
    using vulkan::testing::faults;
    faults().tells_screen = true;
    const auto recover = std::unique_ptr<void, void (*)(void*)>(&faults(), [](void*) { faults().reset(); });
    ASSERT_NO_FATAL_FAILURE(open_faulty_window());
    if (!device_) return;
    EXPECT_EQ(target_->screen_source(), "VK_KHR_present_wait");
    const Nanoseconds before = host_now();
    ASSERT_TRUE(show(1.0F, 0.0F, 0.0F));
    const std::uint64_t first = faults().presented;
    ASSERT_TRUE(show(1.0F, 0.0F, 0.0F));
    EXPECT_EQ(faults().presented, first + 1);
    EXPECT_TRUE(target_->take_on_screen().empty()) << "nothing is on the screen yet";
    faults().on_screen = first;
    std::vector<Target::OnScreen> seen;
    while (seen.empty()) seen = target_->take_on_screen();  // a test that hangs has failed
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].execution + 1, first);
    EXPECT_GE(seen[0].time, before);
    EXPECT_LE(seen[0].time, host_now());

    // The second one is never shown: its swapchain can be replaced and destroyed all the same, while no thread waits.
    while (faults().screen_waits < 2) std::this_thread::yield();
    glfwSetWindowSize(window_->handle(), 500, 300);
    for (int i = 0; i < 50 && target_->desc().width != 500; ++i) {
        window_->poll();
        show(0.0F, 1.0F, 0.0F);
    }
    target_.reset();
    EXPECT_EQ(faults().waits_for_destroyed, 0);
}

TEST_F(Targets, AWindowSaysThatNothingTellsOfTheScreenWhereTheDriverHasNoPresentWait) {
    open_device(true);
    if (!device_) return;
    if (device_->report().extensions.present_wait) GTEST_SKIP() << device_->report().name << " tells";
    auto target = SwapchainTarget::create(*device_, *window_, surface_, *lane_);
    ASSERT_TRUE(target) << target.error().message;
    target_ = std::move(*target);
    EXPECT_EQ(target_->screen_source(), "");
    show(1.0F, 0.0F, 0.0F);
    EXPECT_TRUE(target_->take_on_screen().empty());
}

/// Calls GLFW's callbacks in GLFW's order: the key first, then its character.
TEST(WindowInput, KeysCharactersAndDroppedFilesBecomeEvents) {
    const auto display = testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    auto window = Window::create({.title = "input", .width = 100, .height = 100});
    ASSERT_TRUE(window) << window.error().message;
    GLFWwindow* handle = (*window)->handle();
    const GLFWkeyfun key = glfwSetKeyCallback(handle, nullptr);
    const GLFWcharfun character = glfwSetCharCallback(handle, nullptr);
    const GLFWdropfun drop = glfwSetDropCallback(handle, nullptr);
    ASSERT_TRUE(key != nullptr && character != nullptr && drop != nullptr);
    (*window)->poll();

    key(handle, GLFW_KEY_L, 0, GLFW_PRESS, GLFW_MOD_SHIFT);
    character(handle, 'L');
    key(handle, GLFW_KEY_PERIOD, 0, GLFW_REPEAT, 0);
    character(handle, '.');
    key(handle, GLFW_KEY_ESCAPE, 0, GLFW_PRESS, 0);
    key(handle, GLFW_KEY_ESCAPE, 0, GLFW_RELEASE, 0);
    const char* files[] = {"/tmp/one.safetensors", "/tmp/two.safetensors"};
    drop(handle, 2, files);
    const auto events = (*window)->poll();
    ASSERT_EQ(events.size(), 4U);
    EXPECT_EQ(std::get<KeyEvent>(events[0]), (KeyEvent{Key::Character, U'L', false}));
    EXPECT_EQ(std::get<KeyEvent>(events[1]), (KeyEvent{Key::Character, U'.', true}));
    EXPECT_EQ(std::get<KeyEvent>(events[2]), (KeyEvent{Key::Escape, 0, false}));
    EXPECT_EQ(std::get<DropEvent>(events[3]).paths.back(), "/tmp/two.safetensors");
    EXPECT_TRUE((*window)->poll().empty());
}

TEST(WindowCreation, AScaledWindowGrowsWithTheDisplaysScaleAsFarAsTheDisplayHasRoom) {
    const auto display = testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    const auto size_at = [&](int dots, const WindowOptions& options) {
        testing::VirtualDisplay::set_dots_per_inch(dots);
        const auto window = Window::create(options);
        if (!window) return window.error().message;
        EXPECT_EQ((*window)->content_scale(), static_cast<float>(dots) / 96);
        return std::to_string((*window)->width()) + "x" + std::to_string((*window)->height());
    };
    if (const std::string size = size_at(96, {}); size.starts_with("this display cannot show Vulkan"))
        GTEST_SKIP() << size;
    EXPECT_EQ(size_at(144, {.width = 640, .height = 360, .is_scaled = true}), "960x540");
    EXPECT_EQ(size_at(96, {.is_scaled = true}), "1280x720");
    EXPECT_EQ(size_at(192, {.is_scaled = true}), "1600x900") << "of 1600x1200";
    EXPECT_EQ(size_at(192, {.width = 400, .height = 800, .is_scaled = true}), "600x1200");
    EXPECT_EQ(size_at(192, {}), "1280x720");
}

TEST(WindowCreation, WithoutADisplayTheErrorSaysSo) {
    const testing::NoDisplay none;
    const auto window = Window::create();
    ASSERT_FALSE(window);
    EXPECT_EQ(window.error().code, ErrorCode::NotFound);
    EXPECT_EQ(window.error().message.find("no display: "), 0U) << window.error().message;
    EXPECT_NE(window.error().message.find("--headless"), std::string::npos) << window.error().message;
}

TEST_F(Targets, ASizeBeyondTheDeviceIsRefused) {
    open_device(false);
    const auto target = OffscreenTarget::create(*device_, 0, 48);
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace kinetograph::present
