#include <kinetograph/engine/base/tool_tracks.hpp>

#include <tracy/TracyC.h>

#include <atomic>

namespace kinetograph {
namespace {

constexpr Nanoseconds kSync = std::chrono::seconds(1);
constexpr std::uint8_t kCustom = 7;  // GpuContextType::Custom, which TracyC.h does not name

/// Contexts are numbered in the whole process. Tracy's own macros count up from 0, so these count down.
std::uint8_t next_context() {
    static std::atomic<std::uint8_t> last{255};
    return last.fetch_sub(1, std::memory_order_relaxed);
}

void begin_context(std::uint8_t id, std::string_view name, Nanoseconds now) {
    ___tracy_emit_gpu_new_context_serial(
        {.gpuTime = now.count(), .period = 1.0F, .context = id, .flags = 0, .type = kCustom});
    ___tracy_emit_gpu_context_name_serial(
        {.context = id, .name = name.data(), .len = static_cast<std::uint16_t>(name.size())});
}

}  // namespace

void ToolTracks::add(std::uint32_t track, std::string_view track_name, std::string_view name, Nanoseconds begin,
                     Nanoseconds end) {
    const Nanoseconds now = host_now();
    const Lock lock(mutex_);
    const auto [entry, is_new] = contexts_.try_emplace(track);
    Context& context = entry->second;
    if (is_new) {
        context = {.id = next_context(), .next_query = 0, .synced = now};
        begin_context(context.id, track_name, now);
    } else if (now - context.synced >= kSync) {
        context.synced = now;
        ___tracy_emit_gpu_time_sync_serial({.gpuTime = now.count(), .context = context.id});
    }
    const std::uint64_t place = ___tracy_alloc_srcloc_name(0, track_name.data(), track_name.size(), name.data(),
                                                           name.size(), name.data(), name.size(), 0);
    const std::uint16_t first = context.next_query++, second = context.next_query++;
    ___tracy_emit_gpu_zone_begin_alloc_serial({.srcloc = place, .queryId = first, .context = context.id});
    ___tracy_emit_gpu_zone_end_serial({.queryId = second, .context = context.id});
    ___tracy_emit_gpu_time_serial({.gpuTime = begin.count(), .queryId = first, .context = context.id});
    ___tracy_emit_gpu_time_serial({.gpuTime = end.count(), .queryId = second, .context = context.id});
}

}  // namespace kinetograph
