#include <kinetograph/compute/session/session.hpp>

#include <kinetograph/compute/conv/ceiling.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/interop/bridge.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/instance.hpp>

namespace kinetograph::session {

namespace {

/// A device for which this build has a decoder.
Result<std::unique_ptr<accel::Device>> open_decoding(accel::Kind kind, const accel::DeviceHooks& hooks) {
    KG_TRY(auto device, accel::open(kind, 0, hooks));
    KG_CHECK(nn::Operators::create(*device));
    return device;
}

}  // namespace

Result<std::unique_ptr<accel::Device>> open_device(const std::string& name, const accel::DeviceHooks& hooks) {
    if (name == "auto") {
        for (const accel::Kind kind : {accel::Kind::Cuda, accel::Kind::Hip}) {
            auto device = open_decoding(kind, hooks);
            if (device) return device;
            hooks.log.info("lane {} is not used: {}", accel::to_string(kind), device.error().message);
        }
        return accel::open(accel::Kind::Cpu, 0, hooks);
    }
    auto device = accel::open(name, hooks);
    if (device || device.error().code == ErrorCode::InvalidArgument) return device;  // its sentence names the lanes
    return fail(std::move(device.error()), "lane " + name);
}

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
    if (options.display != nullptr) session->display_ = {std::shared_ptr<void>(), options.display};  // the caller's
    if (options.vulkan) KG_CHECK(session->adopt(*options.vulkan));
    session->device_ = options.accelerator;
    if (!session->device_) {
        KG_TRY(session->device_, open_device(options.device, options.hooks));
    } else if (options.hooks.budget.bytes != 0) {
        session->device_->set_budget(options.hooks.budget);
    }
    session->description_ =
        fmt::format("{} \u00b7 {} \u00b7 {}", std::filesystem::path(checkpoint.name()).filename().string(),
                    vae::to_string(options.model.precision), session->device_->info().name);
    KG_CHECK(options.limits.check(session->description_));
    KG_TRY(session->model_, vae::Model::create(*session->device_, checkpoint, options.model));
    session->wanted_ = vae::wanted_by(checkpoint, options.model.latents);
    session->device_->log().info("opened {}", session->description_);
    if (options.measure_ceiling && options.recorder != nullptr) session->tell_ceiling();
    if (options.watch_device && options.recorder != nullptr)
        session->watch_ = std::make_unique<accel::DeviceWatch>(session->device_, *options.recorder);
    return session;
}

/// A failure is only logged: without a ceiling the profiler shows no rooflines, but the session decodes.
void Session::tell_ceiling() const {
    auto ceiling = conv::measure_ceiling(*device_);
    if (ceiling)
        recorder_->note_ceiling(to_string(graph::Lane::Accelerator), accel::recorded_device(device_->info()), *ceiling);
    else
        device_->log().warn("no rooflines: {}", ceiling.error().message);
}

Result<void> Session::adopt(const ApplicationVulkan& application) {
    instance_ = vulkan::Instance::adopt(application.instance, application.get_instance_proc_addr);
    KG_TRY(display_, vulkan::Device::adopt(*instance_, application.device));
    return {};
}

/// Makes the bridge of one stream: what lies between two devices belongs to one graph at a time. It keeps both devices.
Result<std::shared_ptr<interop::Bridge>> Session::connect(StreamOptions::Storage storage) const {
    struct Connected {
        std::shared_ptr<const vulkan::Instance> instance;
        std::shared_ptr<const vulkan::Device> display;
        std::shared_ptr<accel::Device> device;
        std::unique_ptr<interop::Bridge> bridge;
    };
    const bool to_display = storage != StreamOptions::Storage::Host;
    KG_TRY(auto bridge, interop::Bridge::create(*device_, to_display ? display_.get() : nullptr));
    if (storage == StreamOptions::Storage::Image && bridge->choice().topology == interop::Topology::Headless)
        return fail(ErrorCode::Unsupported, "{}",
                    display_ ? bridge->choice().reason : "frames as images: the session was opened without Vulkan");
    auto connected = std::make_shared<Connected>(Connected{instance_, display_, device_, std::move(bridge)});
    return std::shared_ptr<interop::Bridge>(connected, connected->bridge.get());
}

StreamOptions::Storage Session::storage_of(const StreamOptions& options) const {
    return options.storage.value_or(display_ ? StreamOptions::Storage::Image : StreamOptions::Storage::Host);
}

stream::FrameStreamOptions Session::stream_options(const StreamOptions& options) const {
    return {.storage = storage_of(options),
            .format = options.format,
            .slots = options.slots,
            .loop = options.loop,
            .latent_frames = options.latent_frames,
            .fps = options.fps > 0 ? options.fps : wanted_.fps,
            .recorder = recorder_,
            .passes = recorder_,
            .limits = options.limits};
}

Result<std::unique_ptr<stream::FrameStream>> Session::decode(const std::filesystem::path& latents,
                                                             const StreamOptions& options) const {
    vae::LatentsChoices choices = options.latents;
    choices.fps = options.fps;
    KG_TRY(const auto clip, vae::Latents::open(latents, wanted_, choices, {.allocator = {}, .limits = options.limits}));
    vae::write_notes(device_->log(), clip.notes);
    return decode(clip, options);
}

Result<std::unique_ptr<stream::FrameStream>> Session::decode(const vae::Latents& clip,
                                                             const StreamOptions& options) const {
    KG_TRY(auto bridge, connect(storage_of(options)));
    return stream::FrameStream::create(std::move(bridge), model_, clip, stream_options(options));
}

Result<std::unique_ptr<stream::FrameStream>> Session::decode(vae::LatentSize size, const StreamOptions& options) const {
    KG_TRY(auto bridge, connect(storage_of(options)));
    return stream::FrameStream::create(std::move(bridge), model_, size, stream_options(options));
}

}  // namespace kinetograph::session
