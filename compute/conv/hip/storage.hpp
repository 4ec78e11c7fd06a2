// Element types as the gfx950 kernels name them.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/storage.hpp>

namespace kinetograph::conv::hip {

/// F32, BF16 or F16. Errors: InvalidArgument, naming the pass and the type.
inline Result<gfx950::Storage> storage_of(tensor::DType dtype, std::string_view pass_name) {
    if (dtype == tensor::DType::F32) return gfx950::Storage::F32;
    if (dtype == tensor::DType::BF16) return gfx950::Storage::Bf16;
    if (dtype == tensor::DType::F16) return gfx950::Storage::F16;
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": frames of {}, wanted F32, BF16 or F16", pass_name,
                tensor::to_string(dtype));
}

}  // namespace kinetograph::conv::hip
