#include <kinetograph/compute/conv/onednn/tap_primitives.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace kinetograph::conv::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

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

/// The same for the same taps in the same layout.
std::string slice_name(const Taps& taps, const dnnl::memory::desc& layout) {
    const std::string_view described(reinterpret_cast<const char*>(&layout.data), sizeof(layout.data));
    return fmt::format("taps {}+{} {}", taps.first, taps.count, described);
}

using Convolve = dnnl::convolution_forward;

}  // namespace

/// A primitive whose filter is not packed yet.
struct TapPrimitives::Described {
    TapPrimitive primitive;
    Convolve::primitive_desc chosen;
};

Result<void> TapPrimitives::check(const TapKey& key) const {
    try {
        (void)describe(key);
        return {};
    } catch (const dnnl::error& error) {
        return fail(ErrorCode::Unsupported, "oneDNN has no implementation of {}: {}", problem_.to_string(),
                    error.what());
    }
}

void TapPrimitives::expect(Weights& weights, const std::string& layout, std::span<const TapKey> keys) const {
    weights.expect(layout, TapFilters::bytes(problem_));
    for (const TapKey& key : keys) {
        try {
            const dnnl::memory::desc wanted = describe(key).chosen.weights_desc();
            weights.expect(layout, TapFilters::aligned(wanted.get_size()), slice_name(key.taps, wanted));
        } catch (const dnnl::error&) {
            continue;  // get() says so if a step needs it
        }
    }
}

Result<const TapPrimitive*> TapPrimitives::get(const TapKey& key) {
    const Lock lock(mutex_);
    if (const auto found = primitives_.find(key); found != primitives_.end()) return &found->second;
    try {
        KG_TRY(auto made, make(key));
        return &primitives_.emplace(key, std::move(made)).first->second;
    } catch (const dnnl::error& error) {
        return fail(ErrorCode::Unsupported, "oneDNN has no implementation of {}: {}", problem_.to_string(),
                    error.what());
    }
}

Result<TapPrimitive> TapPrimitives::make(const TapKey& key) {
    Described described = describe(key);
    KG_TRY(described.primitive.weights, filters_->packed(key.taps, described.chosen.weights_desc()));
    described.primitive.primitive = Convolve(described.chosen);
    return std::move(described.primitive);
}

TapPrimitives::Described TapPrimitives::describe(const TapKey& key) const {
    const ConvProblem& p = problem_;
    const bool to_output = key.part == Part::Whole || key.part == Part::Finish;
    const Geometry g = geometry(p, key.taps.count);
    const dnnl::memory::desc source(g.source, type_of(p.input.element), g.layout);
    const bool rounds = to_output && !finished_by_loop();
    const dnnl::memory::desc destination(g.destination, rounds ? type_of(p.output.element) : Type::f32, g.layout);
    const dnnl::memory::desc weights(filter_dims(p, key.taps), type_of(p.input.element), Tag::any);
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
    if (rounds && p.activation == Activation::Silu)
        epilogue.append_eltwise(1.0F, dnnl::algorithm::eltwise_swish, 1.0F, 0.0F);
    if (rounds && p.residual && p.beta == 1) {
        made.residual_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(epilogue.len()) | DNNL_ARG_SRC_1;
        epilogue.append_binary(dnnl::algorithm::binary_add, destination);
    }
    if (rounds && p.activation == Activation::Relu)
        epilogue.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, p.negative_slope, 0.0F);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(epilogue);

    constexpr auto kForward = dnnl::prop_kind::forward_inference;
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const Convolve::desc described = to_output && p.bias
                                         ? Convolve::desc(kForward, kDirect, source, weights, bias, destination,
                                                          g.stride, g.dilation, g.pad_before, g.pad_after)
                                         : Convolve::desc(kForward, kDirect, source, weights, destination, g.stride,
                                                          g.dilation, g.pad_before, g.pad_after);
    return {std::move(made), Convolve::primitive_desc(described, attributes, engine_)};
}

}  // namespace kinetograph::conv::onednn
