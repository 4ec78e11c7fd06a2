#include <kinetograph/compute/conv/ceiling.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/vae/calibration.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/compute/vae/shares.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kinetograph::vae {

std::string_view to_string(Precision precision) {
    switch (precision) {
        case Precision::Fp32:
            return "fp32";
        case Precision::Bf16:
            return "bf16";
        case Precision::Fp16:
            return "fp16";
    }
    return "?";
}

tensor::DType dtype_of(Precision precision) {
    switch (precision) {
        case Precision::Fp32:
            return tensor::DType::F32;
        case Precision::Bf16:
            return tensor::DType::BF16;
        case Precision::Fp16:
            return tensor::DType::F16;
    }
    return tensor::DType::BF16;
}

namespace {

constexpr std::int64_t kLargestSide = 1024;  // latent pixels: 8192 pixels of video

constexpr Precision kPrecisions[] = {Precision::Fp32, Precision::Bf16, Precision::Fp16};

/// Whether a convolution with a norm, as decoders have, can run on the device in that precision.
bool runs(const accel::DeviceInfo& device, Precision precision) {
    conv::ConvProblem problem;
    problem.h = problem.w = 16;
    problem.c_in = 16;
    problem.filter = {16, 3, 3, 3};
    problem.d = 3;
    problem.pad = {0, 0, 1, 1, 1, 1};
    problem.norm = conv::Norm::Beside;
    problem.input = problem.weight = problem.output = problem.normed = dtype_of(precision);
    return conv::explain(conv::chip_of(device), problem).front().open;
}

/// "bf16 and fp16"
std::string precisions_of(const accel::DeviceInfo& device) {
    std::vector<std::string_view> names;
    for (const Precision precision : kPrecisions)
        if (runs(device, precision)) names.push_back(to_string(precision));
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
    return text.empty() ? "none" : text;
}

float largest(tensor::DType dtype) {
    return dtype == tensor::DType::F16 ? 65504.0F : std::numeric_limits<float>::max();  // bf16's is as large
}

/// Latents of a few deviations must fit the network's type: no network was trained with others.
Result<void> check_statistics(const std::vector<float>& std, const std::vector<float>& mean, tensor::DType dtype) {
    constexpr double kDeviations = 8;
    for (std::size_t channel = 0; channel < std.size(); ++channel)
        if (std::abs(double{mean[channel]}) + kDeviations * std[channel] > largest(dtype))
            return fail(ErrorCode::InvalidArgument,
                        "latents_mean {:g} and latents_std {:g} of channel {} are too large for {}, which ends at {:g}",
                        mean[channel], std[channel], channel, tensor::to_string(dtype), largest(dtype));
    return {};
}

/// Errors: InvalidArgument, Unsupported.
Result<void> check_int8(const accel::Device& device, Precision precision) {
    if (precision != Precision::Bf16)
        return fail(ErrorCode::InvalidArgument, "sums int8 go with precision bf16, not {}", to_string(precision));
    conv::ConvProblem layer;
    layer.d = 4;
    layer.h = layer.w = 8;
    layer.c_in = 32;
    layer.filter = {32, 3, 3, 3};
    layer.input = {Element::U8, 1, 1};
    layer.weight = Element::I8;
    if (conv::explain(device.info(), layer, conv::Sums::Int8).front().open) return {};
    return fail(ErrorCode::Unsupported, "sums int8: the {} lane has no convolutions of 8-bit integers for {}",
                device.info().kind, device.info().name);
}

/// Of the checkpoint's calibration, or of one on synthetic latents.
Result<std::vector<nn::ByteLayer>> byte_layers_of(accel::Device& device, const Checkpoint& checkpoint) {
    KG_TRY(auto stored, read_calibration(checkpoint));
    if (stored) return std::move(stored->layers);
    KG_TRY(const auto* recipe, find_byte_recipe(checkpoint.family(), ""));
    device.log().warn(
        "{}: it has no calibration for sums int8: they are calibrated on synthetic latents; "
        "`kinetograph calibrate` makes one from clips",
        checkpoint.name());
    const Latents clip = synthetic_clip(checkpoint);
    KG_TRY(auto made, calibrate(device, checkpoint, *recipe, std::span(&clip, 1)));
    return std::move(made.layers);
}

/// Seconds that the attention before `cut` takes, as its method predicts; 0 where it does not.
Result<double> attention_before(const StepList& list, std::size_t cut, const nn::Operators& operators) {
    double seconds = 0;
    for (std::size_t i = 0; i < cut; ++i) {
        const auto* attention = std::get_if<nn::AttentionPass>(&list.passes[i]);
        if (attention == nullptr) continue;
        const nn::Extent& qkv = list.extents[attention->input];
        KG_TRY(const auto op,
               operators.get(conv::AttentionProblem{qkv.height * qkv.width, list.extents[attention->output].channels,
                                                    list.stored[attention->input], list.stored[attention->output]}));
        seconds += op->seconds() * static_cast<double>(qkv.frames);
    }
    return seconds;
}

}  // namespace

