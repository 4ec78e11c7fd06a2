#include <kinetograph/compute/vae/traced_clip.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kinetograph::vae {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{512} << 20U;  // of the values that one run copies out

struct Difference {
    double squares = 0, count = 0;
    float least = std::numeric_limits<float>::infinity(), largest = -std::numeric_limits<float>::infinity();

    void add(std::span<const float> tested, std::span<const float> exact) {
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const double error = double{tested[i]} - exact[i];
            squares += error * error;
            least = std::min(least, exact[i]);
            largest = std::max(largest, exact[i]);
        }
        count += static_cast<double>(exact.size());
    }
    double psnr() const {
        constexpr double kMost = 140;
        const double range = double{largest} - least;
        return squares > 0 ? std::min(kMost, 10 * std::log10(range * range * count / squares)) : kMost;
    }
};

}  // namespace

std::vector<std::string> modules_of_every_step(const nn::Network& network) {
    std::vector<std::string> modules;
    for (const auto& [value, name] : network.modules())
        if (network.nodes()[value - 1].steps == nn::Steps::All) modules.push_back(name);
    return modules;
}

Result<std::unique_ptr<TracedClip>> TracedClip::open(std::shared_ptr<Model> model, const Latents& latents,
                                                     const CallLimits& limits) {
    KG_CHECK(model->check_takes(latents));
    std::unique_ptr<TracedClip> made(new TracedClip(std::move(model), latents, limits));
    KG_TRY(made->clip_, Clip::create(made->model_, {latents.height, latents.width}, {.limits = limits}));
    KG_TRY(made->runner_, Runner::create(*made->clip_));
    KG_TRY(made->memory_, made->model_->device().allocate_pinned("latents", made->clip_->latent_bytes()));
    return made;
}

std::size_t TracedClip::fitting(std::span<const std::string> modules) const {
    const nn::Network& network = model_->network().network;
    const auto extents = nn::extents(network, {1, latents_.height, latents_.width, latents_.channels}, false);
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    for (; count < modules.size(); ++count) {
        const auto found =
            std::ranges::find(network.modules(), modules[count], &std::pair<nn::Value, std::string>::second);
        bytes += static_cast<std::uint64_t>(extents[found->first].elements()) * sizeof(float);
        if (count > 0 && bytes > kBytes) break;
    }
    return count;
}

Result<void> TracedClip::begin(std::span<const std::string> modules) {
    KG_CHECK(runner_->reset(*clip_));
    traces_ = std::vector<TraceRequest>(modules.size());
    for (std::size_t i = 0; i < modules.size(); ++i) traces_[i].module = modules[i];
    return {};
}

Result<void> TracedClip::step(std::int64_t t) {
    KG_CHECK(limits_.check("decoding"));
    std::ranges::copy(latents_.frame(t), reinterpret_cast<float*>(memory_->host_data()));
    graph::FrameGraph frame;
    const graph::Buffer input = clip_->import_latents(
        frame, graph::Physical{reinterpret_cast<std::uintptr_t>(memory_->data()), 0, memory_->bytes()});
    KG_CHECK(clip_->declare(frame, input, {.format = FrameFormat::Float32, .traces = traces_}));
    KG_TRY(const auto enqueued, runner_->execute(*clip_, frame));
    return runner_->wait(*clip_, enqueued, limits_);
}

std::span<const float> TracedClip::values(std::size_t i) const {
    const TraceRequest& trace = traces_[i];
    if (!trace.memory) return {};
    return {reinterpret_cast<const float*>(trace.memory->host_data()), static_cast<std::size_t>(trace.values)};
}

Result<std::vector<ModuleError>> module_errors(const std::shared_ptr<Model>& tested,
                                               const std::shared_ptr<Model>& exact, std::span<const Latents> clips,
                                               const CallLimits& limits) {
    const std::vector<std::string> modules = modules_of_every_step(exact->network().network);
    std::vector<Difference> differences(modules.size());
    for (const Latents& clip : clips) {
        KG_TRY(const auto made, TracedClip::open(tested, clip, limits));
        KG_TRY(const auto wanted, TracedClip::open(exact, clip, limits));
        for (std::size_t first = 0; first < modules.size();) {
            const std::size_t count = wanted->fitting(std::span(modules).subspan(first));
            for (TracedClip* const one : {made.get(), wanted.get()})
                KG_CHECK(one->begin(std::span(modules).subspan(first, count)));
            for (std::int64_t t = 0; t < clip.frames; ++t) {
                KG_CHECK(made->step(t));
                KG_CHECK(wanted->step(t));
                for (std::size_t i = 0; i < count; ++i) differences[first + i].add(made->values(i), wanted->values(i));
            }
            first += count;
        }
    }
    std::vector<ModuleError> errors;
    for (std::size_t i = 0; i < modules.size(); ++i) errors.push_back({modules[i], differences[i].psnr()});
    return errors;
}

}  // namespace kinetograph::vae
