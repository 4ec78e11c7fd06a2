#pragma once

#include <cstddef>
#include <span>
#include <string_view>

/// The device code in this build: kernels/chips.cmake lists the folders that hold it.
namespace kinetograph::conv {

/// The images of one format, as a folder's images.hpp gives them by images().
struct Images {
    std::string_view format;  ///< "fat binary"; a device loads it if its back end's formats have it
    std::size_t (*count)();
    /// The image of that name for a device of that architecture; empty if this build has none.
    std::span<const std::byte> (*find)(std::string_view architecture, std::string_view name);
    std::string_view (*compiler)();  ///< or why there are no images
};

/// One row a folder.
std::span<const Images> images();

}  // namespace kinetograph::conv
