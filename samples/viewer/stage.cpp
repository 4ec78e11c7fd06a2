#include <kinetograph/samples/viewer/stage.hpp>

#include <kinetograph/engine/present/offscreen.hpp>
#include <kinetograph/engine/present/swapchain.hpp>

namespace kinetograph::viewer {

Result<std::unique_ptr<Stage>> Stage::create(const ViewerOptions& options, profile::Recorder& recorder) {
    std::unique_ptr<Stage> stage(new Stage(recorder));
    if (auto opened = stage->open_device(options); !opened) return fail(opened.error());
    if (auto made = stage->make_lanes(); !made) return fail(made.error());
    if (auto made = stage->make_target(options); !made) return fail(made.error());
    const graph::PixelFormat format = stage->target_->desc().format;
    auto layer = ui::Layer::create(*stage->device_, {.target = format,
                                                     .scale = stage->window_ ? stage->window_->content_scale() : 1.0F,
                                                     .window = stage->window_ ? stage->window_->handle() : nullptr});
    if (!layer) return fail(layer.error());
    stage->layer_ = std::move(*layer);
    auto pictures = PictureRenderer::create(*stage->device_, *stage->graphics_, format);
    if (!pictures) return fail(pictures.error());
    stage->pictures_ = std::move(*pictures);
    stage->frame_.emplace(
        graph::FrameGraphOptions{.image_footprint = [device = stage->device_.get()](const graph::ImageDesc& desc) {
            return device->footprint(desc);
        }});
    return stage;
}

Result<void> Stage::open_device(const ViewerOptions& options) {
    auto loader = vulkan::Loader::open();
    if (!loader) return fail(loader.error());
    vulkan::InstanceOptions instance_options;
    instance_options.application = "kinetograph viewer";
    // Frames of an accelerator come with threads that relay its progress: engine/vulkan/instance.hpp says why not all
    // of the layers can be on then.
    const auto validation =
        options.lane == accel::Kind::Cpu ? vulkan::Validation::On : vulkan::Validation::WithoutSynchronization;
    instance_options.validation = options.validation ? validation : vulkan::Validation::Off;
    if (!options.headless) {
        auto window = present::Window::create({.width = options.width, .height = options.height});
        if (!window) return fail(window.error());
        window_ = std::move(*window);
        if (options.full_screen) window_->set_full_screen(true);
        instance_options.extensions = present::Window::instance_extensions();
    }
    auto instance = vulkan::Instance::create(*loader, instance_options);
    if (!instance) return fail(instance.error());
    instance_ = std::move(*instance);
    if (window_) {
        auto surface = window_->create_surface(*instance_);
        if (!surface) return fail(surface.error());
        surface_ = *surface;
    }
    auto device = vulkan::Device::create(*instance_, {.surface = surface_, .name_contains = options.device});
    if (!device) return fail(device.error());
    device_ = std::move(*device);
    return {};
}

Result<void> Stage::make_lanes() {
    memory_ = std::make_unique<vulkan::VulkanMemory>(*device_);
    auto graphics = vulkan::VulkanLane::create(*device_, graph::Lane::Graphics, &recorder_);
    if (!graphics) return fail(graphics.error());
    graphics_ = std::move(*graphics);
    auto transfer = vulkan::VulkanLane::create(*device_, graph::Lane::Transfer, &recorder_);
    if (!transfer) return fail(transfer.error());
    transfer_ = std::move(*transfer);
    graph::ExecutorDesc desc;
    desc.lanes = {graphics_.get(), transfer_.get()};
    desc.memory = {{graph::MemoryDomain::Graphics, memory_.get()}};
    auto executor = graph::Executor::create(desc);
    if (!executor) return fail(executor.error());
    executor_ = std::move(*executor);
    return {};
}

Result<void> Stage::make_target(const ViewerOptions& options) {
    readback_ = std::make_unique<present::Readback>(*device_);
    if (window_) {
        auto target = present::SwapchainTarget::create(*device_, *window_, surface_, *graphics_);
        if (!target) return fail(target.error());
        target_ = std::move(*target);
        return {};
    }
    auto target = present::OffscreenTarget::create(*device_, options.width, options.height);
    if (!target) return fail(target.error());
    target_ = std::move(*target);
    return {};
}

Stage::~Stage() {
    if (device_) static_cast<void>(device_->wait_idle());
    pictures_.reset();
    layer_.reset();
    readback_.reset();
    target_.reset();
    executor_.reset();
    transfer_.reset();
    graphics_.reset();
    memory_.reset();
    device_.reset();
    if (surface_ != VK_NULL_HANDLE) instance_->table().vkDestroySurfaceKHR(instance_->handle(), surface_, nullptr);
}

void Stage::record_span(const char* name, Nanoseconds begin, std::uint64_t execution) {
    recorder_.add({.name = name, .track = "present", .begin = begin, .end = host_now(), .execution = execution});
}

Result<Stage::Shown> Stage::show(const Picture& picture) {
    const Nanoseconds before_acquire = host_now();
    auto image = target_->acquire();
    if (!image) return fail(image.error());
    if (*image == nullptr) return Shown{};

    const Nanoseconds before_record = host_now();
    frame_->clear();
    const graph::ImageDesc desc = target_->desc();
    const graph::Image target = frame_->import_image("target", desc, physical_of(**image));
    auto drawn = pictures_->declare(*frame_, target, desc, picture.subject);
    if (!drawn) return fail(drawn.error());
    graphics_->collect();  // so that the interface shows every pass that has ended
    transfer_->collect();
    layer_->begin_frame(desc.width, desc.height, picture.since_last);
    picture.interface();
    const graph::Image done = layer_->end_frame(*frame_, *drawn);
    if (picture.read_back)
        if (auto declared = readback_->declare(*frame_, done, desc); !declared) return fail(declared.error());
    target_->declare_handover(*frame_, done);
    auto execution = executor_->execute(*frame_);
    if (!execution) return fail(execution.error());
    pictures_->submitted(*execution);
    recorder_.add({.name = "acquire",
                   .track = "present",
                   .begin = before_acquire,
                   .end = before_record,
                   .execution = execution->number});
    record_span("record and submit", before_record, execution->number);
    if (auto presented = target_->present(*execution); !presented) return fail(presented.error());

    Shown shown{true, {}};
    if (picture.read_back) {
        if (auto waited = executor_->wait(*execution); !waited) return fail(waited.error());
        shown.picture = readback_->picture();
    }
    return shown;
}

}  // namespace kinetograph::viewer
