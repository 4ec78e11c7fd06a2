#include <fmt/ranges.h>
#include <kinetograph/tools/kinetograph/soak.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>

namespace kinetograph::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kResidentGrowth = 256U << 20U;  // freed memory stays in the sanitizer's quarantine
#else
constexpr std::uint64_t kResidentGrowth = 16U << 20U;  // the allocator keeps some of what is freed
#endif

template <class State>
std::vector<std::string> memory_changes(const State& before, const State& after) {
    std::vector<std::string> changes;
    if (after.accelerator_bytes != before.accelerator_bytes)
        changes.push_back(fmt::format("the accelerator's memory went from {} to {} bytes", before.accelerator_bytes,
                                      after.accelerator_bytes));
    if (after.vulkan_bytes != before.vulkan_bytes)
        changes.push_back(
            fmt::format("Vulkan's memory went from {} to {} bytes", before.vulkan_bytes, after.vulkan_bytes));
    if (after.resident_bytes > before.resident_bytes + kResidentGrowth)
        changes.push_back(
            fmt::format("the process grew from {} to {} bytes in memory", before.resident_bytes, after.resident_bytes));
    return changes;
}

std::vector<std::string> changes_between(const InteropState& before, const InteropState& after) {
    auto changes = memory_changes(before, after);
    const auto check = [&](std::string_view name, const InteropState::Timeline& timeline) {
        if (timeline.value != timeline.expected)
            changes.push_back(
                fmt::format("the {} timeline is at {} instead of {}", name, timeline.value, timeline.expected));
    };
    check("accelerator's", after.accelerator);
    check("Vulkan lane's", after.vulkan);
    return changes;
}

std::vector<std::string> changes_between(const PresentedState& before, const PresentedState& after) {
    auto changes = memory_changes(before, after);
    const std::uint64_t steps = after.steps - before.steps, moved = after.decoder_value - before.decoder_value;
    if (moved == 0 || moved % steps != 0)
        changes.push_back(fmt::format("the decoder's timeline moved on by {} in {} steps", moved, steps));
    if (after.published != after.frames)
        changes.push_back(fmt::format("{} frames came out of {}", after.published, after.frames));
    if (after.picture_value != after.frames)
        changes.push_back(
            fmt::format("the drawing lane's timeline is at {} after {} pictures", after.picture_value, after.frames));
    return changes;
}

nlohmann::ordered_json state_json(const InteropState& state) {
    return {{"executions", state.executions},
            {"accelerator_bytes", state.accelerator_bytes},
            {"vulkan_bytes", state.vulkan_bytes},
            {"resident_bytes", state.resident_bytes},
            {"accelerator_timeline", state.accelerator.value},
            {"accelerator_timeline_expected", state.accelerator.expected},
            {"vulkan_timeline", state.vulkan.value},
            {"vulkan_timeline_expected", state.vulkan.expected}};
}

nlohmann::ordered_json state_json(const PresentedState& state) {
    return {{"steps", state.steps},
            {"accelerator_bytes", state.accelerator_bytes},
            {"vulkan_bytes", state.vulkan_bytes},
            {"resident_bytes", state.resident_bytes},
            {"frames", state.frames},
            {"frames_published", state.published},
            {"decoder_timeline", state.decoder_value},
            {"drawing_timeline", state.picture_value}};
}

template <class Subject>
Result<Soak> soak_between_states(Subject& subject, std::int64_t steps) {
    const auto before = subject.state();
    const Nanoseconds begin = host_now();
    KG_CHECK(subject.run(steps));
    const double seconds = to_seconds(host_now() - begin);
    const auto after = subject.state();
    return Soak{steps, seconds, state_json(before), state_json(after), changes_between(before, after)};
}

}  // namespace

Result<Soak> soak_through(HandOvers& subject, std::int64_t steps) { return soak_between_states(subject, steps); }
Result<Soak> soak_through(PresentedDecode& subject, std::int64_t steps) { return soak_between_states(subject, steps); }

std::string to_text(const Soak& soak) {
    Table table({"soak", ">before", ">after"});
    for (const auto& [name, value] : soak.before.items()) table.add({name, value.dump(), soak.after.at(name).dump()});
    const std::string verdict =
        soak.changes.empty() ? "nothing grew or drifted" : fmt::format("{}", fmt::join(soak.changes, "; "));
    return fmt::format("{}{} steps in {:.2f} s: {}\n", table.to_string(), soak.steps, soak.seconds, verdict);
}

nlohmann::ordered_json to_json(const Soak& soak) {
    return {{"steps", soak.steps},
            {"seconds", soak.seconds},
            {"before", soak.before},
            {"after", soak.after},
            {"changes", soak.changes}};
}

}  // namespace kinetograph::cli
