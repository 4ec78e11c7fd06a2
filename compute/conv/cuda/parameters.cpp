#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/engine/accel/upload.hpp>

namespace kinetograph::conv::cuda {
namespace {

/// Null for no values.
Result<std::unique_ptr<accel::Memory>> upload_channels(accel::Device& device, std::string_view name,
                                                       std::span<const float> values) {
    if (values.empty()) return nullptr;
    return accel::upload(device, name, std::as_bytes(values));
}

}  // namespace

Result<DeviceParameters> upload_parameters(accel::Device& device, std::span<const std::byte> filter,
                                           const ConvParameters& parameters) {
    KG_TRY(auto packed, accel::upload(device, "filter", filter));
    KG_TRY(auto bias, upload_channels(device, "bias", parameters.bias));
    KG_TRY(auto gamma, upload_channels(device, "gamma", parameters.gamma));
    return DeviceParameters{std::move(packed), std::move(bias), std::move(gamma)};
}

}  // namespace kinetograph::conv::cuda
