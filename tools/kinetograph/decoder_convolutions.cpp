#include <fmt/core.h>
#include <kinetograph/compute/vae/wan21_layers.hpp>
#include <kinetograph/tools/kinetograph/decoder_convolutions.hpp>

#include <algorithm>

namespace kinetograph::cli {
namespace {

/// Walks the layers with the size that the activation has there.
class Walk {
  public:
    Walk(vae::LatentSize size, tensor::DType dtype, bool fuse_upsample)
        : height_(size.height), width_(size.width), dtype_(dtype), fuse_upsample_(fuse_upsample) {}

    void pass(const vae::Layer& layer) {
        switch (layer.op) {
            case vae::LayerOp::PointwiseConv:
                return add(layer.c_in, {layer.c_out, 1, 1, 1});
            case vae::LayerOp::CausalConv:
            case vae::LayerOp::Head:
                return add(layer.c_in, {layer.c_out, 3, 3, 3});
            case vae::LayerOp::Residual:
                if (layer.c_in != layer.c_out) add(layer.c_in, {layer.c_out, 1, 1, 1});
                add(layer.c_in, {layer.c_out, 3, 3, 3});
                return add(layer.c_out, {layer.c_out, 3, 3, 3});
            case vae::LayerOp::Attention:
                add(layer.c_in, {3 * layer.c_in, 1, 1, 1});
                return add(layer.c_in, {layer.c_in, 1, 1, 1});
            case vae::LayerOp::Upsample3d:
                add(layer.c_in, {2 * layer.c_in, 3, 1, 1});
                frames_ *= 2;
                return upsample(layer);
            case vae::LayerOp::Upsample2d:
                return upsample(layer);
        }
    }
    std::vector<DecoderConvolution> take() { return std::move(found_); }

  private:
    void upsample(const vae::Layer& layer) {
        if (fuse_upsample_) {
            add(layer.c_in, {layer.c_out, 1, 3, 3}, true);
            height_ *= 2;
            width_ *= 2;
        } else {
            height_ *= 2;
            width_ *= 2;
            add(layer.c_in, {layer.c_out, 1, 3, 3});
        }
    }
    void add(std::int64_t c_in, const conv::Filter& filter, bool doubles = false) {
        conv::ConvProblem problem;
        problem.d = frames_ + filter.q - 1;  // the kept frames too
        problem.h = height_;
        problem.w = width_;
        problem.c_in = c_in;
        problem.upsample = doubles;
        problem.filter = filter;
        problem.pad = {0, 0, filter.r / 2, filter.r / 2, filter.s / 2, filter.s / 2};
        problem.dtype = dtype_;
        problem.output_dtype = filter.k == 3 ? tensor::DType::F32 : dtype_;
        const auto same = std::ranges::find(found_, problem, &DecoderConvolution::problem);
        if (same != found_.end())
            ++same->launches;
        else
            found_.push_back({convolution_name(problem), problem, 1});
    }

    std::int64_t frames_ = 1, height_, width_;
    tensor::DType dtype_;
    bool fuse_upsample_;
    std::vector<DecoderConvolution> found_;
};

}  // namespace

std::string convolution_name(const conv::ConvProblem& problem) {
    const conv::Filter& filter = problem.filter;
    return fmt::format("{}>{} {}x{}x{}, {}x{}x{}", problem.c_in, filter.k, filter.q, filter.r, filter.s,
                       problem.n * problem.d_out(), problem.h_out(), problem.w_out());
}

std::vector<DecoderConvolution> decoder_convolutions(std::int64_t dim, std::int64_t z_dim, vae::LatentSize size,
                                                     tensor::DType dtype, bool fuse_upsample) {
    Walk walk(size, dtype, fuse_upsample);
    for (const vae::Layer& layer : vae::wan21_layers(dim, z_dim)) walk.pass(layer);
    return walk.take();
}

}  // namespace kinetograph::cli
