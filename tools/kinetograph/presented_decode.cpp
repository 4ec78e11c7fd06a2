#include <kinetograph/engine/graph/bounded_wait.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>
#include <kinetograph/tools/kinetograph/resident_memory.hpp>

namespace kinetograph::cli {
namespace {

struct DrawData {
    graph::Image frame, picture;
};

/// Copies the frame to the picture with scaling, as a compositor would, although the sizes are equal.
void blit(const vulkan::Image& frame, const vulkan::Image& picture, vulkan::PassContext& context) {
    VkImageBlit region{};
    region.srcSubresource = region.dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.srcOffsets[1] = region.dstOffsets[1] = {static_cast<std::int32_t>(frame.desc().width),
                                                   static_cast<std::int32_t>(frame.desc().height), 1};
    context.table().vkCmdBlitImage(context.commands(), frame.handle(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                   picture.handle(), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region,
                                   VK_FILTER_LINEAR);
}

}  // namespace

Result<std::unique_ptr<PresentedDecode>> PresentedDecode::create(interop::Bridge& bridge,
                                                                 const std::shared_ptr<vae::Model>& model,
                                                                 vae::LatentSize size,
                                                                 const PresentedOptions& options) {
    std::unique_ptr<PresentedDecode> made(new PresentedDecode(bridge, options));
    KG_CHECK(made->make(model, size));
    return made;
}

PresentedDecode::~PresentedDecode() = default;

Result<void> PresentedDecode::make(const std::shared_ptr<vae::Model>& model, vae::LatentSize size) {
    KG_TRY(latents_, StepLatents::create(model->device(), model->channels(), size));
    constexpr std::uint32_t kSlots = 12;  // three steps
    KG_TRY(ring_, stream::Stepper::create(bridge_, model, size,
                                          {.slots = kSlots,
                                           .copy_lane = options_.copy_lane,
                                           .copies = options_.copies,
                                           .recorder = options_.passes}));
    return make_drawing(clip().step_frames());
}

Result<void> PresentedDecode::make_drawing(vae::StepFrames size) {
    KG_TRY(picture_, vulkan::Image::create(bridge_.display()->device(), "picture",
                                           {.width = static_cast<std::uint32_t>(size.width),
                                            .height = static_cast<std::uint32_t>(size.height)}));
    KG_TRY(drawing_, vulkan::VulkanLane::create(bridge_.display()->device(), graph::Lane::Graphics, options_.recorder,
                                                bridge_.lane_sharing()));
    KG_TRY(executor_, graph::Executor::create({.lanes = {drawing_.get()}, .memory = {}, .compile = {}}));
    return {};
}

Result<void> PresentedDecode::enqueue_step() {
    constexpr Nanoseconds kLong = std::chrono::seconds(10);
    const stream::LatentFrame latent{.address = latents_->of_step(steps_), .bytes = latents_->bytes(), .ready = {}};
    KG_TRY(auto stepped, ring_->step(latent, kLong));
    if (stepped != stream::Stepped::Enqueued)
        return fail(ErrorCode::DeviceLost, "step {} found no free slots in ten seconds", steps_);
    ++steps_;
    return {};
}

Result<graph::Execution> PresentedDecode::draw(const interop::FrameRecord& record) {
    frame_.clear();
    const graph::Image frame = frame_.import_image("frame", record.image->desc(), vulkan::physical_of(*record.image),
                                                   bridge_.import_point(record.ready));
    const graph::Image target = frame_.import_image("target", picture_->desc(), vulkan::physical_of(*picture_));
    const DrawData& drawn = frame_.add_pass<DrawData>(
        "picture", graph::Lane::Graphics,
        [&](graph::PassBuilder& pass, DrawData& data) {
            data.frame = pass.read(frame, graph::Access::TransferRead);
            data.picture = pass.write(target, graph::Access::TransferWrite);
        },
        [](const DrawData& data, vulkan::PassContext& context) {
            blit(context.image(data.frame), context.image(data.picture), context);
        });
    frame_.export_contents(options_.draw_over ? options_.draw_over(frame_, drawn.picture) : drawn.picture);
    KG_TRY(auto execution, executor_->execute(frame_));
    const std::uint64_t value = execution.done[graph::Lane::Graphics.index()];
    KG_CHECK(ring_->ring().release(record, {drawing_->semaphore(), nullptr, value}));
    return execution;
}

/// Draws all frames in the ring; returns the last one's execution.
Result<graph::Execution> PresentedDecode::draw_frames() {
    graph::Execution last;
    while (const auto record = ring_->ring().try_take()) {
        KG_TRY(last, draw(*record));
    }
    return last;
}

std::vector<graph::LaneState> PresentedDecode::lane_states() const {
    std::vector<graph::LaneState> states = ring_->lane_states();
    states.push_back(drawing_->state());
    return states;
}

Result<void> PresentedDecode::wait_for_picture(const graph::Execution& execution) {
    return graph::wait_while_lanes_move(
        "a picture", options_.patience, [&] { return lane_states(); },
        [&](Nanoseconds timeout) { return executor_->wait(execution, timeout); });
}

Result<PresentedTimes> PresentedDecode::run(std::int64_t count) {
    PresentedTimes times;
    std::optional<graph::Execution> before;
    std::optional<Nanoseconds> ended;
    for (std::int64_t i = 0; i < count; ++i) {
        const Nanoseconds begin = host_now();
        KG_CHECK(enqueue_step());
        const Nanoseconds enqueued = host_now();
        KG_TRY(auto drawn, draw_frames());
        times.host_decode.add(to_seconds(enqueued - begin));
        times.host.add(to_seconds(host_now() - begin));
        if (before) KG_CHECK(wait_for_picture(*before));
        if (before && ended) times.period.add(to_seconds(host_now() - *ended));
        if (before) ended = host_now();
        before = drawn;
    }
    if (before) KG_CHECK(wait_for_picture(*before));
    KG_CHECK(ring_->wait_for_steps(options_.patience));  // reports a failed step, which its frames do not
    return times;
}

PresentedState PresentedDecode::state() const {
    return {.accelerator_bytes = bridge_.accelerator().bytes_allocated(),
            .vulkan_bytes = bridge_.display()->device().memory().bytes_held(),
            .resident_bytes = resident_bytes(),
            .steps = steps_,
            .frames = static_cast<std::uint64_t>(clip().model().rates().frames_of(static_cast<std::int64_t>(steps_))),
            .published = ring_->ring().stats().published,
            .decoder_value = ring_->runner().lane().timeline()->value(),
            .picture_value = drawing_->completed()};
}

}  // namespace kinetograph::cli
