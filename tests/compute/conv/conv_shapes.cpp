#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
    }
    template <class T>
    T one_of(std::initializer_list<T> choices) {
        return choices.begin()[between(0, static_cast<std::int64_t>(choices.size()) - 1)];
    }
    bool chance(int percent) { return between(1, 100) <= percent; }

  private:
    std::mt19937_64 random_;
};

ConvProblem roll_problem(Dice& dice) {
    ConvProblem p;
    p.input = p.weight = p.output = p.normed = DType::F32;
    p.n = dice.one_of<std::int64_t>({1, 1, 1, 2});
    p.filter.q = dice.one_of<std::int64_t>({1, 1, 2, 3, 3, 3});
    p.filter.r = dice.one_of<std::int64_t>({1, 1, 3, 3, 3, 5, 7});
    p.filter.s = dice.one_of<std::int64_t>({1, 1, 3, 3, 3, 5, 7});
    p.d = dice.between(1, 6);
    p.h = dice.between(1, 14);
    p.w = dice.between(1, 19);
    p.c_in = dice.one_of<std::int64_t>({1, 2, 3, 8, 16, 16, 17, 32, 32, 64, 96, 100});
    p.filter.k = dice.one_of<std::int64_t>({1, 3, 3, 4, 5, 16, 20, 32, 32, 48, 64, 96});
    if (dice.chance(20)) {
        p.groups = dice.one_of<std::int64_t>({2, 3, 4, 8});
        p.c_in = p.groups * dice.one_of<std::int64_t>({1, 3, 8, 16});
        p.filter.k = p.groups * dice.one_of<std::int64_t>({1, 2, 8, 16});
    }
    if (dice.chance(30)) p.stride = {dice.between(1, 2), dice.between(1, 2), dice.between(1, 2)};
    if (dice.chance(25)) p.dilation = {dice.between(1, 2), dice.between(1, 2), dice.between(1, 2)};
    if (dice.chance(75)) {
        p.pad = {dice.between(0, 2),
                 dice.between(0, 1),
                 dice.between(0, p.filter.r / 2),
                 dice.between(0, p.filter.r / 2),
                 dice.between(0, p.filter.s / 2),
                 dice.between(0, p.filter.s / 2)};
    }
    p.bias = dice.chance(70);
    p.residual = dice.chance(50);
    p.beta = dice.one_of({1.0F, 1.0F, 0.5F, -0.75F, 0.0F});
    p.activation =
        dice.one_of({Activation::None, Activation::None, Activation::Silu, Activation::Silu, Activation::Relu});
    if (p.activation == Activation::Relu && p.bias) p.negative_slope = 0.2F;
    p.norm = dice.one_of({Norm::None, Norm::None, Norm::Beside, Norm::Instead});
    p.norm_activation = dice.chance(70) ? Activation::Silu : Activation::None;
    return p;
}

}  // namespace

std::vector<ConvShape> awkward_shapes(std::uint64_t seed, int count) {
    Dice dice(seed);
    std::vector<ConvShape> shapes;
    while (shapes.size() < static_cast<std::size_t>(count)) {
        ConvShape shape;
        shape.problem = roll_problem(dice);
        if (!validate(shape.problem)) continue;
        shape.input = dice.one_of({FrameLayout::Dense, FrameLayout::Ring, FrameLayout::Ring, FrameLayout::Scattered});
        shape.seam = shape.input == FrameLayout::Ring ? dice.between(0, shape.problem.d - 1) : 0;
        shape.output =
            dice.one_of({FrameLayout::Dense, FrameLayout::EveryOther, FrameLayout::Ring, FrameLayout::Scattered});
        shapes.push_back(shape);
    }
    return shapes;
}

std::vector<ConvShape> ring_shapes() {
    ConvProblem p;
    p.d = 6;
    p.h = 7;
    p.w = 9;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = p.weight = p.output = p.normed = DType::F32;
    p.residual = true;
    p.activation = Activation::Silu;
    std::vector<ConvShape> shapes;
    for (std::int64_t seam = 0; seam < p.d; ++seam) {
        p.norm = seam % 2 == 0 ? Norm::Beside : Norm::Instead;
        shapes.push_back({p, FrameLayout::Ring, seam, FrameLayout::Dense});
    }
    return shapes;
}

std::vector<ConvShape> doubled(std::vector<ConvShape> shapes) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        ConvProblem& p = shapes[i].problem;
        p.upsample = true;
        p.groups = 1;
        if (p.filter.k < 16) p.norm = Norm::None;  // of one channel it is a sign, which a rounding of the filter turns
        if (i % 2 != 0) continue;
        p.filter.r = p.filter.s = 3;
        p.stride.h = p.stride.w = p.dilation.h = p.dilation.w = 1;
        p.pad.top = p.pad.bottom = p.pad.left = p.pad.right = 1;
    }
    return shapes;
}

ConvProblem wan21_layer() {
    ConvProblem p;
    p.d = 6;
    p.h = 352;
    p.w = 640;
    p.c_in = 192;
    p.filter = {192, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    return p;
}

std::vector<NamedProblem> decoder_problems(std::int64_t dim, std::int64_t height, std::int64_t width, DType dtype) {
    std::vector<NamedProblem> problems;
    const auto add = [&](std::string name, std::int64_t scale, std::int64_t frames, std::int64_t c_in, Filter filter,
                         bool residual) {
        ConvProblem p;
        p.d = frames + filter.q - 1;
        p.h = height / scale;
        p.w = width / scale;
        p.c_in = c_in;
        p.filter = filter;
        p.pad = {0, 0, filter.r / 2, filter.r / 2, filter.s / 2, filter.s / 2};
        p.input = p.weight = dtype;
        p.output = p.normed = filter.k == 3 ? DType::F32 : dtype;
        p.residual = residual;
        problems.push_back({std::move(name), p});
    };
    add("middle.residual", 8, 1, 4 * dim, {4 * dim, 3, 3, 3}, true);
    add("middle.to_qkv", 8, 1, 4 * dim, {12 * dim, 1, 1, 1}, false);
    add("upsamples.3.time_conv", 8, 1, 4 * dim, {8 * dim, 3, 1, 1}, false);
    add("upsamples.3.resample", 4, 2, 4 * dim, {2 * dim, 1, 3, 3}, false);
    add("upsamples.5.residual", 4, 2, 4 * dim, {4 * dim, 3, 3, 3}, true);
    add("upsamples.7.resample", 2, 4, 4 * dim, {2 * dim, 1, 3, 3}, false);
    add("upsamples.8.residual", 2, 4, 2 * dim, {2 * dim, 3, 3, 3}, true);
    add("upsamples.11.resample", 1, 4, 2 * dim, {dim, 1, 3, 3}, false);
    add("upsamples.12.residual", 1, 4, dim, {dim, 3, 3, 3}, true);
    add("head.2", 1, 4, dim, {3, 3, 3, 3}, false);
    return problems;
}

}  // namespace kinetograph::conv