std::vector<StepKind> kinds_of_steps(const NetworkDesc& network, const StackSize& size) {
    std::vector<StepKind> result;
    const nn::Rates rates = nn::rates(network.network);
    for (std::int64_t frames = 1; frames <= size.max_frames; ++frames)
        for (const bool first : {false, true})
            if (rates.takes(frames, first) && (first || !network.one_step) &&
                (frames == rates.first || !network.network.has_first_step_only()))
                result.push_back({first, frames});
    return result;
}

Result<std::shared_ptr<Model>> Model::create(accel::Device& device, std::string name, NetworkDesc network,
                                             LoadTensor load) {
    std::shared_ptr<Model> model(new Model(device, std::move(name), std::move(network), std::move(load)));
    KG_TRY(model->operators_, nn::Operators::create(device));
    return model;
}

/// Speeds are those of the fastest convolutions; devices of one name have one.
Result<void> Model::add_companions(const LoadTensor& load) {
    const auto& companions = device_.companions();
    if (companions.empty()) return {};
    if (companions.size() >= graph::kMaxAccelerators)
        return fail(ErrorCode::InvalidArgument, "{} devices: a model is computed by up to {}", companions.size() + 1,
                    graph::kMaxAccelerators);
    for (const auto& device : companions) {
        KG_TRY(auto operators, nn::Operators::create(*device));
        const auto there = device_.reach(*device), back = device->reach(device_);
        if (!there || !back)
            device_.log().info("rows go through the host's memory: {}", (there ? back : there).error().message);
        others_.push_back(std::make_unique<Other>(Other{
            *device, std::move(operators),
            Parameters(*device, load, network_.sums, network_.preferred_backend, network_.bytes), there && back}));
    }
    speeds_.assign(others_.size() + 1, 1.0);
    const auto is_alike = [&](const auto& other) { return other->device.info().name == device_.info().name; };
    if (std::ranges::all_of(others_, is_alike)) return {};
    const std::vector<accel::Device*> all = devices();
    for (std::size_t i = 0; i < all.size(); ++i) {
        KG_TRY_IN(all[i]->info().name, const auto ceiling, conv::measure_ceiling(*all[i]));
        speeds_[i] = ceiling.operations_per_second;
    }
    return {};
}

std::vector<accel::Device*> Model::devices() const {
    std::vector<accel::Device*> all{&device_};
    for (const auto& other : others_) all.push_back(&other->device);
    return all;
}

