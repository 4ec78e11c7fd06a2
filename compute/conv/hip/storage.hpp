// The element types of frames that the gfx950 passes accept.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/element.hpp>

namespace kinetograph::conv::hip {

/// F32, BF16 or F16. Errors: InvalidArgument, naming the pass and the type.
inline Result<Element> storage_of(Element dtype, std::string_view pass_name) {
    if (dtype == Element::F32 || dtype == Element::BF16 || dtype == Element::F16) return dtype;
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": frames of {}, wanted F32, BF16 or F16", pass_name,
                tensor::to_string(dtype));
}

}  // namespace kinetograph::conv::hip
