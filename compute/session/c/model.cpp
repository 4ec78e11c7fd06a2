#include "choices.hpp"
#include "handles.hpp"

#include <kinetograph/engine/accel/open.hpp>

namespace kinetograph::c {
namespace {

constexpr std::array kPrecisions{vae::Precision::Bf16, vae::Precision::Fp16, vae::Precision::Fp32};
constexpr std::array kSums{conv::Sums::Exact, conv::Sums::Fast, conv::Sums::Int8};
constexpr std::array kScales{vae::LatentScale::Auto, vae::LatentScale::Raw, vae::LatentScale::Normalized};

Result<vae::ModelOptions> options_of(const kg_model_desc& desc) {
    KG_CHECK(check_unused(desc.unused, "kg_model_desc.unused"));
    if (desc.precision == KG_PRECISION_FP8) return fail(ErrorCode::Unsupported, "precision fp8: no lane decodes in it");
    vae::ModelOptions options;
    KG_TRY(options.precision, choice(kPrecisions, desc.precision, "kg_precision"));
    KG_TRY(options.sums, choice(kSums, desc.sums, "kg_sums"));
    KG_TRY(options.latents, choice(kScales, desc.latent_scale, "kg_latent_scale"));
    KG_TRY(const bool unclamped, yes_or_no(desc.unclamped, "kg_model_desc.unclamped"));
    options.clamp = !unclamped;
    return options;
}

/// The device's number among those of its kind; 0 if it is not found again.
std::uint32_t ordinal_of(const accel::DeviceInfo& device) {
    if (device.is_host()) return 0;
    for (const accel::Availability& found : accel::inspect_accelerators())
        if (found.kind == device.kind && found.device && found.device->uuid == device.uuid &&
            found.device->pci == device.pci)
            return found.ordinal;
    return 0;
}

accel::DeviceHooks hooks_of(const Root& root, const kg_model_desc& desc) {
    accel::DeviceHooks hooks{.log = root.log, .host = root.host, .budget = {.bytes = desc.memory_budget}};
    if (desc.on_memory_pressure != nullptr)
        hooks.budget.on_pressure = [ask = desc.on_memory_pressure,
                                    user = desc.memory_pressure_user](const accel::MemoryPressure& pressure) {
            return ask(user, std::string(pressure.name).c_str(), pressure.bytes, pressure.free) != 0;
        };
    return hooks;
}

Result<std::shared_ptr<const Model>> create(const Made<kg_weights>& weights, const kg_model_desc& desc) {
    auto made = std::make_shared<Model>();
    made->root = weights.root;
    if (desc.vulkan != nullptr) {
        KG_TRY_IN("kg_model_desc.vulkan", const auto vulkan, find(desc.vulkan));
        made->vulkan = vulkan->shared;
    }
    KG_TRY_IN("kg_model_desc.stop", const CallLimits limits, limits_of(desc.stop));
    KG_TRY(const vae::ModelOptions options, options_of(desc));
    KG_TRY(made->session,
           session::Session::open(weights.checkpoint, {.device = desc.device == nullptr ? "auto" : desc.device,
                                                       .hooks = hooks_of(*weights.root, desc),
                                                       .model = options,
                                                       .display = made->vulkan ? made->vulkan->display.get() : nullptr,
                                                       .limits = limits}));
    made->ordinal = ordinal_of(made->session->device().info());
    return made;
}

Result<vae::Checkpoint> open_checkpoint(const Root& root, const kg_weights_desc& desc,
                                        std::shared_ptr<const void> owner) {
    const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
    const vae::CheckpointChoices choices{.family = text(desc.family), .statistics = text(desc.statistics)};
    KG_TRY_IN("stop", const CallLimits limits, limits_of(desc.stop));
    const tensor::ReadOptions options{.allocator = root.host, .limits = limits};
    if (desc.contents == nullptr) return vae::Checkpoint::open(desc.path, options, choices);
    return vae::Checkpoint::parse({{static_cast<const std::byte*>(desc.contents), desc.bytes}, std::move(owner)},
                                  desc.path == nullptr ? "weights in memory" : desc.path, options, choices);
}

kg_result create_weights(const char* call, kg_instance* instance, const kg_weights_desc& desc, kg_weights** weights) {
    bool is_owned = false;
    const kg_result result = with_loops(call, instance, [&](const auto& made) -> Outcome {
        is_owned = true;
        std::shared_ptr<const void> owner(desc.contents, [release = desc.release, user = desc.user](const void*) {
            if (release != nullptr) release(user);
        });
        KG_CHECK(check_unused(desc.unused, "kg_weights_desc.unused"));
        if (desc.contents == nullptr) {
            KG_CHECK(check_given(desc.path, "path"));
            if (desc.bytes > 0) return fail(ErrorCode::InvalidArgument, "contents is NULL, of {} bytes", desc.bytes);
        }
        KG_CHECK(check_given(weights, "weights"));
        KG_TRY(auto checkpoint, open_checkpoint(*made.root, desc, std::move(owner)));
        vae::write_notes(made.root->log, checkpoint.notes());
        *weights = hand_out<kg_weights>({made.root, std::move(checkpoint)});
        return KG_OK;
    });
    if (!is_owned && desc.release != nullptr) desc.release(desc.user);
    return result;
}

kg_weights_info info_of(const vae::Checkpoint& checkpoint) {
    kg_weights_info info{};
    info.channels = static_cast<std::uint32_t>(checkpoint.z_dim());
    info.name = checkpoint.name().c_str();
    info.family = checkpoint.family().name.c_str();
    info.parameters = checkpoint.parameters();
    info.content_hash = checkpoint.content_hash();
    info.latents_mean = checkpoint.latents_mean().data();
    info.latents_std = checkpoint.latents_std().data();
    info.latent_patch = static_cast<std::uint32_t>(checkpoint.statistics().patch);
    info.statistics = static_cast<std::uint32_t>(checkpoint.latents_std().size());
    return info;
}

kg_model_info info_of(const Model& model) {
    const vae::StepFrames of_a_pixel = model.frames_of({1, 1});
    kg_model_info info{};
    info.device_ordinal = model.ordinal;
    info.channels = static_cast<std::uint32_t>(model.session->model()->channels());
    info.spatial_scale = static_cast<std::uint32_t>(of_a_pixel.height);
    info.frames_of_a_step = static_cast<std::uint32_t>(of_a_pixel.most);
    info.encodes = model.session->can_encode() ? 1 : 0;
    info.device_kind = model.session->device().info().kind.data();
    info.description = model.session->description().c_str();
    info.device_product = model.session->device().info().name.c_str();
    return info;
}

}  // namespace
}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

