#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/vae/parameters.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/engine/accel/upload.hpp>

#include <algorithm>

namespace kinetograph::vae {

Result<const conv::Convolution*> Parameters::convolution(const nn::primitive::Conv& conv,
                                                         const conv::ConvProblem& problem,
                                                         const conv::ConvProblem& whole, OutputChannels channels,
                                                         const std::string& norm_key) {
    const std::string& key = conv.key;
    const auto [first, last] = layers_.equal_range(key);
    auto layer = std::find_if(first, last, [&](const auto& entry) {
        return entry.second.channels == channels && entry.second.norm_key == norm_key;
    });
    if (layer == last) {
        auto weights = std::make_unique<conv::Weights>([this, conv, channels, norm_key] {
            return in_bytes(load_parameters(conv, channels, norm_key, load_), bytes_, conv.key, norm_key);
        });
        layer = layers_.emplace(key, Layer{channels, norm_key, std::move(weights), {}});
    }
    auto& convolutions = layer->second.convolutions;
    const auto made = std::ranges::find_if(
        convolutions, [&](const Made& one) { return one.convolution->problem() == problem && one.whole == whole; });
    if (made != convolutions.end()) return made->convolution.get();
    KG_TRY_IN(key, auto created,
              conv::Convolution::create(
                  device_, problem, *layer->second.weights,
                  {.sums = sums_, .preferred = preferred_, .part_of = &whole, .packing = conv::Packing::Later}));
    return convolutions.emplace_back(Made{whole, std::move(created)}).convolution.get();
}

std::string_view Parameters::method_of(const conv::ConvProblem& problem) {
    const auto known = std::ranges::find(methods_, problem, &decltype(methods_)::value_type::first);
    if (known != methods_.end()) return known->second;
    const conv::DispatchRow first = conv::explain(device_.info(), problem, sums_, preferred_).front();
    return methods_.emplace_back(problem, first.open ? first.candidate : "").second;
}

std::string Parameters::preferred_refusal() const {
    if (preferred_.empty()) return "";
    const conv::Convolution* first = nullptr;
    for (const auto& [key, layer] : layers_)
        for (const Made& made : layer.convolutions) {
            if (made.convolution->backend() == preferred_) return "";
            if (first == nullptr) first = made.convolution.get();
        }
    if (first == nullptr) return "";
    const auto rows = conv::explain(device_.info(), first->problem(), sums_, preferred_);
    return std::ranges::find(rows, preferred_, &conv::DispatchRow::candidate)->reason;
}

Result<void> Parameters::pack(const CallLimits& limits) {
    for (auto& [key, layer] : layers_)
        for (const Made& made : layer.convolutions) {
            KG_CHECK(limits.check("packing its parameters"));
            KG_CHECK_IN(key, made.convolution->pack());
        }
    return {};
}

std::uint64_t Parameters::bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [key, layer] : layers_) {
        if (layer.convolutions.empty()) continue;
        const conv::ConvProblem& problem = layer.convolutions.front().convolution->problem();
        bytes += static_cast<std::uint64_t>(layer.weights->packings() * problem.filter_elements()) *
                 element_bytes(problem.input.element);
    }
    return bytes;
}

std::uint64_t Parameters::bytes_to_pack() const {
    std::uint64_t bytes = 0;
    for (const auto& [key, layer] : layers_) bytes += layer.weights->expected_bytes(whole_pages);
    return bytes;
}

Result<const float*> Parameters::gamma(const std::string& key) {
    const std::string name = key + ".gamma";
    return constant(name, [&] { return load_(name); });
}

Result<const float*> Parameters::weight_and_bias(const std::string& key) {
    return constant(key, [&] {
        std::vector<float> values = load_(key + ".weight");
        const std::vector<float> bias = load_(key + ".bias");
        values.insert(values.end(), bias.begin(), bias.end());
        return values;
    });
}

Result<const float*> Parameters::latent_map(const std::vector<float>& scale, const std::vector<float>& shift,
                                            const nn::primitive::Conv* conv) {
    return constant("latents.map", [&] { return pixel_map(scale, shift, conv, load_); });
}

Result<const float*> Parameters::value_map(const std::vector<float>& scale, const std::vector<float>& shift) {
    const auto first = [](const std::vector<float>& values) {
        return std::vector<float>(values.begin(), values.begin() + (values.empty() ? 0 : 1));
    };
    return constant("values.map", [&] { return pixel_map(first(scale), first(shift), nullptr, load_); });
}

Result<const float*> Parameters::constant(const std::string& name, const std::function<std::vector<float>()>& make) {
    auto found = constants_.find(name);
    if (found == constants_.end()) {
        const std::vector<float> values = make();
        std::unique_ptr<accel::Memory> memory;
        if (!values.empty()) {
            KG_TRY(memory, accel::upload(device_, name, std::as_bytes(std::span(values))));
        }
        found = constants_.emplace(name, std::move(memory)).first;
    }
    return found->second ? reinterpret_cast<const float*>(found->second->data()) : nullptr;
}

}  // namespace kinetograph::vae
