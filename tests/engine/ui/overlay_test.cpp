#include "text_finder.hpp"

#include <kinetograph/engine/present/offscreen.hpp>
#include <kinetograph/engine/present/readback.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/layer.hpp>
#include <kinetograph/engine/ui/profiler_overlay.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#include <gtest/gtest.h>

#include <functional>

namespace kinetograph::ui {
namespace {

using testing::find_text;

struct Clear {
    graph::Image image;
};

/// A quarter of a second of a decoder and a display.
void fill(profile::Recorder& recorder, Nanoseconds now) {
    const auto span = [&](const char* name, const char* track, double begin_ms, double end_ms) {
        recorder.add(profile::Span{name, track, now - Nanoseconds(static_cast<std::int64_t>(begin_ms * 1e6)),
                                   now - Nanoseconds(static_cast<std::int64_t>(end_ms * 1e6)), 1});
    };
    span("decoder.conv1", "accelerator", 240, 200);
    span("decoder.middle.1", "accelerator", 200, 130);
    span("decoder.head.2", "accelerator", 130, 20);
    for (double at = 240; at > 20; at -= 16.7) {
        span("upload", "transfer", at, at - 0.3);
        span("picture", "graphics", at - 0.4, at - 2.5);
        span("overlay", "graphics", at - 2.5, at - 3.4);
    }
}

OverlayFigures figures() {
    return {.title = "Wan 2.1 test",
            .hint = "P panels",
            .fps = 23.9,
            .real_time_factor = 1.25,
            .queue_depth = 12,
            .queue_capacity = 16,
            .step = std::chrono::milliseconds(133),
            .frame_age = std::chrono::milliseconds(41),
            .late = 3,
            .dropped = 0};
}

class Overlay : public ::testing::Test {
  protected:
    void SetUp() override {
        auto loader = vulkan::Loader::open();
        ASSERT_TRUE(loader) << loader.error().message;
        auto instance = vulkan::Instance::create(*loader, {.validation = vulkan::Validation::On});
        ASSERT_TRUE(instance) << instance.error().message;
        instance_ = std::move(*instance);
        auto device = vulkan::Device::create(*instance_);
        ASSERT_TRUE(device) << device.error().message;
        device_ = std::move(*device);
        auto lane = vulkan::VulkanLane::create(*device_, graph::Lane::Graphics);
        auto target = present::OffscreenTarget::create(*device_, 640, 400);
        ASSERT_TRUE(lane && target);
        lane_ = std::move(*lane);
        target_ = std::move(*target);
        graph::ExecutorDesc desc;
        desc.lanes = {lane_.get()};
        desc.memory = {{graph::MemoryDomain::Graphics, &memory()}};
        auto executor = graph::Executor::create(std::move(desc));
        ASSERT_TRUE(executor);
        executor_ = std::move(*executor);
    }
    void TearDown() override {
        ASSERT_TRUE(device_->wait_idle());
        const auto log = instance_->validation();
        executor_.reset();
        memory_.reset();
        target_.reset();
        lane_.reset();
        device_.reset();
        instance_.reset();
        EXPECT_EQ(log->text(), "");
    }
    vulkan::VulkanMemory& memory() {
        if (!memory_) memory_ = std::make_unique<vulkan::VulkanMemory>(*device_);
        return *memory_;
    }
    /// A grey picture with what `draw` puts over it.
    present::Picture render(const std::function<graph::Image(graph::FrameGraph&, graph::Image)>& draw) {
        present::Readback readback(*device_);
        graph::FrameGraph frame;
        auto image = target_->acquire();
        const graph::Image target = frame.import_image("target", target_->desc(), physical_of(**image));
        const graph::Image cleared =
            frame
                .add_pass<Clear>(
                    "clear", graph::Lane::Graphics,
                    [&](graph::PassBuilder& pass, Clear& data) {
                        data.image = pass.write(target, graph::Access::ColorAttachment);
                    },
                    [](const Clear& data, vulkan::PassContext& context) {
                        context.begin_rendering(context.image(data.image), vulkan::PassContext::Contents::Clear,
                                                {{0.3F, 0.3F, 0.3F, 1.0F}});
                        context.end_rendering();
                    })
                .image;
        const graph::Image drawn = draw(frame, cleared);
        EXPECT_TRUE(readback.declare(frame, drawn, target_->desc()));
        target_->declare_handover(frame, drawn);
        const auto execution = executor_->execute(frame);
        EXPECT_TRUE(execution) << execution.error().message;
        if (execution) {
            EXPECT_TRUE(executor_->wait(*execution));
        }
        return readback.picture();
    }

