#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/graph/fingerprint.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>

#include <cassert>

namespace kinetograph::graph {

namespace {

constexpr Fingerprint kEmptyTopology{0x6b696e65746f6772U, 0x6170682067726170U};

/// Distinguishes what is mixed into the fingerprint: a read of 3 and an export of 3 differ.
enum class Tag : std::uint64_t { Pass = 1, Read, Write, SideEffect, Buffer, Image, Export, Misuse, Anew };

std::uint64_t tagged(Tag tag, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    return static_cast<std::uint64_t>(tag) << 56U ^ a << 48U ^ b << 40U ^ c;
}

std::uint64_t pair(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32U | b; }

template <class Enum>
std::uint64_t number(Enum value) {
    return static_cast<std::uint64_t>(value);
}

/// Takes an emptied node, with the capacity of its strings and vectors, from `spare`; a new one when there is none.
template <class Node>
Node& append_from(std::vector<Node>& nodes, std::vector<Node>& spare) {
    if (spare.empty()) return nodes.emplace_back();
    nodes.push_back(std::move(spare.back()));
    spare.pop_back();
    return nodes.back();
}

Footprint packed_pixels(const ImageDesc& desc) {
    constexpr std::uint32_t kImageAlignment = 64U << 10U;
    return {.bytes = std::uint64_t{desc.width} * desc.height * bytes_per_pixel(desc.format),
            .alignment = kImageAlignment};
}

}  // namespace

FrameGraph::FrameGraph(FrameGraphOptions options) : options_(std::move(options)), topology_(kEmptyTopology) {}
FrameGraph::FrameGraph(FrameGraph&&) noexcept = default;
FrameGraph& FrameGraph::operator=(FrameGraph&&) noexcept = default;
FrameGraph::~FrameGraph() = default;

void FrameGraph::clear() {
    // From the back, so that the next frame's first pass finds the capacity of this frame's first pass.
    while (!passes_.empty()) {
        PassNode& node = passes_.back();
        node.accesses.clear();
        node.execute = nullptr;
        node.side_effect = false;
        node.anew = false;
        node.work = {};
        spare_passes_.push_back(std::move(node));
        passes_.pop_back();
    }
    while (!resources_.empty()) {
        ResourceNode& node = resources_.back();
        node.name.clear();
        node.writer_of.clear();
        ResourceNode emptied;
        std::swap(emptied.name, node.name);
        std::swap(emptied.writer_of, node.writer_of);
        spare_resources_.push_back(std::move(emptied));
        resources_.pop_back();
    }
    misuses_.clear();
    data_.clear();
    topology_ = kEmptyTopology;
}

std::uint32_t FrameGraph::begin_pass(std::string_view name, Lane lane) {
    PassNode& node = append_from(passes_, spare_passes_);
    node.name.assign(name);
    node.lane = lane;
    mix(topology_, tagged(Tag::Pass, lane.index()));
    mix(topology_, name);
    return static_cast<std::uint32_t>(passes_.size() - 1);
}

void FrameGraph::end_pass(std::uint32_t pass, std::function<void(PassContext&)> execute) {
    passes_[pass].execute = std::move(execute);
}

ResourceNode& FrameGraph::add_resource(std::string_view name, ResourceKind kind, ResourceType type,
                                       MemoryDomain domain) {
    ResourceNode& node = append_from(resources_, spare_resources_);
    node.name.assign(name);
    node.kind = kind;
    node.type = type;
    node.domain = domain;
    node.writer_of.push_back(kNoIndex);
    mix(topology_, name);
    return node;
}

void FrameGraph::describe_buffer(ResourceNode& node, const BufferDesc& desc) {
    node.bytes = desc.bytes;
    node.alignment = desc.alignment;
    mix(topology_, tagged(Tag::Buffer, number(node.kind), desc.domain.index(), desc.alignment));
    mix(topology_, desc.bytes);
}

void FrameGraph::describe_image(ResourceNode& node, const ImageDesc& desc) {
    const Footprint footprint = options_.image_footprint ? options_.image_footprint(desc) : packed_pixels(desc);
    node.image = desc;
    node.bytes = footprint.bytes;
    node.alignment = footprint.alignment;
    mix(topology_, tagged(Tag::Image, number(node.kind), desc.domain.index(), number(desc.format)));
    mix(topology_, pair(desc.width, desc.height));
    mix(topology_, footprint.bytes);
    mix(topology_, footprint.alignment);
}

Buffer FrameGraph::import_buffer(std::string_view name, const BufferDesc& desc, const Physical& physical,
                                 const Point& ready) {
    ResourceNode& node = add_resource(name, ResourceKind::Imported, ResourceType::Buffer, desc.domain);
    describe_buffer(node, desc);
    node.imported = physical;
    node.ready = ready;
    return {static_cast<std::uint32_t>(resources_.size() - 1), 0};
}

Image FrameGraph::import_image(std::string_view name, const ImageDesc& desc, const Physical& physical,
                               const Point& ready) {
    ResourceNode& node = add_resource(name, ResourceKind::Imported, ResourceType::Image, desc.domain);
    describe_image(node, desc);
    node.imported = physical;
    node.ready = ready;
    return {static_cast<std::uint32_t>(resources_.size() - 1), 0};
}

void FrameGraph::rebind(Buffer import, const Physical& physical, const Point& ready) {
    rebind(import.resource(), ResourceType::Buffer, physical, ready);
}

void FrameGraph::rebind(Image import, const Physical& physical, const Point& ready) {
    rebind(import.resource(), ResourceType::Image, physical, ready);
}

void FrameGraph::rebind(std::uint32_t resource, [[maybe_unused]] ResourceType type, const Physical& physical,
                        const Point& ready) {
    assert(names_resource(resource, type) && resources_[resource].kind == ResourceKind::Imported &&
           "only imports of this graph have storage of the caller's");
    resources_[resource].imported = physical;
    resources_[resource].ready = ready;
}

void FrameGraph::export_contents(Buffer buffer) {
    export_version(buffer.resource(), buffer.version(), ResourceType::Buffer);
}

void FrameGraph::export_contents(Image image) {
    export_version(image.resource(), image.version(), ResourceType::Image);
}

void FrameGraph::export_version(std::uint32_t resource, std::uint32_t version, ResourceType type) {
    if (!names_resource(resource, type)) {
        const auto kind = resource == kNoIndex ? Misuse::Kind::EmptyHandle : Misuse::Kind::ForeignHandle;
        note({.kind = kind, .resource = resource, .version = version, .type = type});
        return;
    }
    ResourceNode& node = resources_[resource];
    node.exported = true;
    node.exported_version = std::min(node.exported_version, version);
    mix(topology_, tagged(Tag::Export, 0));
    mix(topology_, pair(resource, version));
}

bool FrameGraph::names_resource(std::uint32_t resource, ResourceType type) const {
    return resource < resources_.size() && resources_[resource].type == type;
}

void FrameGraph::note(const Misuse& misuse) {
    misuses_.push_back(misuse);
    misuses_.back().resources = static_cast<std::uint32_t>(resources_.size());
    mix(topology_, tagged(Tag::Misuse, number(misuse.kind), number(misuse.access), misuse.resource));
    mix(topology_, pair(misuse.pass, misuse.version));
}

Buffer PassBuilder::create(std::string_view name, const BufferDesc& desc, Access access) {
    ResourceNode& node = graph_.add_resource(name, ResourceKind::Transient, ResourceType::Buffer, desc.domain);
    graph_.describe_buffer(node, desc);
    const auto resource = static_cast<std::uint32_t>(graph_.resources_.size() - 1);
    return {resource, declare_write(resource, 0, ResourceType::Buffer, access)};
}

Image PassBuilder::create(std::string_view name, const ImageDesc& desc, Access access) {
    ResourceNode& node = graph_.add_resource(name, ResourceKind::Transient, ResourceType::Image, desc.domain);
    graph_.describe_image(node, desc);
    const auto resource = static_cast<std::uint32_t>(graph_.resources_.size() - 1);
    return {resource, declare_write(resource, 0, ResourceType::Image, access)};
}

Buffer PassBuilder::read(Buffer buffer, Access access) {
    declare_read(buffer.resource(), buffer.version(), ResourceType::Buffer, access);
    return buffer;
}

Image PassBuilder::read(Image image, Access access) {
    declare_read(image.resource(), image.version(), ResourceType::Image, access);
    return image;
}

Buffer PassBuilder::write(Buffer buffer, Access access) {
    return {buffer.resource(), declare_write(buffer.resource(), buffer.version(), ResourceType::Buffer, access)};
}

Image PassBuilder::write(Image image, Access access) {
    return {image.resource(), declare_write(image.resource(), image.version(), ResourceType::Image, access)};
}

void PassBuilder::has_side_effect() {
    graph_.passes_[pass_].side_effect = true;
    mix(graph_.topology_, tagged(Tag::SideEffect, 0));
}

void PassBuilder::run_anew() {
    graph_.passes_[pass_].anew = true;
    mix(graph_.topology_, tagged(Tag::Anew, 0));
}

void PassBuilder::describe_work(PassWork work) { graph_.passes_[pass_].work = std::move(work); }

bool PassBuilder::usable(std::uint32_t resource, std::uint32_t version, ResourceType type, Access access,
                         bool writing) {
    Misuse misuse{
        .pass = pass_, .resource = resource, .version = version, .type = type, .access = access, .writing = writing};
    const bool names = graph_.names_resource(resource, type);
    if (!names) {
        misuse.kind = resource == kNoIndex ? Misuse::Kind::EmptyHandle : Misuse::Kind::ForeignHandle;
        graph_.note(misuse);
    } else if (is_write(access) != writing) {
        misuse.kind = Misuse::Kind::WrongAccess;
        graph_.note(misuse);
    }
    return names;  // with a wrong access the versions are still valid: no further error follows
}

void PassBuilder::declare_read(std::uint32_t resource, std::uint32_t version, ResourceType type, Access access) {
    if (!usable(resource, version, type, access, false)) return;
    declare_access(resource, version, access);
    mix(graph_.topology_, tagged(Tag::Read, number(access)));
    mix(graph_.topology_, pair(resource, version));
}

std::uint32_t PassBuilder::declare_write(std::uint32_t resource, std::uint32_t version, ResourceType type,
                                         Access access) {
    if (!usable(resource, version, type, access, true)) return version;
    ResourceNode& node = graph_.resources_[resource];
    Misuse misuse{
        .pass = pass_, .resource = resource, .version = version, .type = type, .access = access, .writing = true};
    const bool own = node.newest_version > 0 && node.writer_of.back() == pass_;
    if (own || version != node.newest_version) {
        misuse.kind = own ? Misuse::Kind::SecondWrite : Misuse::Kind::OutdatedWrite;
        graph_.note(misuse);
        return node.newest_version;
    }
    node.writer_of.push_back(pass_);
    ++node.newest_version;
    declare_access(resource, node.newest_version, access);
    mix(graph_.topology_, tagged(Tag::Write, number(access)));
    mix(graph_.topology_, pair(resource, node.newest_version));
    return node.newest_version;
}

void PassBuilder::declare_access(std::uint32_t resource, std::uint32_t version, Access access) {
    graph_.passes_[pass_].accesses.push_back({.resource = resource, .version = version, .access = access});
}

std::string_view to_string(ResourceType type) {
    switch (type) {
        case ResourceType::Buffer:
            return "buffer";
        case ResourceType::Image:
            return "image";
    }
    return "?";
}

}  // namespace kinetograph::graph
