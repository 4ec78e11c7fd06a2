#include <kinetograph/compute/nn/network.hpp>

#include <cassert>
#include <numeric>
#include <utility>

namespace kinetograph::nn {

namespace primitive {

Extent Conv::output(Extent x) const {
    assert(x.channels == c_in);
    const conv::Padding pad = padding();
    return {x.frames / stride.d, (x.height + pad.top + pad.bottom - filter.r) / stride.h + 1,
            (x.width + pad.left + pad.right - filter.s) / stride.w + 1, filter.k};
}

conv::Padding Conv::padding() const {
    if (edges == Edges::After) return {.bottom = filter.r - stride.h, .right = filter.s - stride.w};
    const std::int64_t rows = (filter.r - 1) / 2, columns = (filter.s - 1) / 2;
    return {.top = rows, .bottom = rows, .left = columns, .right = columns};
}

void Conv::list(std::vector<Parameter>& parameters) const {
    if (averages > 0) return;
    const std::int64_t q = filter.q + older_taps;
    if (!grown_by.empty()) parameters.push_back({grown_by + ".weight", {growth * c_in, c_in, 1, 1}, true});
    if (!pooled_by.empty()) parameters.push_back({pooled_by + ".weight", {c_in, q * c_in, 1, 1}});
    tensor::Shape weight{filter.k / growth, c_in * block * block, pooled_by.empty() ? q : 1, filter.r / block,
                         filter.s / block};
    if (taps == Taps::InputChannels) weight = {filter.k / growth, q * c_in, 1, filter.r, filter.s};
    if (weight_rank == 4) weight.erase(weight.begin() + 2);
    for (const std::string& part : parts) {
        weight.front() = filter.k / std::ssize(parts);
        parameters.push_back({part + ".weight", weight});
        parameters.push_back({part + ".bias", {weight.front()}});
    }
    if (!parts.empty()) return;
    parameters.push_back({key + ".weight", std::move(weight)});
    if (bias) parameters.push_back({key + ".bias", {filter.k}});
    if (projected_by.empty()) return;
    parameters.push_back({projected_by + ".weight", {filter.k / 3, filter.k / 3, 1, 1}});
    parameters.push_back({projected_by + ".bias", {filter.k / 3}});
}

void Norm::list(std::vector<Parameter>& parameters) const {
    tensor::Shape gamma(static_cast<std::size_t>(gamma_rank), 1);
    gamma.front() = channels;
    parameters.push_back({key + ".gamma", std::move(gamma)});
}

void GroupNorm::list(std::vector<Parameter>& parameters) const {
    parameters.push_back({key + ".weight", {channels}});
    parameters.push_back({key + ".bias", {channels}});
}

}  // namespace primitive

Value Network::append(Value x, Primitive primitive, Steps steps) {
    assert(x <= nodes_.size() && "a primitive reads what was made before it");
    nodes_.push_back({std::move(primitive), x, x, steps});
    return nodes_.size();
}

Value Network::add(Value x, Value skip) {
    assert(x <= nodes_.size() && skip <= nodes_.size() && "a primitive reads what was made before it");
    nodes_.push_back({primitive::Add{}, x, skip, Steps::All});
    return nodes_.size();
}

Value Network::module(std::string name, Value x) {
    modules_.emplace_back(x, std::move(name));
    return x;
}

Network Network::of_first_step() const {
    Network network = *this;
    network.has_first_step_only_ = true;
    const std::vector<Extent> frames = nn::extents(*this, {nn::rates(*this).first, 1, 1, input_channels_}, true);
    for (Node& node : network.nodes_) {
        auto* const conv = std::get_if<primitive::Conv>(&node.primitive);
        if (conv == nullptr || conv->averages > 0 || conv->stride.d > 1 || frames[node.input].frames != 1) continue;
        conv->older_taps += std::exchange(conv->filter.q, 1) - 1;
    }
    return network;
}

std::vector<Parameter> parameters(const Network& network) {
    std::vector<Parameter> result;
    for (const Node& node : network.nodes())
        std::visit([&](const auto& primitive) { primitive.list(result); }, node.primitive);
    return result;
}

std::vector<Extent> extents(const Network& network, Extent input, bool first_step) {
    std::vector<Extent> result{input};
    for (const Node& node : network.nodes()) {
        const Extent x = result[node.input];
        result.push_back(runs(node.steps, first_step)
                             ? std::visit([&](const auto& primitive) { return primitive.output(x); }, node.primitive)
                             : x);
    }
    return result;
}

std::vector<conv::Storage> storages(const Network& network, conv::Storage input) {
    std::vector<conv::Storage> result{input};
    for (const Node& node : network.nodes()) {
        const auto* conv = std::get_if<primitive::Conv>(&node.primitive);
        const bool float32 = conv != nullptr && conv->stored == primitive::Conv::Stored::Float32;
        result.push_back(float32 ? conv::Storage(Element::F32) : result[node.input]);
    }
    return result;
}

Rates rates(const Network& network) {
    Extent input{1, 1, 1, network.input_channels()};  // which every stride divides
    for (const Node& node : network.nodes())
        if (const auto* conv = std::get_if<primitive::Conv>(&node.primitive)) {
            input.frames *= conv->stride.d;
            input.height = input.width *= conv->stride.h;
        }
    const Extent output = extents(network, input, false).back();
    const bool first_alone = extents(network, {1, input.height, input.width, input.channels}, true).back().frames > 0;
    const auto rate = [](std::int64_t in, std::int64_t out) {
        const std::int64_t common = std::gcd(in, out);
        return Rate{in / common, out / common};
    };
    const Rate time = rate(input.frames, output.frames);
    return {.time = time, .space = rate(input.height, output.height), .first = first_alone ? 1 : time.in};
}

}  // namespace kinetograph::nn
