#include <kinetograph/compute/vae/parameters.hpp>
#include <kinetograph/engine/accel/upload.hpp>

#include <cassert>

namespace kinetograph::vae {

namespace {

bool equal_but_for_frames(conv::ConvProblem one, const conv::ConvProblem& other) {
    one.d = other.d;
    return one == other;
}

}  // namespace

Result<const conv::Convolution*> Parameters::convolution(const std::string& key, const conv::ConvProblem& problem,
                                                         OutputChannels channels, const std::string& norm_key) {
    const auto [first, last] = convolutions_.equal_range(key);
    for (auto it = first; it != last; ++it)
        if (it->second.first_channel == channels.first && it->second.convolution->problem() == problem)
            return it->second.convolution.get();
    for (auto it = first; it != last; ++it) {
        const conv::Convolution& other = *it->second.convolution;
        if (it->second.first_channel != channels.first || !equal_but_for_frames(other.problem(), problem)) continue;
        if (auto shared = other.with_frames(problem.d))
            return convolutions_.emplace(key, Bound{channels.first, false, std::move(shared)})
                ->second.convolution.get();
    }

    assert(load_ && "every convolution of a step is made before detach()");
    const std::vector<float> filter = load_(key + ".weight");
    const std::vector<float> bias = load_(key + ".bias");
    const auto begin = static_cast<std::size_t>(channels.first);
    const auto count = channels.count > 0 ? static_cast<std::size_t>(channels.count) : bias.size();
    const std::vector<float> gamma =
        problem.norm == conv::Norm::None ? std::vector<float>{} : load_(norm_key + ".gamma");
    const std::size_t per_channel = filter.size() / bias.size();
    auto created =
        conv::Convolution::create(device_, problem,
                                  {.filter = std::span(filter).subspan(begin * per_channel, count * per_channel),
                                   .bias = std::span(bias).subspan(begin, count),
                                   .gamma = gamma});
    if (!created) return fail(std::move(created.error()), key);
    return convolutions_.emplace(key, Bound{channels.first, true, std::move(*created)})->second.convolution.get();
}

std::uint64_t Parameters::bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [key, bound] : convolutions_) {
        if (!bound.packed) continue;
        const conv::ConvProblem& problem = bound.convolution->problem();
        bytes += static_cast<std::uint64_t>(problem.filter_elements()) * tensor::bytes_per_element(problem.dtype);
    }
    return bytes;
}

Result<const float*> Parameters::gamma(const std::string& key) {
    const std::string name = key + ".gamma";
    if (const auto found = constants_.find(name); found != constants_.end())
        return reinterpret_cast<const float*>(found->second->data());
    assert(load_ && "every gamma of a step is loaded before detach()");
    return constant(name, load_(name));
}

Result<const float*> Parameters::constant(const std::string& name, std::span<const float> values) {
    if (values.empty()) return nullptr;
    auto& memory = constants_[name];
    if (!memory) {
        KG_TRY(memory, accel::upload(device_, name, std::as_bytes(values)));
    }
    return reinterpret_cast<const float*>(memory->data());
}

}  // namespace kinetograph::vae
