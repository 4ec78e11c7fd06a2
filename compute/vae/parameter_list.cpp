#include <kinetograph/compute/vae/parameter_list.hpp>
#include <kinetograph/compute/vae/wan21_layers.hpp>

namespace kinetograph::vae {

namespace {

/// Appends modules in the order of the reference's state dict.
class ParameterList {
  public:
    void conv(const std::string& name, tensor::Shape shape) {
        const std::int64_t c_out = shape.front();
        add(name + ".weight", std::move(shape));
        add(name + ".bias", {c_out});
    }

    void conv3d(const std::string& name, std::int64_t c_in, std::int64_t c_out, std::int64_t taps) {
        conv(name, {c_out, c_in, taps, taps, taps});
    }

    void norm(const std::string& name, std::int64_t channels) { add(name + ".gamma", {channels, 1, 1, 1}); }

    void residual_block(const std::string& name, std::int64_t c_in, std::int64_t c_out) {
        norm(name + ".residual.0", c_in);
        conv3d(name + ".residual.2", c_in, c_out, 3);
        norm(name + ".residual.3", c_out);
        conv3d(name + ".residual.6", c_out, c_out, 3);
        if (c_in != c_out) conv3d(name + ".shortcut", c_in, c_out, 1);
    }

    void attention(const std::string& name, std::int64_t channels) {
        add(name + ".norm.gamma", {channels, 1, 1});  // per frame: one axis fewer than elsewhere
        conv(name + ".to_qkv", {3 * channels, channels, 1, 1});
        conv(name + ".proj", {channels, channels, 1, 1});
    }

    void upsample(const std::string& name, std::int64_t channels, bool in_time) {
        conv(name + ".resample.1", {channels / 2, channels, 3, 3});
        if (in_time) conv(name + ".time_conv", {2 * channels, channels, 3, 1, 1});
    }

    std::vector<Parameter> take() { return std::move(parameters_); }

  private:
    void add(std::string name, tensor::Shape shape) { parameters_.push_back({std::move(name), std::move(shape)}); }

    std::vector<Parameter> parameters_;
};

}  // namespace

std::vector<Parameter> wan21_parameters(std::int64_t dim, std::int64_t z_dim) {
    ParameterList list;
    for (const Layer& layer : wan21_layers(dim, z_dim)) {
        switch (layer.op) {
            case LayerOp::PointwiseConv:
                list.conv3d(layer.key, layer.c_in, layer.c_out, 1);
                break;
            case LayerOp::CausalConv:
                list.conv3d(layer.key, layer.c_in, layer.c_out, 3);
                break;
            case LayerOp::Residual:
                list.residual_block(layer.key, layer.c_in, layer.c_out);
                break;
            case LayerOp::Attention:
                list.attention(layer.key, layer.c_in);
                break;
            case LayerOp::Upsample2d:
                list.upsample(layer.key, layer.c_in, false);
                break;
            case LayerOp::Upsample3d:
                list.upsample(layer.key, layer.c_in, true);
                break;
            case LayerOp::Head:
                list.norm(layer.key + ".0", layer.c_in);
                list.conv3d(layer.key + ".2", layer.c_in, layer.c_out, 3);
                break;
        }
    }
    return list.take();
}

}  // namespace kinetograph::vae
