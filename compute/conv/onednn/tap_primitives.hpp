// oneDNN primitives that convolve one output frame, by the run of temporal taps they cover and their part in a sum.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace kinetograph::conv::onednn {

/// One output frame is one primitive if the frames under its taps follow one another in memory. At a ring's seam it is
/// several: their float32 sums meet in a scratch frame, and only the last one rounds.
enum class Part : std::uint8_t {
    Whole,     ///< frames -> output: bias, activation, residual
    Begin,     ///< frames -> scratch
    Continue,  ///< frames + scratch -> scratch
    Finish,    ///< frames + scratch -> output: bias, activation, residual
};

struct TapKey {
    std::int64_t first = 0, count = 0;  ///< taps [first, first + count)
    Part part = Part::Whole;
    friend auto operator<=>(const TapKey&, const TapKey&) = default;
};

struct TapPrimitive {
    dnnl::convolution_forward primitive;
    dnnl::memory::desc source, destination;
    dnnl::memory weights;
    dnnl::memory::desc scratch;
    int scratch_argument = 0;   ///< argument of the post-op that reads the scratch frame; 0: none
    int residual_argument = 0;  ///< argument of the post-op that reads the residual frame; 0: none
};

/// Thread-safe. Primitives are made on first use and kept. A ring has met all its seams after its first few steps;
/// nothing is made after that.
class TapPrimitives {
  public:
    TapPrimitives(const ConvProblem& problem, const ConvParameters& parameters);

    /// Errors: Unsupported, with oneDNN's message, if the library has no implementation.
    Result<const TapPrimitive*> get(const TapKey& key);
    /// Whether outputs stay in the float32 scratch frame until a loop adds the residual and rounds. The library's (2.6)
    /// post-ops can add a residual, but with wrong factors (two linear ones share the first's factor, scalar products
    /// of jit_bf16_1x1 are misread).
    bool finished_by_loop() const { return problem_.residual && problem_.beta != 0 && problem_.beta != 1; }
    const dnnl::engine& engine() const { return engine_; }
    const dnnl::memory& bias() const { return bias_; }
    const ConvProblem& problem() const { return problem_; }

  private:
    TapPrimitive make(const TapKey& key);
    dnnl::memory packed_filter(const TapKey& key, const dnnl::memory::desc& wanted);

    ConvProblem problem_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::memory filter_;  ///< [groups][k][c][q][r][s] in the problem's dtype
    dnnl::memory bias_;    ///< empty without bias
    std::mutex mutex_;
    std::map<TapKey, TapPrimitive> primitives_;
    std::vector<std::pair<TapKey, dnnl::memory>> packed_;
};

}  // namespace kinetograph::conv::onednn