graph::LaneTopology Model::topology() const {
    graph::LaneTopology topology = graph::LaneTopology::without_vulkan(static_cast<std::uint32_t>(others_.size() + 1));
    for (const accel::Device* const device : devices()) topology.devices.push_back(device->info().name);
    for (std::uint32_t i = 0; i < others_.size(); ++i) {
        const std::uint32_t other = i + 1;
        const auto reach = [&](std::uint32_t from, std::uint32_t to) -> bool& {
            return topology
                .reaches[graph::Lane::accelerator(from).index()][graph::MemoryDomain::accelerator(to).index()];
        };
        reach(0, other) = reach(other, 0) = others_[i]->is_reached;
        for (std::uint32_t j = 1; j <= others_.size(); ++j) reach(other, j) = other == j;
    }
    return topology;
}

std::vector<Shard> Model::shards() {
    std::vector<Shard> shards;
    for (const auto& other : others_) {
        Placement placement = Placement::on(static_cast<std::uint32_t>(shards.size() + 1));
        placement.parameters = &other->parameters;
        shards.push_back({placement, *other->operators, other->is_reached});
    }
    return shards;
}

std::int64_t Model::block() const {
    const auto all = devices();
    return block_rows(std::ranges::any_of(all, [](const accel::Device* device) { return device->info().is_host(); }));
}

/// By the times of a later step. Errors: Unsupported.
Result<std::vector<Rows>> Model::shares(const StackSize& size) {
    if (others_.empty()) return std::vector<Rows>{};
    const StepKind kind{network_.one_step, pushed_frames()};
    const auto method_of = [&](const conv::ConvProblem& problem)
                               KG_REQUIRES(mutex_) { return parameters_.method_of(problem); };
    KG_TRY(const StepList list, list_step(network_, {size.height, size.width}, kind, method_of));
    const auto cut = first_cut(network_.network, list.passes);
    if (!cut)
        return fail(ErrorCode::Unsupported,
                    "{}: the network cannot be cut into bands of rows, of which each device would make one", name_);
    std::vector<ShareDevice> sharing;
    const std::vector<accel::Device*> all = devices();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const nn::Operators& operators = i == 0 ? *operators_ : *others_[i - 1]->operators;
        KG_TRY(const double attention, attention_before(list, *cut, operators));
        sharing.push_back({&all[i]->info(), speeds_[i], attention});
    }
    return share_rows(list, *cut, block(), network_, sharing);
}

Result<std::shared_ptr<Model>> Model::create(accel::Device& device, const Checkpoint& checkpoint,
                                             const ModelOptions& options) {
    if (!runs(device.info(), options.precision))
        return fail(ErrorCode::Unsupported, "precision {}: the {} lane runs {}", to_string(options.precision),
                    device.info().kind, precisions_of(device.info()));
    const tensor::DType dtype = dtype_of(options.precision);
    NetworkDesc network{
        .network = checkpoint.one_latent_frame() ? checkpoint.network().of_first_step() : checkpoint.network(),
        .title = checkpoint.family().title,
        .one_step = checkpoint.one_latent_frame(),
        .dtype = dtype,
        .sums = options.sums,
        .preferred_backend = options.preferred_backend,
        .clamp = options.clamp};
    if (options.latents != LatentScale::Raw && checkpoint.statistics().patch == 1) {
        network.scale = checkpoint.latents_std();
        network.shift = checkpoint.latents_mean();
        KG_CHECK_IN(checkpoint.name(), check_statistics(network.scale, network.shift, dtype));
    }
    if (options.sums == conv::Sums::Int8) {
        KG_CHECK(check_int8(device, options.precision));
        network.bytes = options.byte_layers;
        if (network.bytes.empty()) {
            KG_TRY(network.bytes, byte_layers_of(device, checkpoint));
        }
    }
    const LoadTensor load = [checkpoint](const std::string& name) { return checkpoint.load(name).value(); };
    KG_TRY(auto model, create(device, checkpoint.name(), std::move(network), load));
    {
        const Lock lock(model->mutex_);
        KG_CHECK(model->add_companions(load));
    }
    model->weights_hash_ = checkpoint.content_hash();
    return model;
}