kg_result kg_weights_create(kg_instance* instance, const kg_weights_desc* desc, kg_weights** weights) {
    const auto known = read(desc, "kg_weights_desc");
    if (!known) return report(known.error());
    return create_weights("kg_weights_create", instance, *known, weights);
}

kg_result kg_weights_open(kg_instance* instance, const char* path, kg_weights** weights) {
    return kg_weights_open_until(instance, path, nullptr, weights);
}

kg_result kg_weights_open_until(kg_instance* instance, const char* path, kg_stop* stop, kg_weights** weights) {
    kg_weights_desc desc{};
    desc.path = path;
    desc.stop = stop;
    return create_weights("kg_weights_open", instance, desc, weights);
}

kg_result kg_weights_parse(kg_instance* instance, const void* contents, uint64_t bytes, const char* name,
                           void (*release)(void* user), void* user, kg_weights** weights) {
    if (contents == nullptr) {
        if (release != nullptr) release(user);
        return report(KG_ERROR_INVALID_ARGUMENT, "kg_weights_parse: contents is NULL");
    }
    kg_weights_desc desc{};
    desc.path = name;
    desc.contents = contents;
    desc.bytes = bytes;
    desc.release = release;
    desc.user = user;
    return create_weights("kg_weights_parse", instance, desc, weights);
}

kg_result kg_weights_describe(kg_weights* weights, kg_weights_info* info) {
    return with("kg_weights_describe", weights, [&](const auto& made) -> Outcome {
        KG_CHECK(write(info, info_of(made.checkpoint), "kg_weights_info"));
        return KG_OK;
    });
}

kg_result kg_weights_destroy(kg_weights* weights) { return destroy("kg_weights_destroy", weights); }

kg_result kg_model_create(kg_weights* weights, const kg_model_desc* desc, kg_model** model) {
    return with_loops("kg_model_create", weights, [&](const auto& made_with) -> Outcome {
        KG_CHECK(check_given(model, "model"));
        KG_TRY(const auto known, read(desc, "kg_model_desc"));
        KG_TRY(auto made, create(made_with, known));
        *model = hand_out<kg_model>({made_with.root, std::move(made)});
        return KG_OK;
    });
}

kg_result kg_model_describe(kg_model* model, kg_model_info* info) {
    return with("kg_model_describe", model, [&](const auto& made) -> Outcome {
        KG_CHECK(write(info, info_of(*made.shared), "kg_model_info"));
        return KG_OK;
    });
}

kg_result kg_model_destroy(kg_model* model) { return destroy("kg_model_destroy", model); }

kg_result kg_memory_import(kg_model* model, int fd, uint64_t bytes, uint32_t dedicated, kg_memory** memory) {
    return with("kg_memory_import", model, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(memory, "memory"));
        KG_TRY(const bool is_dedicated, yes_or_no(dedicated, "dedicated"));
        if (fd < 0 || bytes == 0)
            return fail(ErrorCode::InvalidArgument, "memory of {} bytes by the descriptor {}", bytes, fd);
        KG_TRY(auto imported,
               made.shared->session->device().import_memory("memory of the application's",
                                                            {.fd = fd, .bytes = bytes, .dedicated = is_dedicated}));
        *memory = hand_out<kg_memory>({made.root, made.shared, std::move(imported)});
        return KG_OK;
    });
}

kg_result kg_memory_address(kg_memory* memory, void** address) {
    return with("kg_memory_address", memory, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(address, "address"));
        *address = made.memory->data();
        return KG_OK;
    });
}

kg_result kg_memory_destroy(kg_memory* memory) { return destroy("kg_memory_destroy", memory); }
