// oneDNN primitives that convolve one output frame, by the run of temporal taps they cover and their part in a sum.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/onednn/tap_filters.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>
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
    Taps taps;
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
    explicit TapPrimitives(const ConvProblem& problem) : problem_(problem) {}

    /// Whether the library has an implementation for output frames whose taps all meet adjoining frames. Errors:
    /// Unsupported, with oneDNN's message.
    Result<void> check() const;
    /// Before get(): the filter, whose problem has the same taps, channels and dtype.
    void take(std::shared_ptr<TapFilters> filters) { filters_ = std::move(filters); }
    /// Errors: Unsupported, with oneDNN's message, if the library has no implementation; those of TapFilters::packed.
    Result<const TapPrimitive*> get(const TapKey& key);
    /// Whether outputs stay in the float32 scratch frame until a loop adds the residual and rounds. The library's (2.6)
    /// post-ops can add a residual, but with wrong factors (two linear ones share the first's factor, scalar products
    /// of jit_bf16_1x1 are misread).
    bool finished_by_loop() const { return problem_.residual && problem_.beta != 0 && problem_.beta != 1; }
    const dnnl::engine& engine() const { return engine_; }
    const dnnl::memory& bias() const { return filters_->bias(); }
    const ConvProblem& problem() const { return problem_; }

  private:
    struct Described;
    Described describe(const TapKey& key) const;
    Result<TapPrimitive> make(const TapKey& key) KG_REQUIRES(mutex_);

    ConvProblem problem_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    std::shared_ptr<TapFilters> filters_;
    Mutex mutex_;
    std::map<TapKey, TapPrimitive> primitives_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::conv::onednn
