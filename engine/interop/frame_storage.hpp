// FrameStorage: where finished frames are.
#pragma once

#include <cstdint>

namespace kinetograph::interop {

/// Where a ring's frames are.
enum class FrameStorage : std::uint8_t {
    Image,   ///< images of the Vulkan device, written by passes on Vulkan lanes
    Buffer,  ///< buffers that accelerator and Vulkan both see, written by passes on either
    Host,    ///< host memory that the accelerator writes in place
};

}  // namespace kinetograph::interop
