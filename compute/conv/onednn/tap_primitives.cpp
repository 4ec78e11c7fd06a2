#include <kinetograph/compute/conv/onednn/tap_primitives.hpp>

#include <cassert>
#include <cstring>

namespace kinetograph::conv::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

Type type_of(tensor::DType dtype) { return dtype == tensor::DType::F32 ? Type::f32 : Type::bf16; }

/// One tap is a convolution in two dimensions; several are one in three dimensions with a single output frame.
struct Geometry {
    Dims source, destination, stride, dilation, pad_before, pad_after;
    Tag layout = Tag::nhwc;
};

Geometry geometry(const ConvProblem& p, std::int64_t taps) {
    if (taps == 1) {
        return {{1, p.c_in, p.h, p.w},
                {1, p.filter.k, p.h_out(), p.w_out()},
                {p.stride.h, p.stride.w},
                {p.dilation.h - 1, p.dilation.w - 1},
                {p.pad.top, p.pad.left},
                {p.pad.bottom, p.pad.right},
                Tag::nhwc};
    }
    return {{1, p.c_in, (taps - 1) * p.dilation.d + 1, p.h, p.w},
            {1, p.filter.k, 1, p.h_out(), p.w_out()},
            {1, p.stride.h, p.stride.w},
            {p.dilation.d - 1, p.dilation.h - 1, p.dilation.w - 1},
            {0, p.pad.top, p.pad.left},
            {0, p.pad.bottom, p.pad.right},
            Tag::ndhwc};
}

/// The filter of taps [first, first + count) within the whole filter: dimensions and, in elements, strides and offset.
struct FilterSlice {
    Dims dims, strides;
    std::int64_t offset = 0;
};

FilterSlice filter_slice(const ConvProblem& p, const TapKey& key) {
    const std::int64_t k = p.filter.k / p.groups, c = p.c_in / p.groups, plane = p.filter.r * p.filter.s;
    FilterSlice slice{{k, c}, {c * p.filter.q * plane, p.filter.q * plane}, key.first * plane};
    if (p.groups > 1) {
        slice.dims.insert(slice.dims.begin(), p.groups);
        slice.strides.insert(slice.strides.begin(), k * slice.strides[0]);
    }
    if (key.count > 1) {
        slice.dims.push_back(key.count);
        slice.strides.push_back(plane);
    }
    slice.dims.insert(slice.dims.end(), {p.filter.r, p.filter.s});
    slice.strides.insert(slice.strides.end(), {p.filter.s, 1});
    return slice;
}

void reorder(const dnnl::engine& engine, dnnl::memory from, dnnl::memory to) {
    dnnl::stream stream(engine);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
}

}  // namespace

TapPrimitives::TapPrimitives(const ConvProblem& problem, const ConvParameters& parameters) : problem_(problem) {
    const Dims whole{problem.filter_elements()};
    // oneDNN's memory takes a mutable pointer and only reads through it here.
    dnnl::memory given({whole, Type::f32, Tag::a}, engine_, const_cast<float*>(parameters.filter.data()));
    filter_ = dnnl::memory({whole, type_of(problem.dtype), Tag::a}, engine_);
    reorder(engine_, given, filter_);
    if (problem.bias) {
        bias_ = dnnl::memory({{problem.filter.k}, Type::f32, Tag::a}, engine_);
        std::memcpy(bias_.get_data_handle(), parameters.bias.data(), parameters.bias.size_bytes());
    }
}

Result<const TapPrimitive*> TapPrimitives::get(const TapKey& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = primitives_.find(key); found != primitives_.end()) return &found->second;
    try {
        return &primitives_.emplace(key, make(key)).first->second;
    } catch (const dnnl::error& error) {
        return fail(ErrorCode::Unsupported, "oneDNN has no implementation of {}: {}", problem_.to_string(),
                    error.what());
    }
}

TapPrimitive TapPrimitives::make(const TapKey& key) {
    const ConvProblem& p = problem_;
    const bool to_output = key.part == Part::Whole || key.part == Part::Finish;
    const Geometry g = geometry(p, key.count);
    const dnnl::memory::desc source(g.source, type_of(p.dtype), g.layout);
    const bool rounds = to_output && !finished_by_loop();
    const dnnl::memory::desc destination(g.destination, rounds ? type_of(p.output_dtype) : Type::f32, g.layout);
    const dnnl::memory::desc weights(filter_slice(p, key).dims, type_of(p.dtype), Tag::any);
    const dnnl::memory::desc bias({p.filter.k}, Type::f32, Tag::a);

    TapPrimitive made;
    made.source = source;
    made.destination = destination;
    dnnl::post_ops epilogue;
    const bool continues = key.part == Part::Continue || key.part == Part::Finish;
    if (continues && !rounds) epilogue.append_sum();
    if (continues && rounds) {
        made.scratch = dnnl::memory::desc(g.destination, Type::f32, g.layout);
        made.scratch_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(epilogue.len()) | DNNL_ARG_SRC_1;
        epilogue.append_binary(dnnl::algorithm::binary_add, made.scratch);
    }
    if (to_output && p.activation == Activation::Silu) {
        epilogue.append_eltwise(1.0F, dnnl::algorithm::eltwise_swish, 1.0F, 0.0F);
    }
    if (to_output && p.residual && p.beta == 1) {
        made.residual_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(epilogue.len()) | DNNL_ARG_SRC_1;
        epilogue.append_binary(dnnl::algorithm::binary_add, destination);
    }
    if (to_output && p.activation == Activation::Relu && !finished_by_loop())
        epilogue.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(epilogue);

    using Convolve = dnnl::convolution_forward;
    constexpr auto kForward = dnnl::prop_kind::forward_inference;
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const Convolve::desc described = to_output && p.bias
                                         ? Convolve::desc(kForward, kDirect, source, weights, bias, destination,
                                                          g.stride, g.dilation, g.pad_before, g.pad_after)
                                         : Convolve::desc(kForward, kDirect, source, weights, destination, g.stride,
                                                          g.dilation, g.pad_before, g.pad_after);
    const Convolve::primitive_desc chosen(described, attributes, engine_);
    made.weights = packed_filter(key, chosen.weights_desc());
    made.primitive = Convolve(chosen);
    return made;
}

/// The filter of the key's taps in the layout that a primitive wants; shared by primitives that want the same.
dnnl::memory TapPrimitives::packed_filter(const TapKey& key, const dnnl::memory::desc& wanted) {
    for (const auto& [packed_key, memory] : packed_) {
        if (packed_key.first == key.first && packed_key.count == key.count && memory.get_desc() == wanted) {
            return memory;
        }
    }
    const FilterSlice slice = filter_slice(problem_, key);
    auto* start =
        static_cast<std::byte*>(filter_.get_data_handle()) + slice.offset * tensor::bytes_per_element(problem_.dtype);
    const dnnl::memory plain({slice.dims, type_of(problem_.dtype), slice.strides}, engine_, start);
    dnnl::memory packed(wanted, engine_);
    reorder(engine_, plain, packed);
    packed_.emplace_back(key, packed);
    return packed;
}

}  // namespace kinetograph::conv::onednn
