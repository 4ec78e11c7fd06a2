#include <kinetograph/compute/conv/onednn/tap_filters.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::conv::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

/// Strides, in elements, of taps within the whole filter; dimensions as filter_dims() has them.
Dims filter_strides(const ConvProblem& p, const Taps& taps) {
    const std::int64_t k = p.filter.k / p.groups, c = p.c_in / p.groups, plane = p.filter.r * p.filter.s;
    Dims strides{c * p.filter.q * plane, p.filter.q * plane};
    if (p.groups > 1) strides.insert(strides.begin(), k * strides[0]);
    if (taps.count > 1) strides.push_back(plane);
    strides.insert(strides.end(), {p.filter.s, 1});
    return strides;
}

void reorder(const dnnl::engine& engine, dnnl::memory from, dnnl::memory to) {
    dnnl::stream stream(engine);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
}

}  // namespace

Type type_of(tensor::DType dtype) { return dtype == tensor::DType::F32 ? Type::f32 : Type::bf16; }

Dims filter_dims(const ConvProblem& p, const Taps& taps) {
    Dims dims{p.filter.k / p.groups, p.c_in / p.groups};
    if (p.groups > 1) dims.insert(dims.begin(), p.groups);
    if (taps.count > 1) dims.push_back(taps.count);
    dims.insert(dims.end(), {p.filter.r, p.filter.s});
    return dims;
}

std::uint64_t TapFilters::bytes(const ConvProblem& problem) {
    return aligned(static_cast<std::uint64_t>(problem.filter_elements()) * element_bytes(problem.input.element)) +
           aligned(static_cast<std::uint64_t>(problem.filter.k) *
                   sizeof(float));  // a bias, which other problems may add
}

Result<std::shared_ptr<TapFilters>> TapFilters::create(accel::Device& device, const dnnl::engine& engine,
                                                       const ConvProblem& problem, const ConvParameters& parameters,
                                                       std::uint64_t expected_bytes) {
    std::shared_ptr<TapFilters> made(new TapFilters(device, engine, problem));
    KG_CHECK(made->fill(parameters, expected_bytes));
    return made;
}

Result<void> TapFilters::fill(const ConvParameters& parameters, std::uint64_t expected_bytes) {
    const Lock lock(mutex_);
    KG_TRY(auto memory, device_.allocate("filters", expected_bytes));
    unused_ = {memory->data(), expected_bytes};
    memory_.push_back(std::move(memory));
    const Dims whole{problem_.filter_elements()};
    // oneDNN's memory takes a mutable pointer and only reads through it here.
    const dnnl::memory given({whole, Type::f32, Tag::a}, engine_, const_cast<float*>(parameters.filter.data()));
    KG_TRY(filter_, allocate("filter", {whole, type_of(problem_.input.element), Tag::a}));
    reorder(engine_, given, filter_);
    if (parameters.bias.empty()) return {};
    KG_TRY(bias_, allocate("bias", {{problem_.filter.k}, Type::f32, Tag::a}));
    std::memcpy(bias_.get_data_handle(), parameters.bias.data(), parameters.bias.size_bytes());
    return {};
}

Result<dnnl::memory> TapFilters::allocate(std::string_view name, const dnnl::memory::desc& desc) {
    const std::uint64_t bytes = aligned(desc.get_size());
    if (bytes <= unused_.size()) {
        const dnnl::memory taken(desc, engine_, unused_.data());
        unused_ = unused_.subspan(bytes);
        return taken;
    }
    KG_TRY(auto memory, device_.allocate(name, bytes));
    memory_.push_back(std::move(memory));
    return dnnl::memory(desc, engine_, memory_.back()->data());
}

Result<dnnl::memory> TapFilters::packed(const Taps& taps, const dnnl::memory::desc& wanted) {
    const Lock lock(mutex_);
    const auto known = std::ranges::find_if(
        slices_, [&](const Slice& slice) { return slice.taps == taps && slice.memory.get_desc() == wanted; });
    if (known != slices_.end()) return known->memory;
    const std::int64_t offset = taps.first * problem_.filter.r * problem_.filter.s;
    auto* start = static_cast<std::byte*>(filter_.get_data_handle()) +
                  offset * static_cast<std::int64_t>(tensor::bytes_per_element(problem_.input.element));
    const dnnl::memory plain(
        {filter_dims(problem_, taps), type_of(problem_.input.element), filter_strides(problem_, taps)}, engine_, start);
    KG_TRY(auto packed, allocate("packed filter", wanted));
    reorder(engine_, plain, packed);
    slices_.push_back({taps, packed});
    return packed;
}

}  // namespace kinetograph::conv::onednn
