#include <algorithm>
#include <atomic>
#include <kinetograph/kernels/host_model/wave_machine.hpp>
#include <mutex>
#include <thread>

namespace kinetograph::host_model {
namespace {

Dim3 workgroup_at(uint64_t index, const Dim3& grid) {
    return {static_cast<uint32_t>(index % grid.x), static_cast<uint32_t>(index / grid.x % grid.y),
            static_cast<uint32_t>(index / grid.x / grid.y)};
}

/// What the machines of one launch share.
struct Grid {
    const ModelKernel& kernel;
    const WaveLaunch& launch;
    const void* parameters;
    uint64_t count;
    std::atomic<uint64_t> next{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    uint64_t first_fault =
        ~0ull;  ///< lowest index of a workgroup with a fault: the sentence does not depend on the number of threads
    WaveOutcome outcome;
};

void run_workgroups(Grid& grid) {
    WaveMachine machine(grid.kernel, grid.launch, grid.parameters);
    while (!grid.stopped) {
        const uint64_t index = grid.next++;
        if (index >= grid.count) break;
        auto fault = machine.run(workgroup_at(index, grid.launch.grid), index);
        if (!fault) continue;
        grid.stopped = true;
        const std::lock_guard lock(grid.mutex);
        if (index < grid.first_fault) {
            grid.first_fault = index;
            grid.outcome.fault = std::move(fault);
        }
    }
    const std::lock_guard lock(grid.mutex);
    grid.outcome.matrix_products += machine.counts().matrix_products;
    grid.outcome.lds_reads += machine.counts().lds_reads;
    grid.outcome.lds_read_conflicts += machine.counts().lds_read_conflicts;
    grid.outcome.loads_to_lds += machine.counts().loads_to_lds;
}

}  // namespace

WaveOutcome launch_waves(const ModelKernel& kernel, const WaveLaunch& launch, const void* parameters) {
    if (kernel.threads == 0 || kernel.threads % kWaveLanes != 0 || kernel.threads > 1024) {
        return {.fault = std::string(kernel.name) + ": " + std::to_string(kernel.threads) +
                         " threads; a workgroup has a multiple of 64, at most 1024"};
    }
    const uint64_t count = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    Grid grid{kernel, launch, parameters, count, {}, {}, {}, ~0ull, {}};
    const uint32_t wanted = launch.threads != 0 ? launch.threads : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> helpers(std::min<uint64_t>(wanted, count) - (count > 0 ? 1 : 0));
    for (std::thread& helper : helpers) helper = std::thread([&grid] { run_workgroups(grid); });
    if (count > 0) run_workgroups(grid);
    for (std::thread& helper : helpers) helper.join();
    return std::move(grid.outcome);
}

}  // namespace kinetograph::host_model
