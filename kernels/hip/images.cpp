#include <kinetograph/kernels/hip/code_objects.hpp>
#include <kinetograph/kernels/hip/images.hpp>

namespace kinetograph::hip {

conv::Images images() {
    return {.format = "code object",
            .count = [] { return code_objects().size(); },
            .find = code_object,
            .compiler = code_object_compiler};
}

}  // namespace kinetograph::hip
