#include "random_case.hpp"

#include <random>

namespace kinetograph::sm80 {
namespace {

class Draw {
  public:
    explicit Draw(uint32_t seed) : dice_(seed * 7919) {}

    template <class T>
    T pick(const std::vector<T>& values) {
        return values[dice_() % values.size()];
    }
    int64_t pick(std::initializer_list<int64_t> values) { return pick(std::vector<int64_t>(values)); }
    bool chance(uint32_t one_in) { return dice_() % one_in == 0; }

  private:
    std::mt19937 dice_;
};

}  // namespace

ConvCase random_case(uint32_t seed, const RandomRange& range) {
    Draw draw(seed);
    ConvCase conv;
    conv.seed = seed;
    ConvProblem& p = conv.shape;
    p.n = draw.pick({1, 1, 1, 2});
    p.filter.q = draw.pick({1, 1, 2, 3});
    p.d = draw.pick({1, 2, 3, 5});
    p.h = draw.pick(range.h);
    p.w = draw.pick(range.w);
    p.c_in = draw.pick(range.c_in);
    p.filter.k = draw.pick(range.k);
    if (draw.chance(5)) {
        p.upsample = true;
        p.filter.r = p.filter.s = 3;
        p.pad = {0, 0, 1, 1, 1, 1};
    } else {
        const auto [r, s] = draw.pick(range.taps);
        p.filter.r = r;
        p.filter.s = s;
        p.pad = {0,
                 draw.pick({0, 0, 1}),
                 draw.pick({0, 1, 2}),
                 draw.pick({0, 1, 2}),
                 draw.pick({0, 1, 3}),
                 draw.pick({0, 1, 3})};
        if (range.steps) {
            p.upsample = draw.chance(5);
            p.stride = {draw.pick({1, 1, 2}), draw.pick({1, 1, 1, 2, 3}), draw.pick({1, 1, 1, 2, 3})};
            p.dilation = {draw.pick({1, 1, 2}), draw.pick({1, 1, 2}), draw.pick({1, 1, 3})};
        }
    }
    p.pad.front = draw.pick({0, 1, (p.filter.q - 1) * p.dilation.d});
    conv.numbers = draw.pick<Numbers>({Numbers::Random, Numbers::Integers, Numbers::Coded});
    conv.bias = !draw.chance(4);
    conv.residual = draw.chance(3);
    conv.epilogue.silu = draw.chance(3);
    conv.epilogue.relu = !conv.epilogue.silu && draw.chance(3);
    conv.epilogue.negative_slope = conv.bias ? 0.2f : 0.0f;
    conv.epilogue.beta = draw.chance(2) ? 1.0f : 2.0f;
    if (draw.chance(3)) conv.epilogue.norm = draw.chance(2) ? Norm::Beside : Norm::Instead;
    conv.epilogue.norm_silu = draw.chance(2);
    if (range.types) {
        p.input = p.weight = draw.chance(4) ? Element::F16 : Element::BF16;
        conv.epilogue.float32 = draw.chance(5);
        conv.addend = draw.chance(6);
    }
    return conv;
}

ConvCase random_case_in_time(uint32_t seed, const RandomRange& range, uint32_t frames) {
    ConvCase conv = random_case(seed, range);
    ConvProblem& p = conv.shape;
    p.filter.q = 3;
    p.upsample = false;
    p.d = 2 + seed % frames;
    p.pad.front = seed / 5 % 3;
    return conv;
}

}  // namespace kinetograph::sm80
