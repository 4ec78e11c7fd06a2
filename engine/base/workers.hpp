// The threads that compute on the host: one pool for the whole process, shared by all callers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace kinetograph {

/// How many threads computing uses, at least one: the processors of the process's affinity, at most the processor time
/// that its cgroups allow, rounded up, and at most OMP_NUM_THREADS. Settled on the first call.
int worker_count();

/// The processors that a cgroup's cpu.max allows ("150000 100000": 1.5); nothing if it sets no limit, or is none.
std::optional<double> processors_of_quota(std::string_view cpu_max);

/// Calls body(task, worker) for every task in [0, tasks), in any order and on up to worker_count() threads, of which
/// the caller is one; returns after the last. `worker` is less than worker_count(); no two threads of a call have the
/// same. Calls from several threads share the pool, and a call within a body runs too, if need be on its thread alone.
/// Threads that wait do not spin for longer than it takes to sleep and be woken, so a processor that others use as well
/// is not held up by waiting for it. A body that throws keeps tasks that have not begun from running; for_tasks()
/// throws the first exception.
void for_tasks(std::int64_t tasks, const std::function<void(std::int64_t task, int worker)>& body);

/// body(first, count) for blocks of `each` of the items [0, items), as for_tasks().
template <class Body>
void for_blocks(std::int64_t items, std::int64_t each, const Body& body) {
    for_tasks((items + each - 1) / each, [&](std::int64_t block, int) {
        const std::int64_t first = block * each;
        body(first, first + each < items ? each : items - first);
    });
}

}  // namespace kinetograph
