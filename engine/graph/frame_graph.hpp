// FrameGraph: the declaration. Passes say what they read and write; compile() turns that into a Plan (plan.hpp),
// Executor (executor.hpp) runs it.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/graph/pass_context.hpp>
#include <kinetograph/engine/graph/timeline.hpp>

#include <cassert>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kinetograph::graph {

/// 128 bits over every input of the compiler; equal fingerprints compile to equal plans.
struct Fingerprint {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// Bytes and alignment that an image needs in an arena. A Vulkan device supplies its own through FrameGraphOptions.
struct Footprint {
    std::uint64_t bytes = 0;
    std::uint32_t alignment = 1;
};

struct FrameGraphOptions {
    /// Footprint of an image in an arena; empty: tightly packed pixels at 64 KiB.
    std::function<Footprint(const ImageDesc&)> image_footprint;
};

enum class ResourceKind : std::uint8_t { Transient, Imported };
enum class ResourceType : std::uint8_t { Buffer, Image };
std::string_view to_string(ResourceType type);

/// A resource as declared. Exported resources are transient or imported ones with `exported` set.
struct ResourceNode {
    std::string name;
    ResourceKind kind = ResourceKind::Transient;
    ResourceType type = ResourceType::Buffer;
    MemoryDomain domain = MemoryDomain::Accelerator;
    bool exported = false;
    std::uint32_t exported_version = kNoIndex;  ///< the oldest one that was exported
    std::uint32_t alignment = 1;
    std::uint64_t bytes = 0;  ///< footprint in its arena
    ImageDesc image;          ///< images only
    Physical imported;        ///< imported only; not part of the fingerprint
    Point ready;              ///< imported only, not part of the fingerprint: when passes may use it
    std::uint32_t newest_version = 0;
    std::vector<std::uint32_t> writer_of;  ///< [version] -> pass index; kNoIndex for version 0
};

/// One declared use: pass `pass` touches version `version` (the one read, or the one that its write makes).
struct AccessNode {
    std::uint32_t resource = kNoIndex;
    std::uint32_t version = 0;
    Access access = Access::KernelRead;
};

/// An invalid declaration: noted while declaring, reported as a sentence by compile().
struct Misuse {
    enum class Kind : std::uint8_t {
        EmptyHandle,    ///< a default-constructed handle
        ForeignHandle,  ///< names no resource of this type here: made by another graph, or before clear()
        OutdatedWrite,  ///< writes `version`, which is no longer the newest one
        SecondWrite,    ///< one pass writes one resource twice
        WrongAccess,    ///< read() with a write access, or the reverse
    };
    Kind kind = Kind::EmptyHandle;
    std::uint32_t pass = kNoIndex;  ///< kNoIndex: in export_contents()
    std::uint32_t resource = kNoIndex;
    std::uint32_t version = 0;
    ResourceType type = ResourceType::Buffer;  ///< of the handle
    Access access = Access::KernelRead;
    bool writing = false;         ///< said by create() or write()
    std::uint32_t resources = 0;  ///< how many there were then
};

class PassBuilder;

/// What a pass says about its work, for profilers. Not part of the fingerprint.
struct PassWork {
    double operations = 0.0;  ///< floating-point, a multiply-add is two; 0: not said
    std::uint64_t bytes = 0;  ///< moved at least; 0: what it reads and writes, once each
    std::string kernel{};     ///< what runs it: "igemm-sm90"
    std::string reason{};     ///< why that and not another
};

/// A pass as declared, with its execute function bound to its data.
struct PassNode {
    std::string name;
    Lane lane = Lane::Host;
    bool side_effect = false;  ///< never culled
    bool anew = false;         ///< see PassBuilder::run_anew()
    std::vector<AccessNode> accesses;
    PassWork work;
    std::function<void(PassContext&)> execute;
};

class FrameGraph {
  public:
    explicit FrameGraph(FrameGraphOptions options = {});
    FrameGraph(FrameGraph&&) noexcept;
    FrameGraph& operator=(FrameGraph&&) noexcept;
    FrameGraph(const FrameGraph&) = delete;
    FrameGraph& operator=(const FrameGraph&) = delete;
    ~FrameGraph();

    /// Memory of the caller, which must outlive the execution. State that one execution leaves for the next is an
    /// import that is read, written and exported. Contents of version 0 are readable, and the memory is writable, from
    /// `ready` on: the first pass of every lane that uses it waits for that. `physical` and `ready` may differ from one
    /// execution to the next without a new plan.
    Buffer import_buffer(std::string_view name, const BufferDesc& desc, const Physical& physical,
                         const Point& ready = {});
    Image import_image(std::string_view name, const ImageDesc& desc, const Physical& physical, const Point& ready = {});

    /// Other storage for an import, from the next execution on, without declaring anything anew. `import` is a handle
    /// of any version of it.
    void rebind(Buffer import, const Physical& physical, const Point& ready = {});
    void rebind(Image import, const Physical& physical, const Point& ready = {});

    /// Marks contents as an output: the passes that make this version are not culled, and it is not overwritten
    /// afterwards. The contents stay until the next execution overwrites them: a reader outside the graph must finish
    /// before that execution starts, or make it wait (see import_buffer's `ready`).
    void export_contents(Buffer buffer);
    void export_contents(Image image);

