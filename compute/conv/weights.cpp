#include <kinetograph/compute/conv/weights.hpp>
#include <kinetograph/engine/accel/upload.hpp>

#include <cassert>

namespace kinetograph::conv {
namespace {

/// Null for no values.
Result<std::unique_ptr<accel::Memory>> upload_channels(accel::Device& device, std::string_view name,
                                                       std::span<const float> values) {
    if (values.empty()) return nullptr;
    return accel::upload(device, name, std::as_bytes(values));
}

const float* floats(const std::unique_ptr<accel::Memory>& memory) {
    return memory == nullptr ? nullptr : reinterpret_cast<const float*>(memory->data());
}

}  // namespace

Weights::Weights(HostParameters parameters) : load_([parameters = std::move(parameters)] { return parameters; }) {}

Weights::Weights(const DeviceFilter& filter, HostParameters rest) : Weights(std::move(rest)) { on_device_ = filter; }

HostParameters Weights::load() {
    ++packings_;
    return load_();
}

ParameterAddresses DeviceParameters::addresses() const {
    return {filter->data(), floats(bias), floats(gamma), floats(scales), floats(folds)};
}

Result<DeviceParameters> DeviceParameters::upload(accel::Device& device, const PackedParameters& packed) {
    KG_TRY(DeviceParameters made, upload_rest(device, packed));
    KG_TRY(made.filter, accel::upload(device, "filter", packed.filter));
    return made;
}

Result<DeviceParameters> DeviceParameters::upload_rest(accel::Device& device, const PackedParameters& packed) {
    DeviceParameters made;
    KG_TRY(made.bias, upload_channels(device, "bias", packed.bias));
    KG_TRY(made.gamma, upload_channels(device, "gamma", packed.gamma));
    KG_TRY(made.scales, upload_channels(device, "scales", packed.scales));
    KG_TRY(made.folds, upload_channels(device, "folds", packed.folds));
    return made;
}

}  // namespace kinetograph::conv
