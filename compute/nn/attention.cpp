#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/conv/onednn/library.hpp>
#include <kinetograph/compute/nn/cpu_operators.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

namespace kinetograph::nn {
namespace {

using conv::AttentionProblem;
using Type = dnnl::memory::data_type;

constexpr std::int64_t kMaxQueries = 256;         // of one block
constexpr std::int64_t kScoreElements = 4 << 20;  // of one block: 16 MiB of float32

/// exp(row - max of the row) in place, or as bf16 into `packed`; returns the sum of what was stored.
template <class T>
[[gnu::always_inline]] inline float exponentials(const float* row, T* out, std::int64_t count) {
    float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, row[i]);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = conv::fast_exp(row[i] - largest);
        if constexpr (std::is_same_v<T, float>) {
            out[i] = value;
            sum += value;
        } else {
            out[i] = tensor::to_bf16(value);
            sum += tensor::from_bf16(out[i]);  // what the product will see, so that the weights sum to one
        }
    }
    return sum;
}

constexpr conv::CpuClones<exponentials<float>> exponentials_f32;
constexpr conv::CpuClones<exponentials<std::uint16_t>> exponentials_bf16;

[[gnu::always_inline]] inline void scale_f32_loop(const float* row, float factor, float* out, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = row[i] * factor;
}
[[gnu::always_inline]] inline void scale_bf16_loop(const float* row, float factor, std::uint16_t* out,
                                                   std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = tensor::to_bf16(row[i] * factor);
}
constexpr conv::CpuClones<scale_f32_loop> scale_f32;
constexpr conv::CpuClones<scale_bf16_loop> scale_bf16;

/// Whether products of bf16 are instructions, which oneDNN generates; it emulates them with AVX-512 alone.
bool multiplies_bf16(const conv::Chip& chip) {
    return chip.features.find("avx512_bf16") != std::string::npos && conv::onednn::generates_avx512();
}

/// The two products of a block of `queries` queries.
struct BlockProducts {
    std::int64_t queries = 0;
    dnnl::matmul scores, values;
    dnnl::memory::desc query, key, score, weight, value, sum;
};

/// The computation, which enqueued work shares with the plan.
class QueryBlocks {
  public:
    QueryBlocks(const AttentionProblem& problem, bool bf16_products)
        : problem_(problem),
          products_(problem.input.element == Element::BF16 && bf16_products ? Type::bf16 : Type::f32),
          block_(std::clamp<std::int64_t>(kScoreElements / problem.tokens, 16, kMaxQueries)) {
        block_ = std::min(block_, problem.tokens);
        full_ = make_products(block_);
        if (problem.tokens % block_ != 0) last_ = make_products(problem.tokens % block_);
    }

    std::uint64_t workspace_bytes() const { return layout().bytes; }
    /// Returns what oneDNN failed with; "" if it did not.
    std::string run(const conv::OpTensors& tensors) const {
        std::byte* const workspace = tensors.workspace;
        try {
            dnnl::stream stream(engine_);
            for (std::size_t frame = 0; frame < tensors.input.size(); ++frame) {
                const std::byte* source = tensors.input[frame];
                if (widens()) {
                    auto* wide = reinterpret_cast<float*>(workspace + layout().widened);
                    conv::onednn::widen_frame(source, wide, problem_.tokens * 3 * problem_.channels);
                    source = workspace + layout().widened;
                }
                for (std::int64_t first = 0; first < problem_.tokens; first += block_) {
                    const bool full = problem_.tokens - first >= block_;
                    run_block(stream, full ? full_ : last_, source, tensors.output[frame], first, workspace);
                }
            }
        } catch (const dnnl::error& error) {
            return std::string("oneDNN failed: ") + error.what();
        }
        return "";
    }

  private:
    /// Byte offsets into the workspace.
    struct Layout {
        std::uint64_t scores = 0, weights = 0, sums = 0, inverse = 0, widened = 0, bytes = 0;
    };

    bool widens() const { return problem_.input.element == Element::BF16 && products_ == Type::f32; }

    Layout layout() const {
        Layout l;
        const auto take = [&](std::int64_t elements, std::uint64_t size) {
            const std::uint64_t at = l.bytes;
            l.bytes += (static_cast<std::uint64_t>(elements) * size + 63) / 64 * 64;
            return at;
        };
        l.scores = take(block_ * problem_.tokens, 4);  // [queries, tokens] float32
        l.weights = products_ == Type::bf16 ? take(block_ * problem_.tokens, 2) : l.scores;
        l.sums = take(block_ * problem_.channels, 4);                                 // [queries, channels] float32
        l.inverse = take(block_, 4);                                                  // [queries] float32
        l.widened = widens() ? take(problem_.tokens * 3 * problem_.channels, 4) : 0;  // qkv in float32
        return l;
    }