Result<void> Model::check_takes(const Latents& clip) const {
    if (clip.channels != channels())
        return fail(ErrorCode::InvalidArgument, "{} has {} latent channels, {} is {} and takes {}{}", clip.name,
                    clip.channels, name_, network_.title.empty() ? "a decoder" : "a " + network_.title + " VAE",
                    channels(), families::takers_of(clip.channels));
    if (network_.one_step && clip.frames != 1)
        return fail(ErrorCode::InvalidArgument, "{} has {} latent frames; a clip of {} is one", clip.name, clip.frames,
                    name_);
    const std::int64_t values = clip.channels * clip.frames * clip.height * clip.width;
    if (clip.frames < 1 || static_cast<std::int64_t>(clip.values.size()) != values)
        return fail(ErrorCode::InvalidArgument, "{}: {} values are not {} latent frames of {}x{}x{}", clip.name,
                    clip.values.size(), clip.frames, clip.channels, clip.height, clip.width);
    return {};
}

Result<const graph::Plan*> StepPlans::plan_of(StepKind kind) const {
    const auto it = plans.find(kind);
    if (it == plans.end())
        return fail(ErrorCode::InvalidArgument, "no plan for a {} step of {} latent frames; 1 to {} are planned",
                    kind.first ? "first" : "later", kind.frames, size.max_frames);
    return &it->second;
}

StepFrames Model::step_frames(LatentSize size, std::int64_t latent_frames) const {
    const StackSize stack{
        .height = size.height, .width = size.width, .max_frames = std::max(latent_frames, rates().first)};
    StepFrames frames;
    for (const StepKind kind : kinds_of_steps(network_, stack)) {
        const nn::Extent made = output_shape(network_, stack, kind);
        frames = {std::max(frames.most, made.frames), made.height, made.width, made.channels};
    }
    return frames;
}

/// Limits the size so that no frame between two primitives has more than 2^31 - 1 elements.
Result<void> Model::check(const StackSize& size) const {
    const nn::Rate space = rates().space;
    if (size.height % space.in != 0 || size.width % space.in != 0)
        return fail(ErrorCode::InvalidArgument, "pictures of {}x{}: each side must be a multiple of {} pixels",
                    size.width, size.height, space.in);
    const LatentSize latents{size.height / space.in, size.width / space.in};
    for (const std::int64_t side : {latents.height, latents.width})
        if (side < 1 || side > kLargestSide)
            return fail(ErrorCode::InvalidArgument, "latents of {}x{}: each side must be 1 to {} latent pixels",
                        latents.width, latents.height, kLargestSide);
    const nn::Network& network = network_.network;
    std::int64_t widest = 0;  // elements of a frame, for each latent pixel
    for (const nn::Extent& extent : nn::extents(network, {1, space.in, space.in, network.input_channels()}, true))
        widest = std::max(widest, extent.height * extent.width * extent.channels);
    const std::int64_t scale = std::max(space.in, space.out), pixels = scale * scale * latents.width * latents.height;
    const std::int64_t most = std::numeric_limits<std::int32_t>::max() * scale * scale / widest;
    if (pixels > most)
        return fail(ErrorCode::InvalidArgument, "latents of {}x{} are {} pixels of video, {} takes up to {}",
                    latents.width, latents.height, pixels, name_, most);
    return {};
}

/// What the device holds more than before counts as the parameters'; others may have released memory meanwhile.
template <class Upload>
auto Model::counting_device_bytes(const Upload& upload) {
    std::vector<std::uint64_t> before;
    for (const accel::Device* const device : devices()) before.push_back(device->bytes_allocated());
    auto done = upload();
    const auto grown = [&](const accel::Device& device, std::size_t i) {
        return device.bytes_allocated() - std::min(before[i], device.bytes_allocated());
    };
    device_bytes_ += grown(device_, 0);
    for (std::size_t i = 0; i < others_.size(); ++i) others_[i]->device_bytes += grown(others_[i]->device, i + 1);
    return done;
}

