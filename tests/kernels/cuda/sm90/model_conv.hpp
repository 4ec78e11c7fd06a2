#pragma once

#include <deque>
#include <kinetograph/kernels/cuda/sm90/conv_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_plan.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>
#include <kinetograph/tests/kernels/cuda/sm80/model_conv.hpp>

/// Runs the convolutions on the host model under several schedules and checks each result.
namespace kinetograph::sm90 {

using conv::ConvLaunch;
using conv::ConvProblem;
using conv::Norm;
using host_model::kSchedules;
using sm80::ConvCase;
using sm80::ConvNumbers;
using sm80::Numbers;
using sm80::TensorAddresses;

/// A chip of `sms` SMs with the rates of an H200.
conv::Chip chip_of_sms(uint32_t sms);

/// A case's launches with their parameters packed and their maps made by the model; both live here.
class ModelConv {
  public:
    /// With one tile of ConvKernel.
    ModelConv(ConvNumbers& numbers, const ConvConfig& config, uint32_t sms = 3);
    ModelConv(const ConvNumbers& numbers, const ConvConfig& config, const TensorAddresses& addresses, uint32_t sms);
    /// With one tile of WinogradKernel.
    ModelConv(ConvNumbers& numbers, const WinogradConfig& config, uint32_t sms = 3);
    /// With NarrowConvKernel.
    ModelConv(ConvNumbers& numbers, const NarrowConfig& config, uint32_t sms = 3);

    /// With any kernel: `launches` makes the launches from the parameters' addresses.
    using MakeLaunches =
        std::function<std::vector<ConvLaunch>(const conv::ParameterAddresses&, const conv::EncodeMap&)>;
    ModelConv(const conv::PackedParameters& packed, const MakeLaunches& launches);

    /// Runs the kernel of that name, which is linked into this program; returns the fault that stopped the run, or "".
    std::string run(std::string_view kernel, uint64_t seed) const;
    /// The same for a kernel type.
    template <class Kernel, class Params>
    std::string run(uint64_t seed) const {
        for (const ConvLaunch& launch : launches_) {
            const auto params = launch.arguments.as<Params>();
            const auto outcome = host_model::run(model_launch(launch, seed), [&params] { Kernel::run(params); });
            if (outcome.fault) return *outcome.fault;
        }
        return "";
    }
    /// Each launch in turn; `thread` is what every thread of it runs.
    std::string run_each(uint64_t seed, const std::function<void(const ConvLaunch&)>& thread) const;
    size_t launches() const { return launches_.size(); }

  private:
    static host_model::Launch model_launch(const ConvLaunch& launch, uint64_t seed);
    conv::ParameterAddresses place(const conv::PackedParameters& packed);
    conv::EncodeMap encode();

    std::vector<ConvLaunch> launches_;
    std::vector<isa::TensorMap> filter_;  ///< this type for its alignment
    std::vector<float> bias_, gamma_;
    std::deque<isa::TensorMapDesc> maps_;
};

/// Agreement of the chosen tile, or of the one called `kernel`, with the fp64 reference under every schedule, or what
/// is wrong.
std::string tile_disagreement(const ConvCase& conv, std::string_view kernel = "", uint64_t schedules = kSchedules);

/// The same for WinogradKernel's tiles.
std::string winograd_disagreement(const ConvCase& conv, std::string_view kernel = "", uint64_t schedules = kSchedules);

/// With FrameWalkKernel.
ModelConv frame_walk(const ConvProblem& problem, const conv::ConvParameters& given, const TensorAddresses& addresses,
                     uint32_t sms = 3);
/// Runs it, by the problem's element.
std::string run_frame_walk(Element element, const ModelConv& walk, uint64_t seed);

/// The same for FrameWalkKernel or NarrowConvKernel, whichever takes the case.
std::string narrow_disagreement(const ConvCase& conv, uint64_t schedules = kSchedules);

/// A case run by q-slice-sm90, with the chosen tile or the one called `kernel`; its norm, if any, fits the tile.
class QSliceModel {
  public:
    explicit QSliceModel(const ConvCase& test, std::string_view kernel = "");
    /// Compares with the fp64 reference under every schedule; returns what is wrong, or "".
    std::string disagreement(uint64_t schedules = kSchedules);
    size_t launches() const { return model_.launches(); }

    /// The fault of one run of a kernel type, or what is wrong with its results; "" if nothing.
    template <class Kernel>
    std::string outcome(uint64_t seed) {
        const std::string wrong = model_.run<Kernel, SumConvParams>(seed);
        return wrong.empty() ? numbers_.judge() : wrong;
    }

  private:
    const NamedConvConfig* tile_;
    ConvNumbers numbers_;
    conv::ConvPlan plan_;
    std::vector<float> workspace_;
    ModelConv model_;
};

}  // namespace kinetograph::sm90