    BlockProducts make_products(std::int64_t queries) const {
        using Desc = dnnl::memory::desc;
        const std::int64_t tokens = problem_.tokens, channels = problem_.channels, pitch = 3 * channels;
        BlockProducts p;
        p.queries = queries;
        p.query = Desc({queries, channels}, products_, {pitch, 1});
        p.key = Desc({channels, tokens}, products_, {1, pitch});
        p.score = Desc({queries, tokens}, Type::f32, {tokens, 1});
        p.weight = Desc({queries, tokens}, products_, {tokens, 1});
        p.value = Desc({tokens, channels}, products_, {pitch, 1});
        p.sum = Desc({queries, channels}, Type::f32, {channels, 1});
        dnnl::primitive_attr scaled;
        scaled.set_output_scales(0, {1 / std::sqrt(static_cast<float>(channels))});
        p.scores = dnnl::matmul({{p.query, p.key, p.score}, scaled, engine_});
        p.values = dnnl::matmul({{p.weight, p.value, p.sum}, engine_});
        return p;
    }

    void run_block(dnnl::stream& stream, const BlockProducts& p, const std::byte* qkv, std::byte* output,
                   std::int64_t first, std::byte* workspace) const {
        const Layout l = layout();
        const std::int64_t element = products_ == Type::bf16 ? 2 : 4, channels = problem_.channels;
        const auto part = [&](std::int64_t offset) { return const_cast<std::byte*>(qkv) + offset * element; };
        const auto bind = [&](const dnnl::memory::desc& desc, void* at) { return dnnl::memory(desc, engine_, at); };

        p.scores.execute(stream, {{DNNL_ARG_SRC, bind(p.query, part(first * 3 * channels))},
                                  {DNNL_ARG_WEIGHTS, bind(p.key, part(channels))},
                                  {DNNL_ARG_DST, bind(p.score, workspace + l.scores)}});
        stream.wait();
        softmax(p.queries, workspace);
        p.values.execute(stream, {{DNNL_ARG_SRC, bind(p.weight, workspace + l.weights)},
                                  {DNNL_ARG_WEIGHTS, bind(p.value, part(2 * channels))},
                                  {DNNL_ARG_DST, bind(p.sum, workspace + l.sums)}});
        stream.wait();
        store(p.queries, output, first, workspace);
    }

    /// Turns scores into weights that are not yet divided by their sum; store() multiplies by the inverse of the sum.
    void softmax(std::int64_t queries, std::byte* workspace) const {
        const Layout l = layout();
        const auto* scores = reinterpret_cast<const float*>(workspace + l.scores);
        auto* inverse = reinterpret_cast<float*>(workspace + l.inverse);
        const std::int64_t tokens = problem_.tokens;
        for_tasks(queries, [&](std::int64_t row, int) {
            const float sum =
                products_ == Type::bf16
                    ? exponentials_bf16(scores + row * tokens,
                                        reinterpret_cast<std::uint16_t*>(workspace + l.weights) + row * tokens, tokens)
                    : exponentials_f32(scores + row * tokens,
                                       reinterpret_cast<float*>(workspace + l.weights) + row * tokens, tokens);
            inverse[row] = 1 / sum;
        });
    }

    void store(std::int64_t queries, std::byte* output, std::int64_t first, const std::byte* workspace) const {
        const Layout l = layout();
        const auto* sums = reinterpret_cast<const float*>(workspace + l.sums);
        const auto* inverse = reinterpret_cast<const float*>(workspace + l.inverse);
        const std::int64_t channels = problem_.channels;
        for (std::int64_t row = 0; row < queries; ++row) {
            const std::int64_t to = (first + row) * channels;
            if (problem_.input.element == Element::F32) {
                scale_f32(sums + row * channels, inverse[row], reinterpret_cast<float*>(output) + to, channels);
            } else {
                scale_bf16(sums + row * channels, inverse[row], reinterpret_cast<std::uint16_t*>(output) + to,
                           channels);
            }
        }
    }

    AttentionProblem problem_;
    Type products_;
    std::int64_t block_;  ///< queries of a block
    dnnl::engine engine_ = conv::onednn::cpu_engine();
    BlockProducts full_, last_;
};

conv::OpPlan plan(const AttentionProblem& problem, const conv::Chip& chip) {
    const auto steps_of = [](const auto& run) {
        return [run](const conv::OpTensors& tensors, const conv::EncodeMap&) {
            std::vector<conv::ConvStep> steps;
            steps.emplace_back(conv::HostWork([run, held = HeldTensors(tensors)] { return run(held.view()); }));
            return steps;
        };
    };
    try {
        const auto blocks = std::make_shared<const QueryBlocks>(problem, multiplies_bf16(chip));
        return {.workspace_bytes = blocks->workspace_bytes(),
                .steps = steps_of([blocks](const conv::OpTensors& tensors) { return blocks->run(tensors); })};
    } catch (const dnnl::error& error) {
        return {.steps = steps_of(
                    [why = std::string("oneDNN refused: ") + error.what()](const conv::OpTensors&) { return why; })};
    }
}

}  // namespace

conv::OpMethod attention_on_cpu() {
    return conv::OpMethodOf<AttentionProblem>{"onednn-cpu", is_cpu,
                                              kF32OrBf16<AttentionProblem, &AttentionProblem::input>, plan, false};
}

}  // namespace kinetograph::nn
