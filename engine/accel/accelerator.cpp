#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel {

Result<std::unique_ptr<Stream>> Device::adopt_stream(std::string_view name, void* /*stream*/) {
    return fail(ErrorCode::InvalidArgument, "adopting stream \"{}\": {} has no streams of a caller's", name,
                info().name);
}

}  // namespace kinetograph::accel