    /// Declares a pass. `setup(PassBuilder&, Data&)` runs now and may capture by reference.
    /// `execute(const Data&, Context&)` runs at execution and captures by value; Context is the context type of the
    /// lane (accel::PassContext, vulkan::PassContext, HostContext), and must serve `lane`.
    template <class Data, class Setup, class Execute>
    const Data& add_pass(std::string_view name, Lane lane, Setup&& setup, Execute&& execute);

    /// Forgets all passes and resources, keeps allocated capacity: declare the next frame into the same object.
    void clear();

    /// Kept up to date while declaring, so reading it costs nothing.
    Fingerprint topology() const { return topology_; }
    const std::vector<PassNode>& passes() const { return passes_; }
    /// From now on every pass runs what `wrap(node)` returns, which may run what it ran before, `node.execute`: for
    /// tools that time passes from outside. The graph's plan stays the same.
    template <class Wrap>
    void wrap_passes(Wrap&& wrap) {
        for (PassNode& pass : passes_) pass.execute = wrap(std::as_const(pass));
    }
    const std::vector<ResourceNode>& resources() const { return resources_; }
    const std::vector<Misuse>& misuses() const { return misuses_; }

  private:
    friend class PassBuilder;
    std::uint32_t begin_pass(std::string_view name, Lane lane);
    void end_pass(std::uint32_t pass, std::function<void(PassContext&)> execute);
    ResourceNode& add_resource(std::string_view name, ResourceKind kind, ResourceType type, MemoryDomain domain);
    void describe_buffer(ResourceNode& node, const BufferDesc& desc);
    void describe_image(ResourceNode& node, const ImageDesc& desc);
    bool names_resource(std::uint32_t resource, ResourceType type) const;
    void rebind(std::uint32_t resource, ResourceType type, const Physical& physical, const Point& ready);
    void export_version(std::uint32_t resource, std::uint32_t version, ResourceType type);
    void note(const Misuse& misuse);

    FrameGraphOptions options_;
    Fingerprint topology_;
    std::vector<PassNode> passes_, spare_passes_;  ///< spare: emptied by clear(), kept for their capacity
    std::vector<ResourceNode> resources_, spare_resources_;
    std::vector<Misuse> misuses_;
    std::vector<std::shared_ptr<void>> data_;
};

/// Handed to a pass's setup: the only way to declare what the pass touches.
/// Misuse (a handle of another graph, a write to an outdated version) is collected and reported by compile().
class PassBuilder {
  public:
    Buffer create(std::string_view name, const BufferDesc& desc,
                  Access access);  ///< a transient that this pass writes first
    Image create(std::string_view name, const ImageDesc& desc, Access access);
    Buffer read(Buffer buffer, Access access);
    Image read(Image image, Access access);
    /// Continues the contents of `buffer`, which must be the newest version, and returns the next version. The passes
    /// that made the earlier contents are kept, because a write may leave part of them alone.
    Buffer write(Buffer buffer, Access access);
    Image write(Image image, Access access);
    /// The pass acts on the world outside the graph (prints, presents): it is never culled.
    void has_side_effect();
    /// What the pass does, or where its imports lie, differs from one execution to the next. On the accelerator lane
    /// such passes are submitted apart from those around them, so that a lane which captures work and replays it can
    /// replay the others; elsewhere this changes nothing.
    void run_anew();
    /// For profilers: changes nothing of how the pass runs.
    void describe_work(PassWork work);

  private:
    friend class FrameGraph;
    PassBuilder(FrameGraph& graph, std::uint32_t pass) : graph_(graph), pass_(pass) {}
    void declare_read(std::uint32_t resource, std::uint32_t version, ResourceType type, Access access);
    /// Returns the version that the write makes.
    std::uint32_t declare_write(std::uint32_t resource, std::uint32_t version, ResourceType type, Access access);
    bool usable(std::uint32_t resource, std::uint32_t version, ResourceType type, Access access, bool writing);
    void declare_access(std::uint32_t resource, std::uint32_t version, Access access);
    FrameGraph& graph_;
    std::uint32_t pass_;
};

namespace detail {
template <class F>
struct ExecuteTraits : ExecuteTraits<decltype(&F::operator())> {};
template <class R, class C, class D, class X>
struct ExecuteTraits<R (C::*)(const D&, X&) const> {
    using Context = X;
};
}  // namespace detail

template <class Data, class Setup, class Execute>
const Data& FrameGraph::add_pass(std::string_view name, Lane lane, Setup&& setup, Execute&& execute) {
    using Context = typename detail::ExecuteTraits<std::decay_t<Execute>>::Context;
    static_assert(std::is_base_of_v<PassContext, Context>, "execute takes (const Data&, the lane's context&)");
    assert(Context::serves(lane) && "the context type does not belong to this lane");
    auto data = std::make_shared<Data>();
    const std::uint32_t pass = begin_pass(name, lane);
    PassBuilder builder(*this, pass);
    std::forward<Setup>(setup)(builder, *data);
    end_pass(pass, [data, run = std::decay_t<Execute>(std::forward<Execute>(execute))](PassContext& context) {
        run(*data, static_cast<Context&>(context));
    });
    const Data& result = *data;
    data_.push_back(std::move(data));
    return result;
}

}  // namespace kinetograph::graph