Result<const StepPlans*> Model::plan(const StackSize& size, const CallLimits& limits) {
    KG_CHECK(check(size));
    const Lock lock(mutex_);
    KG_TRY(const auto* plans, compiled(size, limits));
    return packed(*plans, limits);
}

Result<const StepPlans*> Model::plan_to_fit(const StackSize& size, const CallLimits& limits) {
    KG_CHECK(check(size));
    const Lock lock(mutex_);
    KG_TRY(const auto* whole, compiled(size, limits));
    KG_TRY(const auto* fitting, find_fitting(*whole, limits));
    KG_CHECK(packed(*fitting, limits));
    KG_TRY(fitting, find_fitting(*whole, limits));  // again, now that the size of the packed filters is known
    if (fitting != whole) log_bands(*whole, *fitting);
    return packed(*fitting, limits);
}

void Model::log_bands(const StepPlans& whole, const StepPlans& banded) const {
    constexpr double kMiB = 1024.0 * 1024.0;
    device_.log().info(
        "decoding {}x{} latents in {} bands of rows, which takes {:.0f} MiB instead of {:.0f} and {:.0f} % more "
        "multiply-adds: {:.0f} MiB are free on {}",
        whole.size.width, whole.size.height, banded.size.bands.count, static_cast<double>(bytes_wanted(banded)) / kMiB,
        static_cast<double>(bytes_wanted(whole)) / kMiB, 100 * (banded.work_ratio - 1),
        static_cast<double>(device_.bytes_free()) / kMiB, device_.info().name);
}

Result<const StepPlans*> Model::compiled(const StackSize& size, const CallLimits& limits) {
    const auto made = std::ranges::find(plans_, size, [](const auto& plans) { return plans->size; });
    if (made != plans_.end()) return made->get();
    KG_TRY_IN(name_, auto plans, counting_device_bytes([&]() KG_REQUIRES(mutex_) { return compile(size, limits); }));
    return plans_.emplace_back(std::make_unique<const StepPlans>(std::move(plans))).get();
}

Result<void> Model::pack(const CallLimits& limits) {
    KG_CHECK(parameters_.pack(limits));
    for (const auto& other : others_) KG_CHECK(other->parameters.pack(limits));
    return {};
}

/// Packs all parameters and returns the plans.
Result<const StepPlans*> Model::packed(const StepPlans& plans, const CallLimits& limits) {
    KG_CHECK_IN(name_, counting_device_bytes([&]() KG_REQUIRES(mutex_) { return pack(limits); }));
    const std::string refusal = refusal_is_told_ ? "" : parameters_.preferred_refusal();
    if (!refusal.empty())
        device_.log().warn("{}: no convolution takes the preferred back end {}: {}", name_, network_.preferred_backend,
                           refusal);
    refusal_is_told_ = refusal_is_told_ || !refusal.empty();
    return &plans;
}

/// Bytes still to be allocated on the device for a clip; its staging or frames are allocated already.
std::uint64_t Model::bytes_wanted(const StepPlans& plans) const {
    return plans.transients + plans.histories + parameters_.bytes_to_pack();
}

/// The first steps that take no more than `enough` bytes, else those that take least. Tries few bands first, and late
/// cuts first: more bands take less for transients and more for histories, and a band that begins earlier computes more
/// rows twice.
Result<const StepPlans*> Model::find_least(const StepPlans& whole, const CallLimits& limits, std::uint64_t enough) {
    constexpr std::int64_t kMostBands = 32;
    if (bytes_wanted(whole) <= enough || !others_.empty()) return &whole;
    const StepPlans* least = &whole;
    for (std::int64_t count = 2; count <= kMostBands; count += (count + 3) / 5) {
        for (std::int64_t upsampling = count_upsamplings(network_.network) - 1; upsampling >= 0; --upsampling) {
            StackSize size = whole.size;
            size.bands = {count, upsampling};
            auto banded = compiled(size, limits);
            if (!banded && banded.error().code == ErrorCode::Unsupported) continue;
            if (!banded) return banded;
            if (bytes_wanted(**banded) < bytes_wanted(*least)) least = *banded;
            if (bytes_wanted(**banded) <= enough) return banded;
        }
    }
    return least;
}

