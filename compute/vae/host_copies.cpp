#include <kinetograph/compute/vae/host_copies.hpp>

#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/engine/graph/bounded_wait.hpp>

namespace kinetograph::vae {

namespace {

constexpr graph::Lane kLane = graph::Lane::Copies;
constexpr std::uint64_t kAlignment = 256;

std::uint64_t pitch_of(std::uint64_t part_bytes) { return (part_bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct CopyData {
    std::vector<graph::Buffer> from, to;
};

}  // namespace

Result<std::unique_ptr<HostCopies>> HostCopies::create(accel::Device& device, std::size_t parts,
                                                       std::uint64_t part_bytes, profile::Recorder* recorder) {
    std::unique_ptr<HostCopies> copies(new HostCopies(part_bytes));
    for (auto& output : copies->outputs_) {
        KG_TRY(output, device.allocate("frames of a step", whole_pages(parts * pitch_of(part_bytes))));
    }
    KG_TRY(copies->lane_, accel::AcceleratorLane::create(device, recorder, accel::Batches::Eager, kLane));
    KG_TRY(copies->executor_, graph::Executor::create({.lanes = {copies->lane_.get()},
                                                       .memory = {},
                                                       .compile = {.topology = graph::LaneTopology::without_vulkan()},
                                                       .log = device.log()}));
    return copies;
}

HostCopies::~HostCopies() = default;

std::uint64_t HostCopies::device_bytes(std::size_t parts, std::uint64_t part_bytes) {
    return kTurns * whole_pages(parts * pitch_of(part_bytes));
}

graph::Physical HostCopies::place_of(std::size_t turn, std::size_t part) const {
    return {reinterpret_cast<std::uintptr_t>(outputs_.at(turn)->data()), part * pitch_of(part_bytes_), part_bytes_};
}

void HostCopies::declare(CopyGraph& copies, std::span<const HostPlace> places) {
    const std::uint64_t bytes = places.front().memory.bytes;
    for (std::size_t i = 0; i < places.size(); ++i) {
        copies.from.push_back(copies.frame.import_buffer(fmt::format("frames {}", i),
                                                         {bytes, kAlignment, graph::MemoryDomain::Accelerator}, {}));
        copies.to.push_back(copies.frame.import_buffer(fmt::format("host frames {}", i),
                                                       {bytes, kAlignment, graph::MemoryDomain::Host}, {}));
    }
    const CopyData& copied = copies.frame.add_pass<CopyData>(
        "frames to host memory", kLane,
        [&](graph::PassBuilder& pass, CopyData& data) {
            for (std::size_t i = 0; i < places.size(); ++i) {
                data.from.push_back(pass.read(copies.from[i], graph::Access::KernelRead));
                data.to.push_back(pass.write(copies.to[i], graph::Access::KernelWrite));
            }
        },
        [bytes](const CopyData& data, accel::PassContext& lane) {
            for (std::size_t i = 0; i < data.to.size(); ++i)
                lane.stream().copy(lane.address(data.to[i]), lane.address(data.from[i]), bytes);
        });
    for (const graph::Buffer buffer : copied.to) copies.frame.export_contents(buffer);
}

Result<graph::Point> HostCopies::enqueue(std::size_t turn, std::span<const HostPlace> places,
                                         const graph::Point& written) {
    KG_CHECK(status());
    const auto [it, added] = graphs_.try_emplace(CopyKind{places.size(), places.front().memory.bytes});
    CopyGraph& copies = it->second;
    if (added) declare(copies, places);
    for (std::size_t i = 0; i < places.size(); ++i) {
        copies.frame.rebind(copies.from[i], place_of(turn, i), written);
        copies.frame.rebind(copies.to[i], places[i].memory, places[i].free);
    }
    KG_CHECK(executor_->execute(copies.frame));
    return executor_->ready(copies.to.back());
}

Result<void> HostCopies::reset() {
    KG_CHECK(graph::wait_until_idle(*lane_, "the copies of a clip that is over"));
    static_cast<void>(lane_->stream().synchronize());  // forgets an error of the abandoned clip's copies
    return lane_->stream().synchronize();
}

}  // namespace kinetograph::vae
