#include <kinetograph/compute/session/clip_metrics.hpp>

#include <array>

namespace kinetograph::session {
namespace {

double seconds(std::int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

/// A metric with a value for each clip; of a summary the sum, and how many it is of.
struct Metric {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const vae::ClipFigures& clip);
    std::uint64_t (*count)(const vae::ClipFigures& clip) = nullptr;
};

constexpr std::array kMetrics{
    Metric{"kinetograph_deadline_missed_total", "counter", "Steps that were done after they were due",
           [](const vae::ClipFigures& clip) { return static_cast<double>(clip.misses); }},
    Metric{"kinetograph_frames_total", "counter", "Frames decoded",
           [](const vae::ClipFigures& clip) { return static_cast<double>(clip.frames); }},
    Metric{"kinetograph_step_seconds_total", "counter", "Seconds of the device's work",
           [](const vae::ClipFigures& clip) { return seconds(clip.busy.count()); }},
    Metric{"kinetograph_state_bytes", "gauge", "Bytes of the clip's state on the device",
           [](const vae::ClipFigures& clip) { return static_cast<double>(clip.state_bytes); }},
    Metric{
        "kinetograph_first_frame_seconds", "summary", "From the push of a clip's first latents to its first frame",
        [](const vae::ClipFigures& clip) { return seconds(clip.latencies.first_frame.count()); },
        [](const vae::ClipFigures& clip) -> std::uint64_t { return clip.latencies.first_frame.count() > 0 ? 1 : 0; }},
    Metric{"kinetograph_latency_seconds", "summary", "From the push of latents to their first frame",
           [](const vae::ClipFigures& clip) { return seconds(clip.latencies.pushed.sum.count()); },
           [](const vae::ClipFigures& clip) { return clip.latencies.pushed.steps; }},
    Metric{"kinetograph_input_latency_seconds", "summary", "From the input of latents to their first frame",
           [](const vae::ClipFigures& clip) { return seconds(clip.latencies.input.sum.count()); },
           [](const vae::ClipFigures& clip) { return clip.latencies.input.steps; }},
    Metric{"kinetograph_queue_seconds", "summary", "Waits of steps for their turn",
           [](const vae::ClipFigures& clip) { return seconds(clip.waited.count()); },
           [](const vae::ClipFigures& clip) { return clip.steps; }},
    Metric{"kinetograph_held_back", "gauge",
           "How overload holds a clip back: 0 not, 1 skipped, 2 to 4: at 1/2, 1/4, 1/8 of its rate",
           [](const vae::ClipFigures& clip) { return static_cast<double>(clip.held_back); }},
    Metric{"kinetograph_steps_held_back_total", "counter", "Steps that overload held back",
           [](const vae::ClipFigures& clip) { return static_cast<double>(clip.steps_held_back); }},
};

std::string escaped(std::string_view label) {
    std::string text;
    for (const char c : label) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text;
}

std::string head(const char* name, const char* type, const char* help) {
    return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

}  // namespace

std::string metrics_text(const vae::RunnerFigures& figures, std::string_view family) {
    const std::string of = escaped(family);
    std::string text = head("kinetograph_clips", "gauge", "Open clips that share the runner");
    text += fmt::format("kinetograph_clips{{family=\"{}\"}} {}\n", of, figures.clips.size());
    text += head("kinetograph_demand", "gauge", "Seconds of the device that clips want a second");
    text += fmt::format("kinetograph_demand{{family=\"{}\"}} {}\n", of, figures.demand);
    for (const Metric& metric : kMetrics) {
        text += head(metric.name, metric.type, metric.help);
        for (const vae::ClipFigures& clip : figures.clips) {
            const std::string labels = fmt::format("{{family=\"{}\",clip=\"{}\"}}", of, clip.number);
            text += fmt::format("{}{}{} {}\n", metric.name, metric.count != nullptr ? "_sum" : "", labels,
                                metric.value(clip));
            if (metric.count != nullptr)
                text += fmt::format("{}_count{} {}\n", metric.name, labels, metric.count(clip));
        }
    }
    return text;
}

}  // namespace kinetograph::session
