// The profiler's panels in the ImGui context of an application, beside windows and a panel of its own. host.hpp stands
// for the application: its window, its Vulkan device, its way of drawing ImGui.
//   embed_overlay LATENTS.safetensors CHECKPOINT [PICTURES]
#include "clip_panel.hpp"
#include "host.hpp"

#include <kinetograph/compute/session/session.hpp>

#include <imgui.h>

#include <cstdio>
#include <cstdlib>

using namespace kinetograph;

namespace {

Result<void> play(Host& host, const char* latents, const char* weights, long pictures) {
    // Load time: a recorder that receives every pass, and the profile made from it.
    profile::Recorder recorder;
    profile::Profile profile(recorder);
    KG_TRY(const auto session,
           session::Session::open(weights, {.device = "cpu", .recorder = &recorder, .watch_device = true}));
    KG_TRY(const auto stream, session->decode(std::filesystem::path(latents), {.loop = true}));
    // Panels: all of ours but one, and one more.
    ui::PanelHost panels = ui::PanelHost::with_all_panels();
    panels.remove("Spikes");
    panels.add(std::make_unique<ClipPanel>(*stream));
    panels.arrange(8, 8, 1264, 704);
    std::uint64_t frames = 0;
    for (long picture = 0; (pictures == 0 || picture < pictures) && host.begin_picture(); ++picture) {
        // The application's own work: here it takes a frame if there is one, and shows nothing of it.
        KG_TRY(const auto frame, stream->take(std::chrono::milliseconds(pictures > 0 ? 60'000 : 0)));
        const Nanoseconds now = host_now();
        if (frame) {
            profile.add_frame({.index = frames++, .shown = now, .decode = stream->stats().times.last_step});
            KG_CHECK(stream->release(*frame));
        }
        ImGui::ShowAboutWindow();  // a window of the application's
        panels.draw(profile, now);
        host.end_picture();
    }
    std::printf("%llu frames, %zu passes\n", static_cast<unsigned long long>(frames), profile.passes().size());
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_overlay LATENTS.safetensors CHECKPOINT [PICTURES]\n");
        return 2;
    }
    Host host(1280, 720);
    auto played = host.problem().empty() ? play(host, argv[1], argv[2], argc > 3 ? std::atol(argv[3]) : 0)
                                         : fail(ErrorCode::NotFound, "{}", host.problem());
    if (!played) std::fprintf(stderr, "embed_overlay: %s\n", played.error().message.c_str());
    return played ? 0 : 1;
}
