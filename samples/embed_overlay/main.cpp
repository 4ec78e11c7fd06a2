// The profiler inside an application (host.hpp): in its window, on its Vulkan device and in its ImGui context.
//   embed_overlay LATENTS.safetensors CHECKPOINT [PICTURES]
#include "clip_panel.hpp"
#include "host.hpp"

#include <kinetograph/compute/session/session.hpp>

#include <imgui.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

using namespace kinetograph;
namespace {

/// The passes of the engine's own frame graph for a picture; the profiler lists them beside the decoder's.
profile::PlanFacts own_plan(profile::NameTable& names) {
    const profile::NameId engine = names.intern("engine");
    profile::PlanFacts plan;
    plan.passes = {{.name = names.intern("interface"), .track = engine, .batch = 0},
                   {.name = names.intern("draw and present"), .track = engine, .batch = 0}};
    plan.dependencies = {{.from = 0, .to = 1}};
    plan.batches = {{.track = engine, .first_pass = 0, .last_pass = 1}};
    plan.batches_told = 1;
    return plan;
}

double milliseconds(const profile::DurationSketch& part) {
    return static_cast<double>(part.quantile(0.5).count()) * 1e-6;
}

std::vector<profile::MemoryUse> memory_of(const Host& host, const vae::StackMemory& decoder) {
    std::vector<profile::MemoryUse> uses{{"decoder", "weights", decoder.parameters},
                                         {"decoder", "arena of a step", decoder.transients},
                                         {"decoder", "histories", decoder.histories},
                                         {"decoder", "staging and frames", decoder.io + decoder.stream}};
    for (const Host::Heap& heap : host.heaps()) uses.push_back({"engine", heap.name, heap.used, heap.budget});
    return uses;
}

Result<void> play(Host& host, const char* latents, const char* weights, std::uint64_t pictures) {
    profile::Recorder recorder;  // receives every pass
    profile::Profile profile(recorder);
    Host::Graphics& own = host.graphics();
    const vulkan::ApplicationVulkan vulkan{
        own.instance, &vkGetInstanceProcAddr, {own.physical, own.device, {own.queue, own.family, &own.queue_mutex}}};
    const session::SessionOptions options{
        .device = "cpu", .vulkan = vulkan, .recorder = &recorder, .measure_ceiling = true, .watch_device = true};
    KG_TRY(const auto session, session::Session::open(weights, options));
    KG_TRY(const auto stream, session->decode(std::filesystem::path(latents), {.loop = true}));
    ui::PanelHost panels = ui::PanelHost::with_all_panels();
    panels.add(std::make_unique<ClipPanel>(*stream));
    panels.arrange(8, 8, 1264, 606);
    const profile::PlanId drawing = recorder.plans().add(own_plan(recorder.names()));
    Nanoseconds shown = host_now();
    std::uint64_t frames = 0;
    for (std::uint64_t picture = 0; (pictures == 0 || picture < pictures) && host.begin_picture(); ++picture) {
        KG_TRY(const auto frame, stream->take(std::chrono::milliseconds(pictures > 0 ? 60'000 : 0)));  // not shown here
        if (picture % 64 == 0) profile.set_memory(memory_of(host, stream->facts().memory));
        const Nanoseconds taken = host_now();
        panels.draw(profile, taken);
        const Nanoseconds drawn = host_now();
        host.end_picture();
        const Nanoseconds now = host_now();
        recorder.add(profile::Span{"interface", "engine", taken, drawn, picture, drawing});
        recorder.add(profile::Span{"draw and present", "engine", drawn, now, picture, drawing});
        if (!frame) continue;
        recorder.add_frame({.index = frames++,
                            .shown = now,
                            .present = now - taken,
                            .late = now - std::exchange(shown, now) > std::chrono::milliseconds(42),
                            .made_by = frame->label.made_by,
                            .drawn_by = {drawing, picture}});
        KG_CHECK(stream->release(*frame));
    }
    profile.finish(host_now());
    const profile::Pacing& pacing = profile.pacing();
    std::printf("%d frames, %zu passes, present %.2f ms, latency %.2f ms\n", static_cast<int>(pacing.frames),
                profile.passes().size(), milliseconds(pacing.present), milliseconds(pacing.latency));
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: embed_overlay LATENTS.safetensors CHECKPOINT [PICTURES]\n");
        return 2;
    }
    Host host(1280, 720, [] { ui::add_fonts(*ImGui::GetIO().Fonts); });
    auto played = host.problem().empty()
                      ? play(host, argv[1], argv[2], argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0)
                      : fail(ErrorCode::NotFound, "{}", host.problem());
    if (!played) std::fprintf(stderr, "embed_overlay: %s\n", played.error().message.c_str());
    return played ? 0 : 1;
}
