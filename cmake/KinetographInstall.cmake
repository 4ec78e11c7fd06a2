# What `cmake --install` installs: libraries, public headers, package files, the program, the assets.
include(CMakePackageConfigHelpers)
set(KINETOGRAPH_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/kinetograph")

get_property(libraries GLOBAL PROPERTY KINETOGRAPH_LIBRARIES)
# A sample. The libraries of kernels/ are installed because compute/ may link them; their headers are not.
list(REMOVE_ITEM libraries kinetograph_viewer)
install(TARGETS ${libraries} EXPORT kinetographTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT kinetographTargets NAMESPACE kinetograph:: DESTINATION "${KINETOGRAPH_PACKAGE_DIR}")

# The installed tree mirrors the source tree, so <kinetograph/engine/graph/plan.hpp> means the same in both. Headers
# about kernels are not installed: dispatch, plans, their back ends, and tensor maps. The convolution's vocabulary is
# public.
install(FILES kernels/isa/host_device.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/kinetograph/kernels/isa" COMPONENT headers)
install(FILES kernels/conv/element.hpp kernels/conv/problem.hpp kernels/conv/tensors.hpp
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/kinetograph/kernels/conv" COMPONENT headers)
install(DIRECTORY engine compute DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/kinetograph" COMPONENT headers
        FILES_MATCHING PATTERN "*.hpp" REGEX "/compute/[a-z]+/(cuda|hip)" EXCLUDE PATTERN "tensor_map.hpp" EXCLUDE
        PATTERN "dispatch.hpp" EXCLUDE PATTERN "known_devices.hpp" EXCLUDE PATTERN "planned.hpp" EXCLUDE)

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
