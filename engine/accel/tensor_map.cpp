#include <kinetograph/engine/accel/tensor_map.hpp>

namespace kinetograph::accel {

Result<isa::TensorMap> encode_tensor_map(const Device& device, std::string_view tensor,
                                         const isa::TensorMapDesc& desc) {
    if (const TensorMapEncoder* encoder = device.encoder()) return encoder->encode(tensor, desc);
    return fail(ErrorCode::Unsupported, "tensor map of \"{}\": {} ({}) has no tensor maps", tensor, device.info().name,
                device.info().features);
}

isa::TensorMap PassMaps::operator()(const isa::TensorMapDesc& desc) {
    auto map = encode_tensor_map(device_, pass_, desc);
    if (map) return *map;
    if (!error_) error_ = std::move(map.error());
    return {};
}

Result<void> PassMaps::result() const {
    if (error_) return fail(*error_);
    return {};
}

}  // namespace kinetograph::accel
