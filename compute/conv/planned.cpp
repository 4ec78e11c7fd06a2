#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/engine/accel/tensor_map.hpp>

#include <functional>
#include <utility>

namespace kinetograph::conv {
namespace {

accel::Extent3 extent(const std::array<std::uint32_t, 3>& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

/// Enqueues one step.
struct Enqueue {
    accel::Stream& stream;
    std::string_view pass_name;
    std::span<const std::shared_ptr<accel::Kernel>> loaded;

    void operator()(const ConvLaunch& launch) const {
        if (launch.empty()) return;  // an error to the driver
        stream.launch({pass_name,
                       *loaded[launch.kernel],
                       extent(launch.grid),
                       {launch.threads, 1, 1},
                       extent(launch.cluster),
                       launch.shared_bytes,
                       launch.arguments.span()});
    }
    void operator()(const ConvCopy& copy) const { stream.copy(copy.to, copy.from, copy.bytes); }
    void operator()(const HostWork& work) const {
        stream.enqueue(pass_name, [work]() -> Result<void> {
            const std::string wrong = work();
            return wrong.empty() ? Result<void>{} : fail(ErrorCode::Unsupported, "{}", wrong);
        });
    }
};

class PlannedConvolution final : public Convolution {
  public:
    PlannedConvolution(const ConvProblem& problem, ConvPlan plan, std::string_view method, accel::Device& device,
                       std::vector<std::shared_ptr<accel::Kernel>> loaded, Weights& weights)
        : Convolution(problem),
          plan_(std::move(plan)),
          method_(method),
          device_(device),
          loaded_(std::move(loaded)),
          weights_(&weights) {
        weights.expect(plan_.packing.layout,
                       static_cast<std::uint64_t>(problem.filter_elements()) * element_bytes(problem.input.element));
    }

    std::string_view backend() const override { return method_; }
    std::uint64_t workspace_bytes() const override { return plan_.workspace_bytes; }
    Result<void> pack() override {
        if (weights_ == nullptr) return {};
        KG_TRY(parameters_, weights_->packed<DeviceParameters>(plan_.packing.layout, [&](const ConvParameters& given) {
            if (const auto& filter = weights_->filter_on_device()) return pack_on_device(*filter, given);
            return DeviceParameters::upload(device_, plan_.packing.pack(given));
        }));
        weights_ = nullptr;
        return {};
    }

  private:
    /// Waits until the filter is packed.
    Result<DeviceParameters> pack_on_device(const DeviceFilter& filter, const ConvParameters& rest) const {
        KG_TRY(DeviceParameters made, DeviceParameters::upload_rest(device_, plan_.packing.pack(rest)));
        KG_TRY(made.filter, device_.allocate("filter", plan_.packed_filter_bytes));
        const FilterPackLaunch packing = plan_.pack_on_device(filter, made.filter->data());
        KG_TRY(const auto loaded, load(Kernels(device_), {&packing.kernel, 1}));
        KG_TRY(const auto stream, device_.create_stream("pack filter"));
        Enqueue{*stream, "pack filter", loaded}(packing.launch);
        KG_CHECK(stream->synchronize());
        return made;
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        ParameterAddresses parameters = parameters_->addresses();
        if (!problem().bias) parameters.bias = nullptr;  // uploaded for another convolution with these weights
        const auto steps = [&](const EncodeMap& encode) { return plan_.steps(tensors, parameters, encode); };
        return enqueue_steps(stream, pass_name, device_, loaded_, std::ref(steps));
    }

    ConvPlan plan_;
    std::string_view method_;
    accel::Device& device_;
    std::vector<std::shared_ptr<accel::Kernel>> loaded_;  ///< one for each of the plan's kernels
    Weights* weights_;                                    ///< null after pack()
    std::shared_ptr<const DeviceParameters> parameters_;  ///< set by pack()
};

}  // namespace

Result<std::vector<std::shared_ptr<accel::Kernel>>> load(const Kernels& kernels, std::span<const KernelName> names) {
    std::vector<std::shared_ptr<accel::Kernel>> loaded;
    for (const KernelName& name : names) {
        KG_TRY(auto kernel, kernels.get(name.image, name.kernel));
        loaded.push_back(std::move(kernel));
    }
    return loaded;
}

Result<void> enqueue_steps(accel::Stream& stream, std::string_view pass_name, const accel::Device& device,
                           std::span<const std::shared_ptr<accel::Kernel>> loaded,
                           const std::function<std::vector<ConvStep>(const EncodeMap&)>& steps) {
    accel::PassMaps encode(device, pass_name);
    const std::vector<ConvStep> made = steps(std::ref(encode));
    KG_CHECK(encode.result());
    for (const ConvStep& step : made) std::visit(Enqueue{stream, pass_name, loaded}, step);
    return {};
}

Result<std::unique_ptr<Convolution>> create_planned(accel::Device& device, const ConvProblem& problem, ConvPlan plan,
                                                    std::string_view method, Weights& weights) {
    KG_TRY(auto loaded, load(Kernels(device), plan.kernels));
    return std::make_unique<PlannedConvolution>(problem, std::move(plan), method, device, std::move(loaded), weights);
}

}  // namespace kinetograph::conv
