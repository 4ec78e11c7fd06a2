// The attention of sm_90 and of sm_100 on the host model.
#pragma once

#include <deque>
#include <kinetograph/kernels/cuda/sm90/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <kinetograph/tests/kernels/cuda/sm80/attention_numbers.hpp>

namespace kinetograph::sm90 {

/// Runs Kernel on the first `tiles` tiles of queries (0: all); returns what is wrong, or "".
template <class Kernel>
std::string attention_disagreement(Element element, const AttentionCta& cta, const sm80::AttentionCase& attention,
                                   uint64_t seed, uint32_t tiles) {
    sm80::AttentionNumbers numbers(attention, element);
    std::deque<isa::TensorMapDesc> maps;
    const auto encode = [&maps](const isa::TensorMapDesc& desc) {
        return host_model::model_map(maps.emplace_back(desc));
    };
    conv::AttentionProblem problem{attention.tokens, attention.channels, element, element, attention.adds};
    if (attention.adds) problem.norm_activation = conv::Activation::Silu;
    const auto qkv = numbers.qkv().const_addresses();
    const auto output = numbers.output().addresses(), normed = numbers.normed().addresses();
    const auto launches = attention_launches(problem, cta,
                                             {.input = qkv,
                                              .output = attention.adds ? normed : output,
                                              .sum = attention.adds ? output : std::vector<std::byte*>{},
                                              .parameters = numbers.gamma().data()},
                                             encode);
    uint32_t queries = attention.tokens;
    for (const conv::ConvLaunch& launch : launches) {
        const uint32_t grid = tiles == 0 ? launch.grid[0] : tiles;
        queries = std::min(queries, grid * kQueryTile);
        const auto params = launch.arguments.as<AttentionParams>();
        const auto outcome = host_model::run({.grid = {grid, launch.grid[1], launch.grid[2]},
                                              .threads = launch.threads,
                                              .shared_bytes = launch.shared_bytes,
                                              .seed = seed},
                                             [&params] { Kernel::run(params); });
        if (outcome.fault) return *outcome.fault;
    }
    return numbers.judge(queries);
}

}  // namespace kinetograph::sm90
