#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>

#include <kinetograph/tests/kernels/cuda/sm90/model_conv.hpp>

/// Runs the halo convolution on the host model under several schedules and judges every one.
namespace kinetograph::sm100 {

using conv::ConvProblem;
using conv::Norm;
using host_model::kSchedules;
using sm80::ConvCase;
using sm80::ConvNumbers;
using sm80::Numbers;
using sm90::ModelConv;

/// SMs of the chip that tests assume: few, so that a cluster computes several tiles.
inline constexpr uint32_t kTestSms = 4;

/// The case's launches with the tile of `config`.
ModelConv halo_model(const ConvNumbers& numbers, const HaloConfig& config, const sm80::TensorAddresses& addresses,
                     uint32_t sms = kTestSms);

/// Agreement of the chosen tile, or of the one called `kernel`, with the fp64 reference under every schedule, or what
/// is wrong.
std::string halo_disagreement(const ConvCase& conv, std::string_view kernel = "", uint64_t schedules = kSchedules);

}  // namespace kinetograph::sm100
