#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel {

Result<std::unique_ptr<Stream>> Device::adopt_stream(std::string_view name, void* /*stream*/) {
    return fail(ErrorCode::InvalidArgument, "adopting stream \"{}\": {} has no streams of a caller's", name,
                info().name);
}

std::string names(const Device& device) {
    std::string text = device.info().name;
    for (const auto& companion : device.companions()) text += " + " + companion->info().name;
    return text;
}

Result<void> Device::reach(Device& other) {
    return fail(ErrorCode::Unsupported, "{} does not reach the memory of {}", info().name, other.info().name);
}

}  // namespace kinetograph::accel
