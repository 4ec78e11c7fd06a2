#include <kinetograph/engine/accel/cuda/resident_clusters.hpp>

namespace kinetograph::accel::cuda {
namespace {

constexpr const char* kName = "kinetograph_fills_an_sm";
constexpr const char* kPtx =
    ".version 7.8\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry kinetograph_fills_an_sm() { ret; }\n";

/// 0 if the driver does not answer.
std::uint32_t query(const Context& context, FunctionHandle function, std::uint32_t blocks) {
    LaunchAttribute attribute{};
    attribute.id = LaunchAttributeId::ClusterDimension;
    attribute.cluster = {blocks, 1, 1};
    const LaunchConfig config{.grid_x = blocks,
                              .grid_y = 1,
                              .grid_z = 1,
                              .block_x = 32,
                              .block_y = 1,
                              .block_z = 1,
                              .dynamic_shared_bytes = context.info().shared_bytes_per_block,
                              .stream = nullptr,
                              .attributes = &attribute,
                              .attribute_count = 1};
    int clusters = 0;
    const Status answer = context.cuda().cuOccupancyMaxActiveClusters(&clusters, function, &config);
    return answer == Status::Success && clusters > 0 ? static_cast<std::uint32_t>(clusters) : 0;
}

}  // namespace

std::array<std::uint32_t, 3> query_resident_clusters(const Context& context) {
    const EntryPoints& cuda = context.cuda();
    if (!context.has_clusters() || !cuda.cuOccupancyMaxActiveClusters.present()) return {};
    const CurrentUncaptured current(context);
    ModuleHandle module = nullptr;
    if (cuda.cuModuleLoadDataEx(&module, kPtx, 0U, nullptr, nullptr) != Status::Success) return {};
    std::array<std::uint32_t, 3> resident{};
    FunctionHandle function = nullptr;
    const auto shared_bytes = static_cast<int>(context.info().shared_bytes_per_block);
    if (cuda.cuModuleGetFunction(&function, module, kName) == Status::Success &&
        cuda.cuFuncSetAttribute(function, FunctionAttribute::MaxDynamicSharedBytes, shared_bytes) == Status::Success)
        for (std::size_t i = 0; i < resident.size(); ++i)
            resident.at(i) = query(context, function, 2U << static_cast<unsigned>(i));
    (void)cuda.cuModuleUnload(module);
    return resident;
}

}  // namespace kinetograph::accel::cuda
