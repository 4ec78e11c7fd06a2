// kinetograph-viewer: the viewer as a program of its own; `kinetograph view` is the same.
#include <kinetograph/engine/vulkan/instance.hpp>
#include <kinetograph/samples/viewer/actions.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

namespace {

int run(int argc, char** argv) try {
    using namespace kinetograph;
    viewer::ViewerOptions options;
    CLI::App app("Decodes a latents file and shows it. In the window, ? lists the keys.");
    app.add_option("latents", options.latents, "safetensors file with tensor `latents`")->required();
    app.add_option("--weights", options.weights, "checkpoint, or synthetic:wan2.1[,dim=N]")->required();
    app.add_option("--preview", options.preview, "small checkpoint that shows clips while the large one is opened");
    app.add_option("--lane", options.lane, "where it decodes: cpu, cuda, hip, or one of several GPUs: cuda:1");
    app.add_flag("--headless", options.headless, "no window: pictures stay in memory");
    app.add_option("--frames", options.frames, "end after so many frames of the clip");
    app.add_option("--screenshot", options.screenshot, "PNG of the last picture");
    app.add_option("--trace", options.trace, "Chrome trace of every pass (ui.perfetto.dev opens it)");
    app.add_option("--width", options.width, "of the window, pixels");
    app.add_option("--height", options.height, "of the window, pixels");
    app.add_option("--scale", options.scale, "of text and distances; without it, the display's");
    app.add_option("--speed", options.speed, "of playback, a factor");
    app.add_option("--device", options.device, "only Vulkan devices with this in their name");
    app.add_flag("--loop", options.loop, "start over at the end");
    app.add_flag("--full-screen", options.full_screen, "fill the display");
    app.add_flag("!--no-overlay", options.overlay, "without the profiler");
    app.add_flag("--panels", options.panels, "with the profiler's panels");
    app.add_flag("--validation", options.validation, "with Vulkan's validation layers");
    try {
        app.parse(argc, argv);
        options.exact_size = app.count("--width") + app.count("--height") > 0;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    options.on_route = [](const viewer::Route& route) {
        fmt::print(stderr, "kinetograph-viewer: {}\n", route.sentence);
    };
    const auto summary = viewer::run(options);
    if (!summary) {
        fmt::print(stderr, "kinetograph-viewer: {}\n", summary.error().message);
        return 1;
    }
    fmt::print("{} frames on {}, {} late, {} dropped; first after {:.2f} s\n", summary->frames_shown, summary->device,
               summary->frames_late, summary->frames_dropped,
               std::chrono::duration<double>(summary->first_frame).count());
    for (const std::string& message : summary->validation_messages) fmt::print(stderr, "{}\n", message);
    if (summary->frames_not_finite > 0)
        fmt::print(stderr, "kinetograph-viewer: {} of the frames shown hold values that are not finite\n",
                   summary->frames_not_finite);
    return summary->validation_messages.empty() && summary->frames_not_finite == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "kinetograph-viewer: %s\n", error.what());
    return 1;
}

}  // namespace

int main(int argc, char** argv) { return kinetograph::vulkan::end_of_program(run(argc, argv)); }