    std::unique_ptr<vulkan::Instance> instance_;
    std::unique_ptr<vulkan::Device> device_;
    std::unique_ptr<vulkan::VulkanLane> lane_;
    std::unique_ptr<vulkan::VulkanMemory> memory_;
    std::unique_ptr<present::OffscreenTarget> target_;
    std::unique_ptr<graph::Executor> executor_;
    profile::Recorder recorder_;
};

TEST_F(Overlay, ItsFiguresAndPassesCanBeReadInThePicture) {
    const Nanoseconds now = host_now();
    fill(recorder_, now);
    profile::Profile profile(recorder_);
    profile.update(now);
    auto layer = Layer::create(*device_, {});
    ASSERT_TRUE(layer) << layer.error().message;
    const present::Picture picture = render([&](graph::FrameGraph& frame, graph::Image target) {
        (*layer)->begin_frame(640, 400, std::chrono::milliseconds(16));
        draw_profiler_overlay(profile, figures(), now, (*layer)->fonts());
        return (*layer)->end_frame(frame, target);
    });
    ASSERT_TRUE(present::write_png(std::filesystem::path(::testing::TempDir()) / "overlay.png", picture.view()));
    for (const char* text : {"fps", "real time", "queue", "step", "dropped", "accelerator", "graphics", "average",
                             "share", "decoder.head.2", "picture"})
        EXPECT_GT(find_text(picture, text, kTextSize).correlation, 0.9) << text;
    EXPECT_GT(find_text(picture, "P panels", kTextSize).correlation, 0.9);
    // The bar of the largest share is full, another one is not.
    const auto is_filled = [&](const char* pass) {
        const std::uint32_t y = find_text(picture, pass, kTextSize).y + 8, x = 16 + 540 - 14 - 104 + 12 + 38;
        const std::uint8_t* const pixel = &picture.rgba[(std::size_t{y} * picture.width + x) * 4];
        return pixel[0] > 200 && pixel[2] < 150;  // the accelerator's orange
    };
    EXPECT_TRUE(is_filled("decoder.head.2"));
    EXPECT_FALSE(is_filled("decoder.conv1"));
    // 220 of the 240 ms since the first span began, not of three seconds.
    EXPECT_GT(find_text(picture, "92%", kTextSize).correlation, 0.95);
    for (const char* figure : {"23.9", "1.25x", "12/16", "133 ms"})
        EXPECT_GT(find_text(picture, figure, kLargeSize).correlation, 0.9) << figure;
    for (const char* absent : {"qwertz", "no such words"})
        EXPECT_LT(find_text(picture, absent, kTextSize).correlation, 0.8) << absent;
    // Pixels outside the panel are unchanged.
    const std::size_t corner = (std::size_t{399} * 640 + 639) * 4;
    EXPECT_NEAR(picture.rgba[corner], 0.3 * 255, 1.0);
}

TEST_F(Overlay, ShowsTheSharesThatTheProfileHas) {
    const Nanoseconds now = host_now();
    recorder_.add(profile::Span{"decoder.conv1", "accelerator", now - std::chrono::milliseconds(40), now, 1});
    profile::Profile profile(recorder_);
    profile.update(now);
    auto layer = Layer::create(*device_, {});
    ASSERT_TRUE(layer) << layer.error().message;
    const auto picture_at = [&](Nanoseconds time) {
        return render([&](graph::FrameGraph& frame, graph::Image target) {
            (*layer)->begin_frame(640, 400, std::chrono::milliseconds(16));
            draw_profiler_overlay(profile, figures(), time, (*layer)->fonts());
            return (*layer)->end_frame(frame, target);
        });
    };
    const Nanoseconds soon = now + std::chrono::milliseconds(20);
    recorder_.add(profile::Span{"picture", "graphics", now, soon, 2});
    profile.update(soon);
    const present::Picture readable = picture_at(soon);
    EXPECT_GT(find_text(readable, "graphics", kTextSize).correlation, 0.9) << "a lane is shown at once";
    EXPECT_LT(find_text(readable, "picture", kTextSize).correlation, 0.8) << "its passes with the next shares";
    profile.refresh(soon);
    EXPECT_GT(find_text(picture_at(soon), "picture", kTextSize).correlation, 0.9);
}

TEST_F(Overlay, DrawsInTheContextOfAHostApplicationAndLeavesItsStyleAlone) {
    const Nanoseconds now = host_now();
    fill(recorder_, now);
    profile::Profile profile(recorder_);
    profile.update(now);
    ImGuiContext* host = ImGui::CreateContext();
    ImGui::SetCurrentContext(host);
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::StyleColorsLight();
    const ImGuiStyle style = ImGui::GetStyle();
    const Fonts fonts = add_fonts(*ImGui::GetIO().Fonts);
    auto renderer = ImGuiRenderer::create(*device_, *ImGui::GetIO().Fonts, target_->desc().format);
    ASSERT_TRUE(renderer) << renderer.error().message;
    const present::Picture picture = render([&](graph::FrameGraph& frame, graph::Image target) {
        ImGui::GetIO().DisplaySize = {640, 400};
        ImGui::NewFrame();
        ImGui::SetNextWindowPos({540, 300});
        ImGui::Begin("host window");
        ImGui::End();
        draw_profiler_overlay(profile, figures(), now, fonts);
        ImGui::Render();
        return (*renderer)->declare(frame, "host's interface", target, *ImGui::GetDrawData());
    });
    EXPECT_GT(find_text(picture, "real time", kTextSize).correlation, 0.9);
    EXPECT_EQ(std::memcmp(&style, &ImGui::GetStyle(), sizeof(style)), 0);
    EXPECT_EQ(ImGui::GetCurrentContext(), host);
    ImGui::DestroyContext(host);
}

TEST_F(Overlay, ALayerLeavesTheHostsContextCurrent) {
    ImGuiContext* host = ImGui::CreateContext();
    ImGui::SetCurrentContext(host);
    {
        auto layer = Layer::create(*device_, {});
        ASSERT_TRUE(layer);
        EXPECT_EQ(ImGui::GetCurrentContext(), host);
        render([&](graph::FrameGraph& frame, graph::Image target) {
            (*layer)->begin_frame(640, 400, std::chrono::milliseconds(16));
            const graph::Image drawn = (*layer)->end_frame(frame, target);
            EXPECT_EQ(ImGui::GetCurrentContext(), host);
            return drawn;
        });
    }
    EXPECT_EQ(ImGui::GetCurrentContext(), host);
    ImGui::DestroyContext(host);
}

TEST(HumanTime, ShowsThreeDigitsThatMatter) {
    EXPECT_EQ(human_time(Nanoseconds(0)), "0 ns");
    EXPECT_EQ(human_time(Nanoseconds(417)), "417 ns");
    EXPECT_EQ(human_time(Nanoseconds(1'000)), "1.00 us");
    EXPECT_EQ(human_time(Nanoseconds(417'400)), "417 us");
    EXPECT_EQ(human_time(Nanoseconds(1'234'000)), "1.23 ms");
    EXPECT_EQ(human_time(Nanoseconds(16'660'000)), "16.7 ms");
    EXPECT_EQ(human_time(Nanoseconds(133'400'000)), "133 ms");
    EXPECT_EQ(human_time(Nanoseconds(999'700'000)), "1.00 s");
    EXPECT_EQ(human_time(Nanoseconds(4'130'000'000)), "4.13 s");
}

}  // namespace
}  // namespace kinetograph::ui