/// Steps that leave `beside` bytes free.
Result<const StepPlans*> Model::find_fitting(const StepPlans& whole, const CallLimits& limits, std::uint64_t beside) {
    KG_CHECK(check_others(whole));
    const std::uint64_t all = device_.bytes_free(), free = all - std::min(beside, all);
    KG_TRY(const auto* least, find_least(whole, limits, free));
    if (bytes_wanted(*least) <= free) return least;
    // A lost device reports that nothing is free; any call on it returns why.
    KG_CHECK(device_.create_event());
    return fail(lack_of_memory(whole, *least, beside));
}

/// That what a clip takes of the other devices is free there.
Result<void> Model::check_others(const StepPlans& plans) const {
    constexpr double kMiB = 1024.0 * 1024.0;
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const auto& [transients, histories] = plans.others[i];
        const std::uint64_t parameters = others_[i]->parameters.bytes_to_pack();
        const accel::Device& device = others_[i]->device;
        if (transients + histories + parameters <= device.bytes_free()) continue;
        KG_CHECK(others_[i]->device.create_event());
        return fail(ErrorCode::OutOfMemory,
                    "{}, a band of it, needs {:.0f} MiB on device {} of {} (transients {:.1f}, histories "
                    "{:.1f}, parameters to load {:.1f}); {:.0f} MiB are free on {}",
                    work_on(plans.size), std::ceil(static_cast<double>(transients + histories + parameters) / kMiB),
                    i + 2, others_.size() + 1, static_cast<double>(transients) / kMiB,
                    static_cast<double>(histories) / kMiB, static_cast<double>(parameters) / kMiB,
                    std::floor(static_cast<double>(device.bytes_free()) / kMiB), device.info().name);
    }
    return {};
}

/// "decoding 104x60 latents", "encoding 832x480 pictures"
std::string Model::work_on(const StackSize& size) const {
    const bool decodes = network_.network.ends().input == nn::End::Latents;
    return fmt::format("{}coding {}x{} {}", decodes ? "de" : "en", size.width, size.height,
                       decodes ? "latents" : "pictures");
}

/// Totals are rounded up and what is left down, so that a budget of the least total suffices. The model's parameters
/// that are on the device already count on both sides.
Error Model::lack_of_memory(const StepPlans& whole, const StepPlans& least, std::uint64_t beside) const {
    constexpr double kMiB = 1024.0 * 1024.0;
    const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kMiB; };
    const auto total = [&](const StepPlans& plans)
                           KG_REQUIRES(mutex_) { return std::ceil(mib(bytes_wanted(plans) + device_bytes_ + beside)); };
    const std::int64_t bands = least.size.bands.count;
    const double left = std::floor(mib(device_.bytes_free() + device_bytes_));
    const std::string& device = device_.info().name;
    const bool norms_pictures = std::ranges::any_of(network_.network.nodes(), [](const nn::Node& node) {
        return std::holds_alternative<nn::primitive::GroupNorm>(node.primitive);
    });
    return {
        ErrorCode::OutOfMemory,
        fmt::format("{} needs {:.0f} MiB{} (transients {:.1f}, histories {:.1f}, the model's "
                    "parameters {:.1f}{}){}; {}",
                    work_on(whole.size), total(whole),
                    bands == 1 ? "" : fmt::format(", and {:.0f} in the {} bands that need least", total(least), bands),
                    mib(least.transients), mib(least.histories), mib(device_bytes_ + parameters_.bytes_to_pack()),
                    beside == 0 ? "" : fmt::format(", latents and frames {:.1f}", mib(beside)),
                    norms_pictures ? "; its norms are over the whole picture, which is not cut into bands" : "",
                    device_.budget_bytes() == 0 ? fmt::format("{:.0f} MiB are free on {}", left, device)
                                                : fmt::format("the budget of {:.1f} MiB on {} leaves {:.0f}",
                                                              mib(device_.budget_bytes()), device, left))};
}

