#include <kinetograph/compute/vae/parameter_list.hpp>

#include <array>

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
    struct Stage {
        std::int64_t c_in, c_out;
        bool up, up_in_time;
    };
    // Every upsampling halves the width, so stages 1 to 3 start with half of what the one before ended with.
    const std::array<Stage, 4> stages = {{{4 * dim, 4 * dim, true, true},
                                          {2 * dim, 4 * dim, true, true},
                                          {2 * dim, 2 * dim, true, false},
                                          {dim, dim, false, false}}};
    ParameterList list;
    list.conv3d("conv2", z_dim, z_dim, 1);
    list.conv3d("decoder.conv1", z_dim, 4 * dim, 3);
    list.residual_block("decoder.middle.0", 4 * dim, 4 * dim);
    list.attention("decoder.middle.1", 4 * dim);
    list.residual_block("decoder.middle.2", 4 * dim, 4 * dim);
    int index = 0;
    const auto next = [&index] { return "decoder.upsamples." + std::to_string(index++); };
    for (const Stage& stage : stages) {
        list.residual_block(next(), stage.c_in, stage.c_out);
        list.residual_block(next(), stage.c_out, stage.c_out);
        list.residual_block(next(), stage.c_out, stage.c_out);
        if (stage.up) list.upsample(next(), stage.c_out, stage.up_in_time);
    }
    list.norm("decoder.head.0", dim);
    list.conv3d("decoder.head.2", dim, 3, 3);
    return list.take();
}

}  // namespace kinetograph::vae
