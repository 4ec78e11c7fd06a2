#include <kinetograph/engine/accel/cuda/tensor_map.hpp>

#include <kinetograph/engine/accel/cuda/context.hpp>

#include <algorithm>

namespace kinetograph::accel::cuda {

namespace {

Result<void> encode(const Driver& driver, const isa::EncodeArguments& arguments, isa::MapMode mode, TensorMap& map) {
    const auto type = static_cast<TensorMapDataType>(arguments.data_type);
    const auto interleave = static_cast<TensorMapInterleave>(arguments.interleave);
    const auto swizzle = static_cast<TensorMapSwizzle>(arguments.swizzle);
    const auto promotion = static_cast<TensorMapL2Promotion>(arguments.l2_promotion);
    const auto out_of_bounds = static_cast<TensorMapOutOfBounds>(arguments.oob_fill);
    if (mode == isa::MapMode::Tiled)
        return driver.call(driver->cuTensorMapEncodeTiled, &map, type, arguments.rank, arguments.address,
                           arguments.size.data(), arguments.stride_bytes.data(), arguments.box.data(),
                           arguments.element_stride.data(), interleave, swizzle, promotion, out_of_bounds);
    return driver.call(driver->cuTensorMapEncodeIm2col, &map, type, arguments.rank, arguments.address,
                       arguments.size.data(), arguments.stride_bytes.data(), arguments.lower_corner.data(),
                       arguments.upper_corner.data(), arguments.channels_per_pixel, arguments.pixels_per_column,
                       arguments.element_stride.data(), interleave, swizzle, promotion, out_of_bounds);
}

/// Whether the driver sets kWrongMapBit in that map.
bool sets_wrong_bit(const Context& context, const isa::TensorMapDesc& desc) {
    constexpr int kRepaired = 13020;  // CUDA_VERSION
    const std::string& architecture = context.info().architecture;
    if (!architecture.starts_with("sm_10") && !architecture.starts_with("sm_12")) return false;
    int version = 0;
    return isa::spanned_bytes(desc) < kSmallTensorBytes &&
           context.cuda().cuDriverGetVersion(&version) == Status::Success && version < kRepaired;
}

}  // namespace

Result<isa::TensorMap> DriverEncoder::encode(std::string_view tensor, const isa::TensorMapDesc& desc) const {
    if (auto limit = isa::broken_limit(desc))
        return fail(ErrorCode::InvalidArgument, "tensor map of \"{}\": {}", tensor, *limit);
    const Current current(context_);  // the encode calls want one, although they only compute
    TensorMap encoded{};
    KG_CHECK_IN(fmt::format("tensor map of \"{}\"", tensor),
                cuda::encode(context_.driver(), isa::encode_arguments(desc), desc.mode, encoded));
    isa::TensorMap map{};
    std::ranges::copy(encoded.words, map.words);
    if (sets_wrong_bit(context_, desc)) map.words[1] &= ~kWrongMapBit;
    return map;
}

}  // namespace kinetograph::accel::cuda