Result<void> Model::check_budget(const StackSize& size, std::uint64_t bytes, const CallLimits& limits) {
    KG_CHECK(check(size));
    const Lock lock(mutex_);
    KG_TRY(const auto* whole, compiled(size, limits));
    KG_TRY(const auto* least, find_least(*whole, limits, bytes - std::min(bytes, device_bytes_)));
    const std::uint64_t parameters = device_bytes_ + parameters_.bytes_to_pack();
    const std::uint64_t needed = parameters + least->transients + least->histories;
    if (needed <= bytes) return {};
    return fail(
        ErrorCode::OutOfMemory,
        "{}: decoding latents of {}x{} needs at least {} bytes on {} (the model's parameters {}), more than the "
        "budget of {} bytes",
        name_, size.width, size.height, needed, device_.info().name, parameters, bytes);
}

Error Model::explain_refusal(Error refusal, const StackSize& size, const StackMemory& beside,
                             const CallLimits& limits) {
    if (!check(size)) return refusal;
    const Lock lock(mutex_);
    const auto whole = compiled(size, limits);
    if (!whole) return refusal;
    const bool on_host = device_.info().is_host();
    auto fitting = find_fitting(**whole, limits, beside.stream + (on_host ? beside.io : 0));
    return fitting ? std::move(refusal) : std::move(fitting.error());
}

/// Of a step on one latent frame that is not a clip's first, or of the only step of a clip.
double Model::work_ratio(const StackSize& size) const {
    if (size.bands.count == 1) return 1.0;
    const StepKind kind = kinds_of_steps(network_, size).front();
    const auto passes = nn::fuse(network_.network, {.first_step = kind.first});
    if (!passes) return 1.0;  // declaring the step says why
    const auto cut = find_cut(*passes, size.bands.upsampling);
    if (!cut) return 1.0;
    const auto whole = nn::extents(network_.network, {kind.frames, size.height, size.width, channels()}, kind.first);
    const nn::Value value = nn::input_of((*passes)[*cut]);
    return vae::work_ratio(*passes, *cut,
                           BandCutter(*passes, *cut, whole[value].height, block()).bands(size.bands.count), whole);
}

