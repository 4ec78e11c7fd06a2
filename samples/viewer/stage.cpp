#include <kinetograph/samples/viewer/stage.hpp>

#include <kinetograph/engine/present/offscreen.hpp>
#include <kinetograph/engine/present/swapchain.hpp>

#include <utility>

namespace kinetograph::viewer {

Result<std::unique_ptr<Stage>> Stage::create(const ViewerOptions& options, profile::Recorder& recorder) {
    std::unique_ptr<Stage> stage(new Stage(options, recorder));
    KG_CHECK(stage->open_window());
    KG_CHECK(stage->open_device());
    return stage;
}

Result<void> Stage::replace_device() {
    close_device();
    return open_device();
}

bool Stage::find_display_lost() {
    if (window_ == nullptr) return false;
    window_->poll();
    return window_->is_lost();
}

Result<void> Stage::leave_window() {
    KG_CHECK(device_->wait_idle());
    const std::uint32_t width = target_->desc().width, height = target_->desc().height;
    pictures_.reset();
    layer_.reset();
    readback_.reset();
    target_.reset();
    instance_->table().vkDestroySurfaceKHR(instance_->handle(), std::exchange(surface_, VK_NULL_HANDLE), nullptr);
    window_.reset();
    KG_CHECK(make_target(width, height));
    return make_pictures();
}

Result<void> Stage::open_window() {
    KG_TRY(const auto loader, options_.vulkan ? Result<vulkan::Loader>(*options_.vulkan) : vulkan::Loader::open());
    vulkan::InstanceOptions instance_options;
    instance_options.application = "kinetograph viewer";
    // With an accelerator, host threads signal timelines that others wait for: engine/vulkan/instance.hpp says why the
    // synchronization checks are off then.
    const auto validation =
        options_.lane == "cpu" ? vulkan::Validation::On : vulkan::Validation::WithoutSynchronization;
    instance_options.validation = options_.validation ? validation : vulkan::Validation::Off;
    if (!options_.headless) {
        KG_TRY(window_, present::Window::create(
                            {.width = options_.width, .height = options_.height, .is_scaled = !options_.exact_size}));
        if (options_.full_screen) window_->set_full_screen(true);
        instance_options.extensions = present::Window::instance_extensions();
    }
    KG_TRY(instance_, vulkan::Instance::create(loader, instance_options));
    if (window_) {
        KG_TRY(surface_, window_->create_surface(*instance_));
    }
    return {};
}

Result<void> Stage::open_device() {
    KG_TRY(device_, vulkan::Device::create(*instance_, {.surface = surface_, .name_contains = options_.device}));
    KG_CHECK(make_lanes());
    KG_CHECK(make_target(options_.width, options_.height));
    KG_CHECK(make_pictures());
    frame_.emplace(graph::FrameGraphOptions{
        .image_footprint = [device = device_.get()](const graph::ImageDesc& desc) { return device->footprint(desc); }});
    return {};
}

Result<void> Stage::make_lanes() {
    memory_ = std::make_unique<vulkan::VulkanMemory>(*device_);
    KG_TRY(graphics_, vulkan::VulkanLane::create(*device_, graph::Lane::Graphics, &recorder_));
    KG_TRY(transfer_, vulkan::VulkanLane::create(*device_, graph::Lane::Transfer, &recorder_));
    graph::ExecutorDesc desc;
    desc.lanes = {graphics_.get(), transfer_.get()};
    desc.memory = {{graph::MemoryDomain::Graphics, memory_.get()}};
    KG_TRY(executor_, graph::Executor::create(desc));
    return {};
}

Result<void> Stage::make_target(std::uint32_t width, std::uint32_t height) {
    readback_ = std::make_unique<present::Readback>(*device_);
    if (window_) {
        KG_TRY(target_, present::SwapchainTarget::create(*device_, *window_, surface_, *graphics_));
        return {};
    }
    KG_TRY(target_, present::OffscreenTarget::create(*device_, width, height));
    return {};
}

Result<void> Stage::make_pictures() {
    KG_CHECK(make_interface());
    KG_TRY(pictures_, PictureRenderer::create(*device_, *graphics_, target_->desc().format));
    return {};
}

/// The interface's scale where the target has room for it.
float Stage::wanted_scale() const {
    const float wanted = options_.scale > 0.0F ? options_.scale : window_ ? window_->content_scale() : 1.0F;
    return ui::fitting_scale(wanted, target_->desc().width, target_->desc().height);
}

Result<void> Stage::make_interface() {
    layer_.reset();
    KG_TRY(layer_, ui::Layer::create(*device_, {.target = target_->desc().format,
                                                .scale = wanted_scale(),
                                                .window = window_ ? window_->handle() : nullptr}));
    return {};
}

Stage::~Stage() {
    close_device();
    if (surface_ != VK_NULL_HANDLE) instance_->table().vkDestroySurfaceKHR(instance_->handle(), surface_, nullptr);
}

void Stage::close_device() {
    if (device_) static_cast<void>(device_->wait_idle());
    frame_.reset();
    pictures_.reset();
    layer_.reset();
    readback_.reset();
    target_.reset();
    executor_.reset();
    transfer_.reset();
    graphics_.reset();
    memory_.reset();
    device_.reset();
}

void Stage::record_span(const char* name, Nanoseconds begin, std::uint64_t execution) {
    recorder_.add(
        profile::Span{.name = name, .track = "present", .begin = begin, .end = host_now(), .execution = execution});
}

Result<Stage::Shown> Stage::show(const Picture& picture) {
    const Nanoseconds before_acquire = host_now();
    KG_TRY(auto* const image, target_->acquire());
    if (image == nullptr) return Shown{};

    const Nanoseconds before_record = host_now();
    frame_->clear();
    const graph::ImageDesc desc = target_->desc();
    if (layer_->scale() != wanted_scale()) {  // the window has another size or is on another display
        KG_CHECK(device_->wait_idle());
        KG_CHECK(make_interface());
    }
    const graph::Image target = frame_->import_image("target", desc, physical_of(*image));
    KG_TRY(const graph::Image drawn, pictures_->declare(*frame_, target, desc, picture.subject));
    graphics_->collect();  // so that the interface shows every pass that has ended
    transfer_->collect();
    layer_->begin_frame(desc.width, desc.height, picture.since_last);
    picture.interface();
    const graph::Image done = layer_->end_frame(*frame_, drawn);
    if (picture.read_back) KG_CHECK(readback_->declare(*frame_, done, desc));
    target_->declare_handover(*frame_, done);
    KG_TRY(const auto execution, executor_->execute(*frame_));
    pictures_->submitted(execution);
    recorder_.add(profile::Span{.name = "acquire",
                                .track = "present",
                                .begin = before_acquire,
                                .end = before_record,
                                .execution = execution.number});
    record_span("record and submit", before_record, execution.number);
    KG_CHECK(target_->present(execution));

    const profile::PlanId plan = recorder_.plans().id_of(executor_->plan()->fingerprint, executor_->id());
    Shown shown{true, {plan, execution.number}, {}};
    if (picture.read_back) {
        KG_CHECK(executor_->wait(execution));
        shown.picture = readback_->picture();
    }
    return shown;
}

}  // namespace kinetograph::viewer
