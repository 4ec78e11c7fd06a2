# What `cmake --install` installs: libraries, public headers, package files, the program, the assets.
include(CMakePackageConfigHelpers)
set(KINETOGRAPH_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/kinetograph")

get_property(libraries GLOBAL PROPERTY KINETOGRAPH_LIBRARIES)
# The viewer is only a sample. The libraries of kernels/ are installed: compute/ may link them. Their headers are not.
list(REMOVE_ITEM libraries kinetograph_viewer)
set(viewer_libraries "")
if(KINETOGRAPH_BUILD_VIEWER)  # the package's component of that name, which needs ImGui and GLFW
    set(viewer_libraries kinetograph_present kinetograph_ui)
    list(REMOVE_ITEM libraries ${viewer_libraries})
    install(TARGETS ${viewer_libraries} EXPORT kinetographViewerTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT kinetographViewerTargets NAMESPACE kinetograph:: DESTINATION "${KINETOGRAPH_PACKAGE_DIR}")
endif()
# The component `c`, which needs none of the others: kinetograph.h and the shared library.
install(TARGETS kinetograph_c EXPORT kinetographCTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT c NAMELINK_COMPONENT c)
install(FILES compute/session/c/kinetograph.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT c)
install(EXPORT kinetographCTargets NAMESPACE kinetograph:: DESTINATION "${KINETOGRAPH_PACKAGE_DIR}" COMPONENT c)
file(RELATIVE_PATH KINETOGRAPH_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")  # an installed tree can be moved
configure_file(compute/session/c/kinetograph.pc.in "${PROJECT_BINARY_DIR}/kinetograph.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/kinetograph.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT c)
# the Python package, which pyproject.toml describes: one file under the name that is loaded, and the demo's
if(SKBUILD)
    install(FILES "$<TARGET_FILE:kinetograph_c>" DESTINATION kinetograph RENAME libkinetograph.so.0 COMPONENT python)
    install(FILES assets/demo_tiny.safetensors assets/demo_vae.safetensors assets/orbit.safetensors
            DESTINATION kinetograph/assets COMPONENT python)
endif()
install(TARGETS ${libraries} EXPORT kinetographTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT kinetographTargets NAMESPACE kinetograph:: DESTINATION "${KINETOGRAPH_PACKAGE_DIR}")

# The installed tree mirrors the source tree, so <kinetograph/engine/graph/plan.hpp> means the same in both. Public
# headers are those named here and those that they include; no others are installed.
function(kinetograph_install_headers)
    set(open ${ARGN})
    set(public "")
    while(open)
        list(POP_FRONT open header)
        if(header IN_LIST public)
            continue()
        endif()
        list(APPEND public "${header}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${header}")
        file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" includes REGEX "^#include <kinetograph/[^>]+>")
        list(TRANSFORM includes REPLACE "^#include <kinetograph/([^>]+)>.*" "\\1")
        list(APPEND open ${includes})
    endwhile()
    foreach(header IN LISTS public)
        get_filename_component(folder "${header}" DIRECTORY)
        install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/kinetograph/${folder}" COMPONENT headers)
    endforeach()
endfunction()
kinetograph_install_headers(
    compute/live/live_feed.hpp
    compute/session/session.hpp
    compute/vae/clip.hpp
    compute/tensor/safetensors.hpp
    engine/accel/cpu/device.hpp
    engine/accel/cuda/device.hpp
    engine/accel/hip/device.hpp
    engine/accel/open.hpp
    engine/base/replacing_file.hpp
    engine/graph/host_lane.hpp
    engine/interop/shared_buffer.hpp
    engine/profile/report.hpp
    engine/profile/statistics.hpp
    engine/profile/trace.hpp)
if(KINETOGRAPH_HAS_VULKAN)
    kinetograph_install_headers(engine/accel/vulkan/device.hpp engine/vulkan/device.hpp engine/vulkan/graph_memory.hpp)
endif()
if(KINETOGRAPH_BUILD_VIEWER)
    kinetograph_install_headers(
        engine/present/offscreen.hpp
        engine/present/png.hpp
        engine/present/readback.hpp
        engine/present/swapchain.hpp
        engine/ui/compact_hud.hpp
        engine/ui/layer.hpp
        engine/ui/panels.hpp
        engine/ui/profiler_overlay.hpp)
endif()

# What the package's components say of this build.
set(KINETOGRAPH_HAS_CUDA FALSE)
if(KINETOGRAPH_CUDA_CHIPS)
    set(KINETOGRAPH_HAS_CUDA TRUE)
endif()
set(KINETOGRAPH_HAS_HIP FALSE)
if(KINETOGRAPH_GFX950_COMPILER)
    set(KINETOGRAPH_HAS_HIP TRUE)
endif()
configure_package_config_file(cmake/kinetographConfig.cmake.in "${PROJECT_BINARY_DIR}/kinetographConfig.cmake"
                              INSTALL_DESTINATION "${KINETOGRAPH_PACKAGE_DIR}" PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kinetographConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/kinetographConfig.cmake" "${PROJECT_BINARY_DIR}/kinetographConfigVersion.cmake"
        DESTINATION "${KINETOGRAPH_PACKAGE_DIR}")

if(TARGET kinetograph)
    install(TARGETS kinetograph RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/assets")
    install(DIRECTORY assets/ DESTINATION "${CMAKE_INSTALL_DATADIR}/kinetograph" FILES_MATCHING PATTERN "*.safetensors")
endif()
