#include <kinetograph/compute/session/clip_metrics.hpp>
#include <kinetograph/compute/session/encoders.hpp>
#include <kinetograph/compute/session/session.hpp>

#include <kinetograph/compute/conv/ceiling.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/compute/vae/runner.hpp>
#include <kinetograph/engine/accel/device_watch.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/interop/bridge.hpp>

namespace kinetograph::session {

namespace {

/// A back end's first device, or the one that draws.
Result<std::unique_ptr<accel::Device>> open_first(const accel::Backend& backend, const accel::DeviceHooks& hooks,
                                                  const vulkan::Display* display) {
    if (display == nullptr || backend.in_vulkan == nullptr) return accel::open(std::string(backend.name), hooks);
    auto device = backend.in_vulkan->compute_in(*display, hooks);
    if (device || device.error().code != ErrorCode::Unsupported) return device;
    hooks.log.warn("decoding in another Vulkan device than the one that draws: {}", device.error().message);
    return accel::open(std::string(backend.name), hooks);
}

/// A GPU for which this build has a decoder.
Result<std::unique_ptr<accel::Device>> open_decoding(const accel::Backend& backend, const accel::DeviceHooks& hooks,
                                                     const vulkan::Display* display) {
    KG_TRY(const auto devices, backend.inspect());
    if (devices.front().emulated)
        return fail(ErrorCode::Unsupported, "{} computes on the CPU, whose own lane is faster", devices.front().name);
    KG_TRY(auto device, open_first(backend, hooks, display));
    KG_CHECK(nn::Operators::create(*device));
    return device;
}

/// Refuses a budget that not even latents of one pixel can be decoded with. A model of its own answers, so that the
/// session's packs no filters for such a size.
Result<void> check_budget(accel::Device& device, const vae::Checkpoint& checkpoint, const SessionOptions& options) {
    KG_TRY(const auto model, vae::Model::create(device, checkpoint, options.model));
    return model->check_budget({.height = 1, .width = 1}, options.hooks.budget.bytes, options.limits);
}

}  // namespace

Result<std::unique_ptr<accel::Device>> open_device(const std::string& name, const accel::DeviceHooks& hooks,
                                                   const vulkan::Display* display) {
    if (name == "auto") {
        for (const accel::Backend& backend : accel::backends().subspan(1)) {  // after the CPU
            auto device = open_decoding(backend, hooks, display);
            if (device) return device;
            hooks.log.info("lane {} is not used: {}", backend.name, device.error().message);
        }
        return accel::open(accel::DeviceInfo::kHost, hooks);
    }
    const accel::Backend* backend = accel::find_backend(name);
    auto device = backend != nullptr ? open_first(*backend, hooks, display) : accel::open(name, hooks);
    if (device || device.error().code == ErrorCode::InvalidArgument) return device;  // its sentence names the lanes
    return fail(std::move(device.error()), "lane " + name);
}

Session::Session() = default;
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open(const std::string& weights, const SessionOptions& options) {
    KG_TRY(const auto checkpoint,
           vae::Checkpoint::open(weights, {options.hooks.host, options.limits}, options.checkpoint));
    vae::write_notes(options.accelerator ? options.accelerator->log() : options.hooks.log, checkpoint.notes());
    return open(checkpoint, options);
}

Result<std::unique_ptr<Session>> Session::open(const vae::Checkpoint& checkpoint, const SessionOptions& options) {
    KG_CHECK(options.limits.check(checkpoint.name()));
    std::unique_ptr<Session> session(new Session);
    session->recorder_ = options.recorder;
    session->share_ = std::make_shared<vae::RunnerShare>();
    session->family_ = checkpoint.family().name;
    if (options.display != nullptr) session->display_ = {std::shared_ptr<void>(), options.display};  // the caller's
    if (options.vulkan) {
        KG_TRY(session->display_, vulkan::adopt_display(*options.vulkan));
    }
    session->device_ = options.accelerator;
    const accel::MemoryBudget& budget = options.hooks.budget;
    if (!session->device_) {
        accel::DeviceHooks hooks = options.hooks;
        hooks.budget.bytes = 0;  // until it is known to be enough
        KG_TRY(session->device_, open_device(options.device, hooks, session->display_.get()));
    }
    session->description_ =
        fmt::format("{} \u00b7 {} \u00b7 {}", std::filesystem::path(checkpoint.name()).filename().string(),
                    vae::to_string(options.model.precision), accel::names(*session->device_));
    KG_CHECK(options.limits.check(session->description_));
    KG_TRY(session->model_, vae::Model::create(*session->device_, checkpoint, options.model));
    session->encoders_ = std::make_unique<Encoders>(checkpoint, options.model);
    if (budget.bytes != 0) {
        KG_CHECK(check_budget(*session->device_, checkpoint, options));
        session->device_->set_budget(budget);
    }
    session->wanted_ = vae::wanted_by(checkpoint, options.model.latents);
    session->device_->log().info("opened {}", session->description_);
    if (options.measure_ceiling && options.recorder != nullptr) session->record_ceiling();
    if (options.watch_device && options.recorder != nullptr)
        session->watch_ = std::make_unique<accel::DeviceWatch>(session->device_, *options.recorder);
    return session;
}

/// A failure is only logged: without a ceiling the profiler shows no rooflines, but the session decodes.
void Session::record_ceiling() const {
    auto ceiling = conv::measure_ceiling(*device_);
    if (ceiling)
        recorder_->note_ceiling(to_string(graph::Lane::Accelerator), accel::recorded_device(device_->info()), *ceiling);
    else
        device_->log().warn("no rooflines: {}", ceiling.error().message);
}

/// Makes the bridge of one stream: what lies between two devices belongs to one graph at a time. It keeps both devices.
Result<std::shared_ptr<interop::Bridge>> Session::connect(interop::FrameStorage storage) const {
    struct Connected {
        std::shared_ptr<const vulkan::Display> display;
        std::shared_ptr<accel::Device> device;
        std::unique_ptr<interop::Bridge> bridge;
    };
    const bool to_display = storage != interop::FrameStorage::Host;
    KG_TRY(auto bridge, interop::Bridge::create(*device_, to_display ? display_.get() : nullptr));
    if (storage == interop::FrameStorage::Image && bridge->choice().topology == interop::Topology::Headless)
        return fail(ErrorCode::Unsupported, "{}",
                    display_ ? bridge->choice().reason : "frames as images: the session was opened without Vulkan");
    auto connected = std::make_shared<Connected>(Connected{display_, device_, std::move(bridge)});
    return std::shared_ptr<interop::Bridge>(connected, connected->bridge.get());
}

vae::StepOptions Session::complete(vae::StepOptions options) const {
    options.storage = options.storage.value_or(display_ ? interop::FrameStorage::Image : interop::FrameStorage::Host);
    if (options.recorder == nullptr) options.recorder = recorder_;
    if (!(options.fps > 0)) options.fps = wanted_.fps;
    return options;
}

Result<std::unique_ptr<stream::FrameSource>> Session::decode(const std::filesystem::path& latents,
                                                             const vae::StepOptions& options) const {
    vae::LatentsChoices choices = options.latents;
    choices.fps = options.fps;
    KG_TRY(const auto clip, vae::Latents::open(latents, wanted_, choices, {.allocator = {}, .limits = options.limits}));
    vae::write_notes(device_->log(), clip.notes);
    return decode(clip, options);
}

Result<std::unique_ptr<stream::FrameSource>> Session::decode(const vae::Latents& clip,
                                                             const vae::StepOptions& options) const {
    vae::StepOptions own = complete(options);
    own.fps = options.fps;
    KG_TRY(auto bridge, connect(*own.storage));
    return stream::StepLoop::of_clip(std::move(bridge), model_, clip, own);
}

Result<stream::PushedSource> Session::decode(vae::LatentSize size, const vae::StepOptions& options) const {
    const vae::StepOptions own = complete(options);
    KG_TRY(auto bridge, connect(*own.storage));
    return stream::StepLoop::of_pushed(std::move(bridge), model_, size, own);
}

Result<vae::StackMemory> Session::declared_memory(vae::LatentSize size, const vae::StepOptions& options) const {
    const vae::StepOptions own = complete(options);
    KG_TRY(const auto bridge, connect(*own.storage));
    return stream::StepLoop::declared_memory(*bridge, *model_, size, own);
}

Result<vae::Admission> Session::admission(vae::LatentSize size, const vae::StepOptions& options) const {
    vae::StepOptions own = complete(options);
    if (!own.share) own.share = share_;
    KG_TRY(const auto bridge, connect(*own.storage));
    return stream::StepLoop::admission(*bridge, *model_, size, own);
}

std::string Session::metrics() const { return metrics_text(share_->load().figures(host_now()), family_); }

Result<std::optional<stream::PushedSource>> Session::fork(stream::LatentQueue& clip, vae::LatentSize size,
                                                          const vae::StepOptions& options, Nanoseconds timeout) const {
    KG_TRY(auto branch, decode(size, options));
    KG_TRY(const bool done, clip.branch_to(*branch.latents, timeout));
    if (!done) return std::nullopt;
    return branch;
}

Result<std::unique_ptr<stream::FrameSource>> Session::decode(const stream::FeedPlan& feed, vae::LatentSize size,
                                                             const vae::StepOptions& options) const {
    const vae::StepOptions own = complete(options);
    KG_TRY(auto bridge, connect(*own.storage));
    return stream::StepLoop::create(std::move(bridge), model_, size, feed, own);
}

}  // namespace kinetograph::session
