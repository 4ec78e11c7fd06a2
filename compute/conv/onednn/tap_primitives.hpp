// oneDNN primitives that convolve one output frame, by the run of temporal taps they cover and their part in a sum.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/onednn/library.hpp>
#include <kinetograph/compute/conv/onednn/tap_filters.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
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

/// Thread-safe. Primitives are made on first use and kept. After a ring's first few steps its seam has been in every
/// place, and nothing more is made.
class TapPrimitives {
  public:
    explicit TapPrimitives(const ConvProblem& problem) : problem_(problem) {}

    /// Whether the library has an implementation of that primitive. Errors: Unsupported, with oneDNN's message.
    Result<void> check(const TapKey& key) const;
    /// Announces TapFilters as `layout`, with the filters of `keys` in the layouts that their primitives want, which
    /// other problems of the same weights may want too; a key without an implementation adds none.
    void expect(Weights& weights, const std::string& layout, std::span<const TapKey> keys) const;
    /// Sets the filter, of a problem with the same taps, channels and dtype. Must be called before get().
    void take(std::shared_ptr<TapFilters> filters) { filters_ = std::move(filters); }
    /// Errors: Unsupported, with oneDNN's message, if the library has no implementation; those of TapFilters::packed.
    Result<const TapPrimitive*> get(const TapKey& key);
    /// Whether outputs stay in the float32 scratch frame until finish_frame() does all that follows the bias. The
    /// post-ops of oneDNN 2.6 can add a residual, but scale it wrongly: two linear post-ops share the first one's
    /// factor, and jit_bf16_1x1 misreads products with a scalar. Below AVX-512 they add no tensor: every tap is a
    /// primitive that adds to the scratch frame, and the loop does the rest.
    bool finished_by_loop() const {
        const bool adds_residual = problem_.residual && problem_.beta != 0;
        return (adds_residual && problem_.beta != 1) ||
               (!generates_avx512() && (adds_residual || problem_.filter.q > 1));
    }
    /// Whether every tap is a primitive of its own, wherever frames lie in memory: the order of the sum, and with it
    /// its bits, then do not depend on how a clip is cut into steps. True below AVX-512, where decoders use these
    /// primitives.
    static bool one_tap_at_a_time() { return !generates_avx512(); }
    const dnnl::engine& engine() const { return engine_; }
    const dnnl::memory& bias() const { return filters_->bias(); }
    const ConvProblem& problem() const { return problem_; }

  private:
    struct Described;
    Described describe(const TapKey& key) const;
    Result<TapPrimitive> make(const TapKey& key) KG_REQUIRES(mutex_);

    ConvProblem problem_;
    dnnl::engine engine_ = cpu_engine();
    std::shared_ptr<TapFilters> filters_;
    Mutex mutex_;
    std::map<TapKey, TapPrimitive> primitives_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::conv::onednn
