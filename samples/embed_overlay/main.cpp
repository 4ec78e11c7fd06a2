// The profiler in the window, on the Vulkan device and in the ImGui context of an application, which host.hpp is.
//   embed_overlay LATENTS.safetensors CHECKPOINT [PICTURES]
#include "clip_panel.hpp"
#include "host.hpp"

#include <kinetograph/compute/session/session.hpp>

#include <imgui.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace kinetograph;
namespace {

Result<void> play(Host& host, const char* latents, const char* weights, long pictures) {
    profile::Recorder recorder;  // receives every pass
    profile::Profile profile(recorder);
    Host::Graphics& own = host.graphics();
    const session::ApplicationVulkan vulkan{
        own.instance, &vkGetInstanceProcAddr, {own.physical, own.device, {own.queue, own.family, &own.queue_mutex}}};
    const session::SessionOptions options{
        .device = "cpu", .vulkan = vulkan, .recorder = &recorder, .measure_ceiling = true, .watch_device = true};
    KG_TRY(const auto session, session::Session::open(weights, options));
    KG_TRY(const auto stream, session->decode(std::filesystem::path(latents), {.loop = true}));
    ui::PanelHost panels = ui::PanelHost::with_all_panels();
    panels.add(std::make_unique<ClipPanel>(*stream));
    panels.arrange(8, 8, 1264, 606);
    Nanoseconds shown = host_now();
    std::uint64_t frames = 0;
    for (long picture = 0; (pictures == 0 || picture < pictures) && host.begin_picture(); ++picture) {
        KG_TRY(const auto frame, stream->take(std::chrono::milliseconds(pictures > 0 ? 60'000 : 0)));  // not shown here
        const Nanoseconds now = host_now();
        if (frame) {
            const bool is_late = now - std::exchange(shown, now) > std::chrono::milliseconds(42);
            recorder.add_frame({.index = frames++, .shown = now, .late = is_late, .made_by = frame->label.made_by});
            KG_CHECK(stream->release(*frame));
        }
        panels.draw(profile, now);
        host.end_picture();
    }
    std::printf("%d frames, %zu passes\n", static_cast<int>(profile.pacing().frames), profile.passes().size());
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_overlay LATENTS.safetensors CHECKPOINT [PICTURES]\n");
        return 2;
    }
    Host host(1280, 720, [] { ui::add_fonts(*ImGui::GetIO().Fonts); });
    auto played = host.problem().empty() ? play(host, argv[1], argv[2], argc > 3 ? std::atol(argv[3]) : 0)
                                         : fail(ErrorCode::NotFound, "{}", host.problem());
    if (!played) std::fprintf(stderr, "embed_overlay: %s\n", played.error().message.c_str());
    return played ? 0 : 1;
}
