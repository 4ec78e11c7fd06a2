#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/vae/encoder_model.hpp>

#include <algorithm>

namespace kinetograph::vae {

namespace {

/// The first convolution with strides that the device takes by no method; none if it takes all.
Result<std::optional<conv::ConvProblem>> refused(const accel::DeviceInfo& device, const NetworkDesc& network) {
    const bool first = network.one_step;
    KG_TRY(const auto passes, nn::fuse(network.network, {.first_step = first}));
    const nn::Rates rates = nn::rates(network.network);
    constexpr std::int64_t kSide = 8;  // latent pixels
    const nn::Extent input{first ? rates.first : rates.time.in, kSide * rates.space.in, kSide * rates.space.in,
                           network.network.input_channels()};
    const auto extents = nn::extents(network.network, input, first);
    const auto stored = nn::storages(network.network, network.dtype);
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr || conv->conv->stride.all(1)) continue;
        const conv::ConvProblem problem = nn::conv_problem(*conv, extents[conv->input], stored);
        const auto rows = conv::explain(device, problem, network.sums);
        if (std::ranges::none_of(rows, [](const auto& row) { return row.open && row.allowed; })) return problem;
    }
    return std::nullopt;
}

Result<void> check_device(const accel::DeviceInfo& device, const NetworkDesc& network, Precision precision) {
    KG_TRY(const auto problem, refused(device, network));
    if (!problem) return {};
    return fail(ErrorCode::Unsupported,
                "encoding: the {} lane has no convolutions of strides {} x {} x {} in {} for {}: encode on the CPU, "
                "lane cpu",
                device.kind, problem->stride.d, problem->stride.h, problem->stride.w, to_string(precision),
                device.name);
}

}  // namespace

bool can_encode(const accel::DeviceInfo& device, const Checkpoint& decoder, const ModelOptions& options) {
    if (!decoder.has_encoder()) return false;
    const NetworkDesc network{.network = decoder.family().encoder(decoder.widths()),
                              .one_step = decoder.one_latent_frame(),
                              .dtype = dtype_of(options.precision),
                              .sums = options.sums};
    return check_device(device, network, options.precision).has_value();
}

Result<std::shared_ptr<Model>> create_encoder(accel::Device& device, const Checkpoint& decoder,
                                              const ModelOptions& options, Pictures pictures,
                                              const CallLimits& limits) {
    if (options.sums == conv::Sums::Int8)
        return fail(ErrorCode::Unsupported, "{}: encoders are not computed in 8-bit integers: sums exact or fast",
                    decoder.name());
    KG_TRY(const Checkpoint checkpoint, decoder.encoder(limits));
    const bool one_step = pictures == Pictures::One || checkpoint.one_latent_frame();
    NetworkDesc network{.network = one_step ? checkpoint.network().of_first_step() : checkpoint.network(),
                        .title = checkpoint.family().title,
                        .one_step = one_step,
                        .dtype = dtype_of(options.precision),
                        .sums = options.sums,
                        .preferred_backend = options.preferred_backend};
    if (const families::Family& family = checkpoint.family(); family.encoder_scale != 1) {
        network.scale.assign(static_cast<std::size_t>(network.network.input_channels()), family.encoder_scale);
        network.shift.assign(network.scale.size(), family.encoder_shift);
    }
    KG_CHECK(check_device(device.info(), network, options.precision));
    return Model::create(device, checkpoint.name(), std::move(network),
                         [checkpoint](const std::string& name) { return checkpoint.load(name).value(); });
}

}  // namespace kinetograph::vae
