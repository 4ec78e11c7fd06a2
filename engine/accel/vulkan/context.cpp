#include <kinetograph/engine/accel/vulkan/context.hpp>

#include <kinetograph/engine/accel/vulkan/module.hpp>
#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/vulkan/api.hpp>

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kinetograph::accel::vulkan {
namespace {

constexpr std::uint64_t kStagingBytes = 8U << 20U;

template <class Handle>
CommandStream& of(Handle stream) {
    return *reinterpret_cast<CommandStream*>(stream);
}

std::byte* to_pointer(VkDeviceAddress address) { return reinterpret_cast<std::byte*>(address); }

/// A timeline of the device, which the context keeps.
struct KeptTimeline {
    std::shared_ptr<gpu::Context> context;
    SubmittedPoints& points;
    std::shared_ptr<vk::TimelineSemaphore> timeline;
    std::shared_ptr<Timeline> original{};  ///< of an imported one
    KeptTimeline(std::shared_ptr<gpu::Context> of, SubmittedPoints& known, std::shared_ptr<vk::TimelineSemaphore> made,
                 std::shared_ptr<Timeline> exporters)
        : context(std::move(of)), points(known), timeline(std::move(made)), original(std::move(exporters)) {
        points.add(*timeline);
    }
    KeptTimeline(const KeptTimeline&) = delete;
    KeptTimeline& operator=(const KeptTimeline&) = delete;
    ~KeptTimeline() { points.remove(*timeline); }
};

std::shared_ptr<Timeline> keep(std::shared_ptr<gpu::Context> context, SubmittedPoints& points,
                               std::shared_ptr<vk::TimelineSemaphore> timeline,
                               std::shared_ptr<Timeline> original = nullptr) {
    auto kept = std::make_shared<KeptTimeline>(std::move(context), points, std::move(timeline), std::move(original));
    Timeline* const seen = kept->timeline.get();
    return {std::move(kept), seen};
}

}  // namespace

Context::Context(const vk::Device& device, OwnDevice own)
    : gpu::Context(describe(device.instance(), device.report())),
      own_(std::move(own)),
      device_(device),
      limits_(compute_limits(device.instance(), device.physical())) {}

Result<std::shared_ptr<Context>> Context::create(const vk::Device& device, OwnDevice own) {
    if (const auto missing = missing_features(device.report()); !missing.empty())
        return fail(ErrorCode::Unsupported, "{} cannot compute: {}", device.report().name, fmt::join(missing, ", "));
    std::shared_ptr<Context> context(new Context(device, std::move(own)));
    KG_CHECK(context->create_layout());
    return context;
}

Result<void> Context::create_layout() {
    const VkPushConstantRange address{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(VkDeviceAddress)};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &address;
    if (const VkResult result = device_.table().vkCreatePipelineLayout(device_.handle(), &info, nullptr, &layout_);
        result != VK_SUCCESS)
        return device_.error(result, "creating the layout of kernels");
    return {};
}

Context::~Context() {
    staging_.clear();
    device_.table().vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
}

Result<BufferRange> Context::range(const std::byte* address, std::uint64_t bytes) const {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const Lock lock(mutex_);
    auto found = addressed_.upper_bound(first);
    if (found != addressed_.begin() && first - std::prev(found)->first < std::prev(found)->second.bytes) {
        --found;
        const std::uint64_t offset = first - found->first;
        if (bytes <= found->second.bytes - offset) return BufferRange{found->second.buffer, offset};
        return fail(ErrorCode::InvalidArgument, "{} bytes from {} on end after its allocation, of which {} are left",
                    bytes, static_cast<const void*>(address), found->second.bytes - offset);
    }
    return fail(ErrorCode::InvalidArgument,
                "{} is no memory that {} addresses: its own, pinned and imported memory are within its reach",
                static_cast<const void*>(address), info().name);
}

/// From now on range() finds the buffer, until release().
std::byte* Context::add(std::unique_ptr<vk::Buffer> buffer) {
    const VkDeviceAddress address = buffer->address();
    const Lock lock(mutex_);
    Addressed& added = addressed_[address];
    added = {buffer->handle(), buffer->bytes(), nullptr};
    added.own = std::move(buffer);
    return to_pointer(address);
}

Result<std::byte*> Context::share(const vk::Buffer& buffer) {
    if (!buffer.is_addressed())
        return fail(ErrorCode::InvalidArgument, "it was not made to have an address (BufferOptions::addressed)");
    const VkDeviceAddress address = buffer.address();
    const Lock lock(mutex_);
    addressed_[address] = {buffer.handle(), buffer.bytes(), nullptr};
    return to_pointer(address);
}

Result<std::byte*> Context::allocate(std::uint64_t bytes) {
    if (bytes > info().memory_bytes)
        return fail(ErrorCode::OutOfMemory, "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY");
    if (bytes > limits_.allocation_bytes)
        return fail(ErrorCode::OutOfMemory, "one allocation has at most {} bytes (maxMemoryAllocationSize)",
                    limits_.allocation_bytes);
    auto buffer = vk::Buffer::create(device_, "memory of an accelerator", bytes, {.addressed = true});
    if (buffer) return add(std::move(*buffer));
    if (buffer.error().code != ErrorCode::OutOfMemory) return fail(std::move(buffer.error()));
    return fail(ErrorCode::OutOfMemory, "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY");
}

Context::MemoryLeft Context::memory_left() {
    return {device_.memory().bytes_free(vk::MemoryUse::DeviceLocal), info().memory_bytes};
}

void Context::release(std::byte* address) {
    decltype(addressed_)::node_type released;  // destroyed unlocked
    const Lock lock(mutex_);
    released = addressed_.extract(reinterpret_cast<std::uintptr_t>(address));
}

Result<std::byte*> Context::allocate_pinned(std::uint64_t bytes) {
    KG_TRY(auto buffer,
           vk::Buffer::create(device_, "pinned memory", bytes,
                              {.memory = vk::MemoryUse::Readback, .addressed = true, .whole_pages = true}));
    std::byte* const host = buffer->mapped();
    std::byte* const address = add(std::move(buffer));
    const Lock lock(mutex_);
    pinned_[host] = address;
    return host;
}

void Context::release_pinned(std::byte* host) {
    const auto address = device_address(host);
    if (!address) return;
    {
        const Lock lock(mutex_);
        pinned_.erase(host);
    }
    release(*address);
}

Result<void> Context::register_host(std::span<std::byte> memory) {
    KG_TRY(auto buffer, vk::Buffer::import_host(device_, "memory of the host", memory, true));
    std::byte* const address = add(std::move(buffer));
    const Lock lock(mutex_);
    pinned_[memory.data()] = address;
    return {};
}

void Context::unregister_host(std::byte* host) { release_pinned(host); }

Result<std::byte*> Context::device_address(std::byte* host) {
    const Lock lock(mutex_);
    const auto found = pinned_.find(host);
    if (found == pinned_.end())
        return fail(ErrorCode::InvalidArgument, "{} is no pinned memory of {}", static_cast<const void*>(host),
                    info().name);
    return found->second;
}

Result<void> Context::check_address(const std::byte* address) {
    KG_CHECK(range(address, 0));
    return {};
}

/// The driver takes ownership of the descriptor that it imports, but the caller keeps it if a later call fails: it gets
/// a duplicate.
Result<gpu::ExternalMemoryHandle> Context::import_memory(const ExternalMemoryDesc& desc) {
    const int own_fd = above_stdio(::dup(desc.fd));
    if (own_fd < 0)
        return fail(ErrorCode::InvalidArgument, "descriptor {} cannot be duplicated ({})", desc.fd,
                    std::strerror(errno));
    auto buffer = vk::Buffer::import_fd(device_, "memory of another API", own_fd, desc.bytes, desc.dedicated);
    if (buffer) return reinterpret_cast<gpu::ExternalMemoryHandle>(buffer->release());
    ::close(own_fd);
    return fail(std::move(buffer.error()));
}

Result<std::byte*> Context::map(gpu::ExternalMemoryHandle memory, std::uint64_t /*bytes*/) {
    return share(*reinterpret_cast<const vk::Buffer*>(memory));
}

void Context::release(gpu::ExternalMemoryHandle memory) { delete reinterpret_cast<vk::Buffer*>(memory); }

Result<std::shared_ptr<Timeline>> Context::create_timeline(std::shared_ptr<gpu::Context> self) {
    KG_TRY(auto timeline, vk::TimelineSemaphore::create(device_, "a timeline"));
    return keep(std::move(self), points_, std::move(timeline));
}

Result<std::shared_ptr<Timeline>> Context::import_timeline(std::shared_ptr<gpu::Context> self, int fd,
                                                           std::shared_ptr<Timeline> original) {
    KG_TRY_IN("imported timeline", auto timeline, vk::TimelineSemaphore::import_fd(device_, original->name(), fd));
    original->on_report([weak = std::weak_ptr(timeline)](const Error& error) {
        if (const auto imported = weak.lock()) imported->report(error);
    });
    return keep(std::move(self), points_, std::move(timeline), std::move(original));
}

Result<void> Context::wait(gpu::StreamHandle stream, const std::shared_ptr<Timeline>& timeline, std::uint64_t value) {
    return of(stream).wait(timeline, value);
}

Result<void> Context::signal(gpu::StreamHandle stream, const std::shared_ptr<Timeline>& timeline, std::uint64_t value) {
    return of(stream).signal(timeline, value);
}

Result<gpu::StreamHandle> Context::create_stream() {
    KG_TRY(auto stream, CommandStream::create(*this));
    return reinterpret_cast<gpu::StreamHandle>(stream.release());
}

void Context::release(gpu::StreamHandle stream) { delete &of(stream); }

/// A caller's device ends the rest once its queues are idle.
void Context::give_up(gpu::StreamHandle stream) {
    of(stream).give_up();
    if (own_.device == nullptr)
        device_.keep(std::shared_ptr<const void>(
            this, [self = shared_from_this()](const void*) { (void)self->given_up().has_ended(); }));
}

Result<void> Context::check_adopted(gpu::StreamHandle /*stream*/) const {
    return fail(ErrorCode::InvalidArgument, "{} has no streams of a caller's", info().name);
}

Result<bool> Context::is_idle(gpu::StreamHandle stream) { return of(stream).is_idle(); }

Result<void> Context::synchronize(gpu::StreamHandle stream) { return of(stream).synchronize(); }

Result<void> Context::run_on_host(gpu::StreamHandle stream, gpu::HostFunction function, void* user_data) {
    return of(stream).run_on_host(function, user_data);
}

Result<void> Context::check_launch(const Launch& launch, const Pipeline& pipeline) const {
    const Extent3 &grid = launch.grid, &block = launch.block, &most = limits_.workgroups;
    if (block != Extent3{pipeline.threads, 1, 1})
        return fail(ErrorCode::InvalidArgument, "a block of {} x {} x {} threads, the kernel was made for {}", block.x,
                    block.y, block.z, pipeline.threads);
    if (grid.x > most.x || grid.y > most.y || grid.z > most.z)
        return fail(ErrorCode::InvalidArgument, "a grid of {} x {} x {} blocks, {} has at most {} x {} x {}", grid.x,
                    grid.y, grid.z, info().name, most.x, most.y, most.z);
    if (launch.cluster != Extent3{})
        return fail(ErrorCode::Unsupported, "a cluster of {} x {} x {} blocks: Vulkan has no clusters",
                    launch.cluster.x, launch.cluster.y, launch.cluster.z);
    if (launch.dynamic_shared_bytes != 0)
        return fail(ErrorCode::Unsupported,
                    "{} bytes of dynamic shared memory: in Vulkan its size is the kernel's, by its constants",
                    launch.dynamic_shared_bytes);
    if (launch.arguments.size() > Recording::kMostArguments)
        return fail(ErrorCode::InvalidArgument, "{} bytes of arguments, Vulkan's launches take {}",
                    launch.arguments.size(), Recording::kMostArguments);
    return {};
}

Result<void> Context::launch(gpu::StreamHandle stream, const Launch& launch, gpu::FunctionHandle function) {
    const Pipeline& pipeline = *reinterpret_cast<const Pipeline*>(function);
    KG_CHECK(check_launch(launch, pipeline));
    return of(stream).launch(pipeline, launch.grid, launch.arguments);
}

Result<void> Context::fill(gpu::StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) {
    KG_TRY(const auto to, range(address, bytes));
    return of(stream).fill(to, value, bytes);
}

Result<void> Context::copy(gpu::StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    KG_TRY(const auto target, range(to, bytes));
    KG_TRY(const auto source, range(from, bytes));
    return of(stream).copy(target, source, bytes);
}

Result<std::unique_ptr<vk::Buffer>> Context::take_staging() {
    {
        const Lock lock(mutex_);
        if (!staging_.empty()) {
            auto taken = std::move(staging_.back());
            staging_.pop_back();
            return taken;
        }
    }
    return vk::Buffer::create(device_, "staging memory", kStagingBytes, {.memory = vk::MemoryUse::Readback});
}

void Context::give_back(std::unique_ptr<vk::Buffer> staging) {
    const Lock lock(mutex_);
    staging_.push_back(std::move(staging));
}

/// If the stream fails, the staging memory is kept: the device may still use it.
Result<void> Context::upload(gpu::StreamHandle stream, std::byte* to, std::span<const std::byte> from) {
    KG_TRY(auto target, range(to, from.size()));
    KG_TRY(auto staging, take_staging());
    for (; !from.empty(); from = from.subspan(std::min<std::size_t>(from.size(), kStagingBytes))) {
        const auto part = from.first(std::min<std::size_t>(from.size(), kStagingBytes));
        std::ranges::copy(part, staging->mapped());
        auto copied = of(stream).copy(target, {staging->handle(), 0}, part.size());
        if (copied) copied = of(stream).synchronize();
        if (!copied) {
            device_.keep(std::shared_ptr<vk::Buffer>(std::move(staging)));
            return fail(std::move(copied.error()));
        }
        target.offset += part.size();
    }
    give_back(std::move(staging));
    return {};
}

Result<void> Context::read_back(gpu::StreamHandle stream, std::span<std::byte> to, const std::byte* from) {
    KG_TRY(auto source, range(from, to.size()));
    KG_TRY(auto staging, take_staging());
    for (; !to.empty(); to = to.subspan(std::min<std::size_t>(to.size(), kStagingBytes))) {
        const auto part = to.first(std::min<std::size_t>(to.size(), kStagingBytes));
        auto copied = of(stream).copy({staging->handle(), 0}, source, part.size());
        if (copied) copied = of(stream).synchronize();
        if (!copied) {
            device_.keep(std::shared_ptr<vk::Buffer>(std::move(staging)));
            return fail(std::move(copied.error()));
        }
        std::ranges::copy_n(staging->mapped(), static_cast<std::ptrdiff_t>(part.size()), part.begin());
        source.offset += part.size();
    }
    give_back(std::move(staging));
    return {};
}

Result<bool> Context::is_capturing(gpu::StreamHandle stream) { return of(stream).is_capturing(); }

Result<void> Context::begin_capture(gpu::StreamHandle stream) { return of(stream).begin_capture(); }

Result<gpu::GraphHandle> Context::end_capture(gpu::StreamHandle stream) {
    KG_TRY(auto captured, of(stream).end_capture());
    return reinterpret_cast<gpu::GraphHandle>(new Captured(std::move(captured)));
}

Result<std::size_t> Context::count_nodes(gpu::GraphHandle graph) {
    return reinterpret_cast<const Captured*>(graph)->nodes;
}

/// What was captured is ready as it is.
Result<gpu::GraphExecHandle> Context::instantiate(gpu::GraphHandle graph, gpu::StreamHandle /*stream*/) {
    return reinterpret_cast<gpu::GraphExecHandle>(new Captured(std::move(*reinterpret_cast<Captured*>(graph))));
}

Result<void> Context::replay(gpu::StreamHandle stream, gpu::GraphExecHandle graph) {
    return of(stream).replay(*reinterpret_cast<Captured*>(graph));
}

void Context::release(gpu::GraphHandle graph) { delete reinterpret_cast<Captured*>(graph); }
void Context::release(gpu::GraphExecHandle graph) { delete reinterpret_cast<Captured*>(graph); }

Result<gpu::EventHandle> Context::create_event() {
    if (device_.queue(graph::Lane::AsyncCompute).timestamp_valid_bits == 0)
        return fail(ErrorCode::Unsupported, "{}: its compute queue has no time stamps (timestampValidBits)",
                    info().name);
    KG_TRY(auto stamp, Stamp::create(device_));
    return reinterpret_cast<gpu::EventHandle>(new Stamped{std::move(stamp)});
}

void Context::release(gpu::EventHandle event) { delete reinterpret_cast<Stamped*>(event); }

Result<void> Context::record(gpu::StreamHandle stream, gpu::EventHandle event) {
    return of(stream).record(reinterpret_cast<Stamped*>(event)->stamp);
}

/// The stream knows that it captures.
Result<void> Context::capture_record(gpu::StreamHandle stream, gpu::EventHandle event) { return record(stream, event); }

Result<std::shared_ptr<gpu::EventClock>> Context::start_clock(std::shared_ptr<gpu::Context> self) {
    return std::make_shared<StampClock>(std::move(self), device_.clock());
}

Result<std::shared_ptr<Module>> Context::load(std::shared_ptr<gpu::Context> self, std::string_view name,
                                              std::span<const std::byte> image) {
    return SpirvModule::load(std::static_pointer_cast<Context>(std::move(self)), name, image);
}

}  // namespace kinetograph::accel::vulkan
