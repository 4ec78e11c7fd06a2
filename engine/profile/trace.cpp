#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/profile/trace.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace kinetograph::profile {

std::string to_chrome_trace(std::span<const Span> spans) {
    Nanoseconds origin = spans.empty() ? Nanoseconds{} : spans.front().begin;
    for (const Span& span : spans) origin = std::min(origin, span.begin);
    const auto microseconds = [](Nanoseconds time) { return static_cast<double>(time.count()) / 1000.0; };

    nlohmann::json events = nlohmann::json::array();
    std::map<std::string_view, int> threads;
    for (const Span& span : spans) {
        const auto [thread, is_new] = threads.try_emplace(span.track, static_cast<int>(threads.size()) + 1);
        if (is_new)
            events.push_back({{"name", "thread_name"},
                              {"ph", "M"},
                              {"pid", 1},
                              {"tid", thread->second},
                              {"args", {{"name", span.track}}}});
        events.push_back({{"name", span.name},
                          {"ph", "X"},
                          {"pid", 1},
                          {"tid", thread->second},
                          {"ts", microseconds(span.begin - origin)},
                          {"dur", microseconds(span.end - span.begin)},
                          {"args", {{"execution", span.execution}}}});
    }
    const nlohmann::json trace{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
    // A name that is not UTF-8 must not fail the whole trace: its bytes are replaced.
    return trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<void> write_chrome_trace(const std::filesystem::path& path, std::span<const Span> spans) {
    KG_TRY(auto file, ReplacingFile::create(path));
    const std::string text = to_chrome_trace(spans);
    KG_CHECK(file.write(std::as_bytes(std::span(text))));
    return file.commit();
}

}  // namespace kinetograph::profile