/// Declares and compiles every kind of step against memory that exists only as sizes.
Result<StepPlans> Model::compile(const StackSize& size, const CallLimits& limits) {
    if (!others_.empty() && size.bands.count > 1)
        return fail(ErrorCode::InvalidArgument, "{} bands of rows: {} devices make a band each", size.bands.count,
                    others_.size() + 1);
    StepPlans made{.size = size, .work_ratio = work_ratio(size)};
    made.others.resize(others_.size());
    const FindKept find = [&](const std::string& key, std::uint64_t bytes, std::uint32_t device) {
        made.kept_bytes[key] = std::max(made.kept_bytes[key], bytes);
        made.kept_on[key] = device;
        return graph::Physical{0, 0, bytes};
    };
    const std::vector<Shard> shards = this->shards();
    KG_TRY(made.shares, shares(size));
    for (const StepKind kind : kinds_of_steps(network_, size)) {
        KG_CHECK(limits.check("compiling its steps"));
        const std::uint64_t in = input_bytes(network_, size, kind.frames);
        const nn::Extent out = output_shape(network_, size, kind);
        const std::uint64_t frame_bytes = static_cast<std::uint64_t>(out.elements() / out.frames) * sizeof(float);
        graph::FrameGraph frame;
        const graph::Buffer latents =
            frame.import_buffer("latents", {in, 16, graph::MemoryDomain::Accelerator}, {0, 0, in});
        std::vector<graph::Buffer> places;
        for (std::int64_t i = 0; i < out.frames; ++i)
            places.push_back(frame.import_buffer(
                fmt::format("frame {}", i), {frame_bytes, 256, graph::MemoryDomain::Accelerator}, {0, 0, frame_bytes}));
        KG_CHECK(declare_step(frame, network_, size, kind,
                              {{.parameters = &parameters_}, *operators_, find, shards, made.shares, block()}, latents,
                              {.format = FrameFormat::Float32, .places = places}));
        KG_TRY(auto plan, graph::compile(frame, {.topology = topology()}));
        const auto grow = [&](std::uint64_t& bytes, graph::MemoryDomain domain) {
            bytes = std::max(bytes, whole_pages(plan.arena_bytes[domain.index()]));
        };
        grow(made.transients, graph::MemoryDomain::Accelerator);
        grow(made.pinned, graph::MemoryDomain::Host);
        for (std::size_t i = 0; i < others_.size(); ++i)
            grow(made.others[i].transients, graph::MemoryDomain::accelerator(static_cast<std::uint32_t>(i + 1)));
        made.plans.emplace(kind, std::move(plan));
    }
    for (const auto& [key, bytes] : made.kept_bytes) {
        const std::uint32_t device = made.kept_on[key];
        (device == 0 ? made.histories : made.others[device - 1].histories) += whole_pages(bytes);
    }
    return made;
}

Result<StackMemory> Model::declared_memory(const StackSize& size, const CallLimits& limits) {
    KG_CHECK(check(size));
    const Lock lock(mutex_);
    KG_TRY(const auto* plans, compiled(size, limits));
    if (size.bands.count == 1) {
        KG_TRY(plans, find_fitting(*plans, limits));
    }
    return memory_locked(*plans);
}

Result<StackMemory> Model::whole_memory(const StackSize& size, const CallLimits& limits) {
    KG_CHECK(check(size));
    const Lock lock(mutex_);
    KG_TRY(const auto* plans, compiled(size, limits));
    return memory_locked(*plans);
}

StackMemory Model::memory(const StepPlans& plans) const {
    const Lock lock(mutex_);
    return memory_locked(plans);
}

StackMemory Model::memory_locked(const StepPlans& plans) const {
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const Parameters& parameters = others_[i]->parameters;
        others += plans.others[i].transients + plans.others[i].histories +
                  std::max(others_[i]->device_bytes + parameters.bytes_to_pack(), parameters.bytes());
    }
    return {.transients = plans.transients,
            .histories = plans.histories,
            .parameters = std::max(device_bytes_ + parameters_.bytes_to_pack(), parameters_.bytes()),
            .to_load = parameters_.bytes_to_pack(),
            .others = others,
            .pinned = plans.pinned,
            .bands = plans.size.bands.count,
            .work_ratio = plans.work_ratio};
}

Result<std::vector<graph::Buffer>> Model::declare(graph::FrameGraph& graph, const StackSize& size, StepKind kind,
                                                  const FindKept& find_kept, const InputBuffer& latents,
                                                  const StepOutput& output, Placement placement) {
    const Lock lock(mutex_);
    placement.parameters = &parameters_;
    const std::vector<Shard> shards = this->shards();
    std::vector<Rows> shares;
    if (!others_.empty()) {
        KG_TRY(const auto* plans, compiled(size, {}));
        shares = plans->shares;
    }
    KG_TRY(auto declared, declare_step(graph, network_, size, kind,
                                       {placement, *operators_, find_kept, shards, shares, block()}, latents, output));
    KG_CHECK(pack({}));  // all is packed already, except for a trace, whose passes are different
    return declared;
}

}  // namespace kinetograph::vae
