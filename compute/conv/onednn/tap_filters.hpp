// The filter of a layer in the layouts that oneDNN's primitives want, in the device's memory.
#pragma once

#include <kinetograph/compute/conv/weights.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

namespace kinetograph::conv::onednn {

/// Temporal taps [first, first + count) of a filter.
struct Taps {
    std::int64_t first = 0, count = 0;
    friend auto operator<=>(const Taps&, const Taps&) = default;
};

/// The dimensions of those taps as oneDNN counts them: 2-D for one tap, 3-D for several.
dnnl::memory::dims filter_dims(const ConvProblem& problem, const Taps& taps);
dnnl::memory::data_type type_of(tensor::DType dtype);

/// Thread-safe, and shared by the convolutions of a layer. A slice is some taps in one layout, packed on its first
/// request. After a ring's first few steps its seam has been in every place, and nothing more is packed.
class TapFilters {
  public:
    /// Makes one allocation, with room for what TapPrimitives::expect announced, `expected_bytes`. Errors: those of
    /// Device::allocate.
    static Result<std::shared_ptr<TapFilters>> create(accel::Device& device, const dnnl::engine& engine,
                                                      const ConvProblem& problem, const ConvParameters& parameters,
                                                      std::uint64_t expected_bytes);
    /// What create() allocates besides the slices.
    static std::uint64_t bytes(const ConvProblem& problem);
    /// Bytes from the start of a tensor to the start of the next one.
    static constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

    /// The taps in a layout, reordered once. Errors: those of Device::allocate.
    Result<dnnl::memory> packed(const Taps& taps, const dnnl::memory::desc& wanted);
    const dnnl::memory& bias() const { return bias_; }  ///< empty without bias

  private:
    struct Slice {
        Taps taps;
        dnnl::memory memory;
    };
    TapFilters(accel::Device& device, dnnl::engine engine, const ConvProblem& problem)
        : device_(device), engine_(std::move(engine)), problem_(problem) {}
    Result<void> fill(const ConvParameters& parameters, std::uint64_t expected_bytes) KG_EXCLUDES(mutex_);
    Result<dnnl::memory> allocate(std::string_view name, const dnnl::memory::desc& desc) KG_REQUIRES(mutex_);

    accel::Device& device_;
    dnnl::engine engine_;
    ConvProblem problem_;
    dnnl::memory bias_;
    Mutex mutex_;
    dnnl::memory filter_ KG_GUARDED_BY(mutex_);  ///< [groups][k][c][q][r][s] in the problem's dtype
    std::vector<Slice> slices_ KG_GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<accel::Memory>> memory_ KG_GUARDED_BY(mutex_);  ///< that all tensors lie in
    std::span<std::byte> unused_ KG_GUARDED_BY(mutex_);  ///< the free end of the first allocation
};

}  // namespace kinetograph::conv::onednn
