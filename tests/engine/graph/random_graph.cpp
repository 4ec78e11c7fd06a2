#include "random_graph.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "scene.hpp"

namespace kinetograph::graph {

namespace {

class Maker {
  public:
    Maker(RandomGraph& graph, const Choices& choices, const RandomGraphMemory& memory)
        : graph_(graph), random_(choices), memory_(memory) {}

    void make() {
        choose_topology();
        for (int i = up_to(2); i >= 0; --i) import_buffer();
        for (int i = up_to(1); i >= 0 && std::ranges::any_of(lanes_, &Lane::is_vulkan); --i) import_image();
        const int passes = 2 + up_to(10);
        for (int i = 0; i < passes; ++i) add_pass(i);
        for (const Buffer& buffer : buffers_)
            if (chance(is_import(buffer) ? 0.6 : 0.15)) graph_.frame.export_contents(buffer);  // state, or an output
        for (const Image& image : images_)
            if (chance(0.25)) graph_.frame.export_contents(image);
    }

  private:
    int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
    bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }
    template <class T>
    const T& any_of(const std::vector<T>& items) {
        return items[static_cast<std::size_t>(up_to(static_cast<int>(items.size()) - 1))];
    }

    void choose_topology() {
        constexpr std::uint32_t kMost = RandomGraphMemory::kAccelerators;
        const auto accelerators =
            memory_.executed ? kMost : 1 + static_cast<std::uint32_t>(chance(0.4) ? up_to(kMost - 1) : 0);
        LaneTopology& topology = graph_.options.topology = every_lane(accelerators);
        if (memory_.executed) {
            lanes_.assign(topology.lanes().begin(), topology.lanes().end());
            return;
        }
        for (Lane lane : topology.lanes())
            if (chance(0.6)) lanes_.push_back(lane);
        if (lanes_.empty()) lanes_.push_back(Lane::Accelerator);
        const bool host = std::ranges::find(lanes_, Lane::Host) != lanes_.end();
        topology.present.fill(false);
        for (Lane lane : lanes_) topology.present[lane.index()] = true;
        for (Lane a : topology.lanes())
            for (Lane b : topology.lanes()) {
                LaneTopology::Pair& pair = topology.waits[a.index()][b.index()];
                pair.hand_over = Nanoseconds{1'000 * up_to(100)};
                const bool to_host = a == Lane::Host || b == Lane::Host;
                if (host && !to_host && a != b && chance(0.15)) pair.can_wait = false;
            }
        if (chance(0.1)) graph_.options.aliasing = Aliasing::Separate;
    }

    bool reaches(Lane lane, MemoryDomain domain) const {
        return graph_.options.topology.reaches[lane.index()][domain.index()];
    }
    /// Memory for a buffer that `lane` makes: mostly such as others reach too.
    MemoryDomain any_domain(Lane lane) {
        std::vector<MemoryDomain> domains;
        for (MemoryDomain domain : graph_.options.topology.domains())
            if (reaches(lane, domain)) domains.push_back(domain);
        return reaches(lane, MemoryDomain::Shared) && chance(0.5) ? MemoryDomain::Shared : any_of(domains);
    }

    void import_buffer() {
        const MemoryDomain domain = any_domain(any_of(lanes_));
        add_buffer(
            graph_.frame.import_buffer(fmt::format("import{}", names_++), {.bytes = kKiB, .domain = domain}, storage()),
            domain);
    }
    void import_image() {
        images_.push_back(
            graph_.frame.import_image(fmt::format("import{}", names_++), {.width = 64, .height = 64}, storage()));
    }
    bool is_import(Buffer buffer) const {
        return graph_.frame.resources()[buffer.resource()].kind == ResourceKind::Imported;
    }
    void add_buffer(Buffer buffer, MemoryDomain domain) {
        buffers_.push_back(buffer);
        domain_of_.resize(buffer.resource() + 1, domain);
        domain_of_[buffer.resource()] = domain;
    }
    Physical storage() {
        constexpr std::uint64_t kBytes = RandomGraphMemory::kImportBytes;
        return {.object = memory_.imports + kBytes * imports_++, .bytes = kBytes};
    }

    Access buffer_read(Lane lane) {
        if (lane == Lane::Graphics && chance(0.3)) return Access::SampledRead;
        return lane != Lane::Host && chance(0.2) ? Access::TransferRead : Scene::read_access(lane);
    }
    Access buffer_write(Lane lane) {
        return lane != Lane::Host && chance(0.2) ? Access::TransferWrite : Scene::write_access(lane);
    }
    Access image_read(Lane lane) {
        if (lane == Lane::Transfer) return Access::TransferRead;
        return any_of<Access>({Access::ComputeRead, Access::SampledRead, Access::SampledRead, Access::TransferRead});
    }
    Access image_write(Lane lane) {
        if (lane == Lane::Transfer) return Access::TransferWrite;
        if (lane == Lane::Graphics && chance(0.5)) return Access::ColorAttachment;
        return any_of<Access>({Access::ComputeWrite, Access::TransferWrite});
    }

    void add_pass(int i) {
        const Lane lane = any_of(lanes_);
        graph_.frame.add_pass<NoData>(
            fmt::format("p{}", i), lane,
            [&](PassBuilder& pass, NoData&) {
                std::vector<char> used(256, 0);
                touch_buffers(pass, lane, used);
                if (lane.is_vulkan()) touch_images(pass, lane, used);
                for (int n = up_to(2); n > 0; --n) {
                    const MemoryDomain domain = any_domain(lane);
                    add_buffer(pass.create(fmt::format("buffer{}", names_++),
                                           {.bytes = kKiB * static_cast<std::uint64_t>(1 + up_to(7)),
                                            .alignment = chance(0.3) ? 4096U : 256U,
                                            .domain = domain},
                                           buffer_write(lane)),
                               domain);
                }
                if (lane.is_vulkan() && chance(0.3))
                    images_.push_back(
                        pass.create(fmt::format("image{}", names_++),
                                    {.width = 64U << static_cast<unsigned>(up_to(2)),
                                     .height = 64,
                                     .domain = chance(0.5) ? MemoryDomain::Shared : MemoryDomain::Graphics},
                                    image_write(lane)));
                if (chance(0.25)) pass.has_side_effect();
                if (chance(0.2)) pass.run_anew();
            },
            [](const NoData&, TestContext&) {});
    }

    void touch_buffers(PassBuilder& pass, Lane lane, std::vector<char>& used) {
        for (int n = up_to(3); n > 0 && !buffers_.empty(); --n) {
            auto& buffer = buffers_[static_cast<std::size_t>(up_to(static_cast<int>(buffers_.size()) - 1))];
            if (!reaches(lane, domain_of_[buffer.resource()])) continue;
            if (std::exchange(used[buffer.resource()], 1) != 0) continue;
            const bool writes = chance(0.35);
            if (!writes || chance(0.4)) pass.read(buffer, buffer_read(lane));
            if (!writes && chance(0.1)) pass.read(buffer, buffer_read(lane));
            if (writes) {
                if (chance(0.2)) outdated_.push_back(buffer);
                buffer = pass.write(buffer, buffer_write(lane));
            }
        }
        if (outdated_.empty() || !chance(0.2)) return;
        const Buffer old = any_of(outdated_);
        if (reaches(lane, domain_of_[old.resource()]) && std::exchange(used[old.resource()], 1) == 0)
            pass.read(old, buffer_read(lane));
    }

    void touch_images(PassBuilder& pass, Lane lane, std::vector<char>& used) {
        for (int n = up_to(2); n > 0 && !images_.empty(); --n) {
            auto& image = images_[static_cast<std::size_t>(up_to(static_cast<int>(images_.size()) - 1))];
            if (std::exchange(used[image.resource()], 1) != 0) continue;
            if (chance(0.6)) {
                pass.read(image, image_read(lane));
            } else {
                const Access write = image_write(lane);
                if (write == Access::ComputeWrite && chance(0.5)) pass.read(image, Access::ComputeRead);
                image = pass.write(image, write);
            }
        }
    }

    RandomGraph& graph_;
    Choices random_;
    RandomGraphMemory memory_;
    std::uint64_t imports_ = 0;
    std::vector<Lane> lanes_;
    int names_ = 0;
    std::vector<Buffer> buffers_, outdated_;
    std::vector<MemoryDomain> domain_of_;  ///< [resource]; buffers only
    std::vector<Image> images_;
};

}  // namespace

RandomGraph::RandomGraph(const Choices& choices, const RandomGraphMemory& memory) : choices_(choices), memory_(memory) {
    Maker(*this, choices_, memory_).make();
}

void RandomGraph::declare() {
    frame.clear();
    Maker(*this, choices_, memory_).make();
}

}  // namespace kinetograph::graph
