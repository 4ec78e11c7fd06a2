// Weights: the parameters of one convolution, packed on a device once for every layout that its plans ask for.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace kinetograph::conv {

/// Owned, in host memory; empty where the problem has none.
struct HostParameters {
    std::vector<float> filter, bias, gamma, scales, folds{};
    ConvParameters view() const { return {filter, bias, gamma, scales, folds}; }
};

/// Shared by all convolutions of one layer, whatever their number of frames, with its bias or without. Used by one
/// thread at a time.
class Weights {
  public:
    /// `load` returns the parameters; it is called each time a new layout is packed.
    explicit Weights(std::function<HostParameters()> load) : load_(std::move(load)) {}
    explicit Weights(HostParameters parameters);
    /// Of a filter that is in the memory of the convolutions' device and stays there until it is packed; `rest` has the
    /// other parameters.
    Weights(const DeviceFilter& filter, HostParameters rest);

    /// The parameters in that layout: what `pack(const ConvParameters&)`, which returns a Result of Packed, made of
    /// them on the first call with that layout. Each layout has one type. Errors: those of `pack`.
    template <class Packed, class Pack>
    Result<std::shared_ptr<const Packed>> packed(const std::string& layout, const Pack& pack) {
        auto& entry = packed_[layout];
        if (entry == nullptr) {
            KG_TRY(auto made, pack(load().view()));
            entry = std::make_shared<const Packed>(std::move(made));
            expected_.erase(layout);
        }
        return std::static_pointer_cast<const Packed>(entry);
    }

    /// The parameters themselves, for back ends that pack into objects of their own.
    HostParameters load();
    const std::optional<DeviceFilter>& filter_on_device() const { return on_device_; }
    /// gamma and folds.
    HostParameters norm() const {
        HostParameters all = load_();
        return {{}, {}, std::move(all.gamma), {}, std::move(all.folds)};
    }
    /// Announces that packed() will be called with that layout, and that `part` of it takes about `bytes`. Convolutions
    /// that share a layout announce what each needs of it; a part that several need counts once.
    void expect(const std::string& layout, std::uint64_t bytes, const std::string& part = "") {
        if (!packed_.contains(layout)) expected_[layout][part] = bytes;
    }
    /// Of all parts announced of a layout; 0 once it is packed.
    std::uint64_t expected_bytes(const std::string& layout) const {
        const auto parts = expected_.find(layout);
        return parts == expected_.end() ? 0 : sum(parts->second);
    }
    /// Of all announced layouts; `allocated`: what an allocation of so many bytes takes.
    std::uint64_t expected_bytes(std::uint64_t (*allocated)(std::uint64_t bytes)) const {
        std::uint64_t bytes = 0;
        for (const auto& [layout, parts] : expected_) bytes += allocated(sum(parts));
        return bytes;
    }
    /// How many layouts have been packed, or are expected to be. Each loads the parameters once.
    int packings() const { return packings_ + static_cast<int>(expected_.size()); }

  private:
    using Parts = std::map<std::string, std::uint64_t>;
    static std::uint64_t sum(const Parts& parts) {
        std::uint64_t bytes = 0;
        for (const auto& [part, its_bytes] : parts) bytes += its_bytes;
        return bytes;
    }

    std::function<HostParameters()> load_;
    std::optional<DeviceFilter> on_device_;
    int packings_ = 0;
    std::map<std::string, std::shared_ptr<const void>> packed_;
    std::map<std::string, Parts> expected_;  ///< bytes of the layouts that are not packed yet
};

/// PackedParameters on a device; null where there are none.
struct DeviceParameters {
    std::unique_ptr<accel::Memory> filter, bias, gamma, scales, folds;
    ParameterAddresses addresses() const;

    /// Errors: those of accel::upload.
    static Result<DeviceParameters> upload(accel::Device& device, const PackedParameters& packed);
    /// The same without the filter.
    static Result<DeviceParameters> upload_rest(accel::Device& device, const PackedParameters& packed);
};

}  // namespace kinetograph::conv
