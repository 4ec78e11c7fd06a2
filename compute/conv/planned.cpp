#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/engine/accel/tensor_map.hpp>

#include <functional>
#include <utility>

namespace kinetograph::conv {
namespace {

accel::Extent3 extent(const std::array<std::uint32_t, 3>& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

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
                       static_cast<std::uint64_t>(problem.filter_elements()) * element_bytes(problem.dtype));
    }

    std::string_view backend() const override { return method_; }
    std::uint64_t workspace_bytes() const override { return plan_.workspace_bytes; }
    Result<void> pack() override {
        if (weights_ == nullptr) return {};
        KG_TRY(parameters_, weights_->packed<DeviceParameters>(plan_.packing.layout, [&](const ConvParameters& given) {
            return DeviceParameters::upload(device_, plan_.packing.pack(given));
        }));
        weights_ = nullptr;
        return {};
    }

  private:
    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        accel::PassMaps encode(device_, pass_name);
        ParameterAddresses parameters = parameters_->addresses();
        if (!problem().bias) parameters.bias = nullptr;  // uploaded for another convolution with these weights
        const std::vector<ConvStep> steps = plan_.steps(tensors, parameters, std::ref(encode));
        KG_CHECK(encode.result());
        for (const ConvStep& step : steps) {
            if (const auto* copy = std::get_if<ConvCopy>(&step)) {
                stream.copy(copy->to, copy->from, copy->bytes);
            } else {
                const auto& launch = std::get<ConvLaunch>(step);
                enqueue_launch(stream, pass_name, *loaded_[launch.kernel], launch);
            }
        }
        return {};
    }

    ConvPlan plan_;
    std::string_view method_;
    accel::Device& device_;
    std::vector<std::shared_ptr<accel::Kernel>> loaded_;  ///< one for each of the plan's kernels
    Weights* weights_;                                    ///< null after pack()
    std::shared_ptr<const DeviceParameters> parameters_;  ///< set by pack()
};

}  // namespace

void enqueue_launch(accel::Stream& stream, std::string_view pass_name, accel::Kernel& kernel,
                    const ConvLaunch& launch) {
    if (launch.empty()) return;  // a launch without CTAs is an error to the driver
    stream.launch({pass_name,
                   kernel,
                   extent(launch.grid),
                   {launch.threads, 1, 1},
                   extent(launch.cluster),
                   launch.shared_bytes,
                   launch.arguments.span()});
}

Result<std::unique_ptr<Convolution>> create_planned(accel::Device& device, const ConvProblem& problem, ConvPlan plan,
                                                    std::string_view method, Weights& weights) {
    const Kernels kernels(device);
    std::vector<std::shared_ptr<accel::Kernel>> loaded;
    for (const KernelName& name : plan.kernels) {
        KG_TRY(auto kernel, kernels.get(name.image, name.kernel));
        loaded.push_back(std::move(kernel));
    }
    return std::make_unique<PlannedConvolution>(problem, std::move(plan), method, device, std::move(loaded), weights);
}

}  // namespace kinetograph::conv
