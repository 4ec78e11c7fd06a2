#include <kinetograph/compute/stream/moments.hpp>
#include <kinetograph/compute/vae/model.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace kinetograph::stream {
namespace {

/// splitmix64's output number `index` (from 0) from the state `seed`.
std::uint64_t splitmix(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

}  // namespace

double noise(std::uint64_t seed, std::uint64_t index) {
    constexpr double kUnit = 0x1p-53;
    const double u = static_cast<double>((splitmix(seed, 2 * index) >> 11U) + 1) * kUnit;
    const double v = static_cast<double>(splitmix(seed, 2 * index + 1) >> 11U) * kUnit;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

Result<Moments> Moments::create(const vae::Model& model, PictureSize size, families::LatentStatistics statistics,
                                const MomentChoices& choices) {
    const bool has_variances = model.network().network.ends().output == nn::End::Moments;
    if (choices.latents != Encoded::Mean && !has_variances)
        return fail(ErrorCode::InvalidArgument,
                    "{}: its encoder makes latents alone: there are no moments, and there is no sample of them",
                    model.network().title);
    Moments made;
    made.statistics_ = std::move(statistics);
    made.choices_ = choices;
    const vae::StepFrames frames = model.step_frames({size.height, size.width});
    made.made_values_ = frames.channels;
    const bool both = choices.latents == Encoded::Moments;
    const std::int64_t patch = both ? 1 : made.statistics_.patch;
    made.raw_ = {.channels = has_variances && !both ? frames.channels / 2 : frames.channels,
                 .height = frames.height,
                 .width = frames.width,
                 .patch = patch};
    if (frames.height % patch != 0 || frames.width % patch != 0)
        return fail(ErrorCode::InvalidArgument,
                    "{}: normalised latents are patches of {} x {}, and pictures of {}x{} become {}x{} of them: other "
                    "sides, or raw latents",
                    model.network().title, patch, patch, size.width, size.height, frames.width, frames.height);
    made.first_pictures_ = model.rates().first;
    made.pictures_of_a_latent_ = model.pushed_frames();
    return made;
}

EncoderFacts Moments::facts() const {
    const std::int64_t patch = raw_.patch;
    return {.channels = raw_.channels * patch * patch,
            .height = raw_.height / patch,
            .width = raw_.width / patch,
            .first_pictures = first_pictures_,
            .pictures_of_a_latent = pictures_of_a_latent_};
}

std::vector<float> Moments::latents(std::span<const float> moments, std::int64_t index) const {
    const std::int64_t pixels = raw_.height * raw_.width, channels = raw_.channels;
    std::vector<float> values(static_cast<std::size_t>(channels * pixels));
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < pixels; ++i) {
            const std::int64_t at = c * pixels + i;
            float value = moments[static_cast<std::size_t>(i * made_values_ + c)];
            if (choices_.latents == Encoded::Sample) {
                constexpr float kLowest = -30, kHighest = 20;
                const float log_variance =
                    std::clamp(moments[static_cast<std::size_t>(i * made_values_ + channels + c)], kLowest, kHighest);
                const auto number = static_cast<std::uint64_t>(index * channels * pixels + at);
                value += std::exp(0.5F * log_variance) * static_cast<float>(noise(choices_.seed, number));
            }
            values[static_cast<std::size_t>(at)] = value;
        }
    if (choices_.latents == Encoded::Moments || statistics_.std.empty()) return values;
    if (raw_.patch > 1) values = vae::to_patches(values, raw_);
    const std::size_t of_a_channel = values.size() / statistics_.std.size();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = (values[i] - statistics_.mean[i / of_a_channel]) / statistics_.std[i / of_a_channel];
    return values;
}

}  // namespace kinetograph::stream
