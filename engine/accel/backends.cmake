# The back ends of accelerators: the CPU, then the others in the order in which `auto` tries them. A new one is its folder
# and its line. The folder's CMakeLists.txt defines the library accel_<folder>, its device.hpp declares
# accel::<folder>::backend() (backend.hpp).
set(KINETOGRAPH_BACKENDS
    engine/accel/cpu
    engine/accel/cuda
    engine/accel/hip)
if(KINETOGRAPH_HAS_VULKAN)
    list(APPEND KINETOGRAPH_BACKENDS engine/accel/vulkan)
endif()

# kinetograph_backend_table(TARGET folder ...): defines backends() of engine/accel/backend.hpp in TARGET as those folders.
function(kinetograph_backend_table target)
    set(includes "")
    set(rows "")
    foreach(folder IN LISTS ARGN)
        get_filename_component(name "${folder}" NAME)
        string(APPEND includes "#include <kinetograph/${folder}/device.hpp>\n")
        string(APPEND rows "        ${name}::backend(),\n")
        target_link_libraries(${target} PRIVATE kinetograph::accel_${name})
    endforeach()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_backends.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include <kinetograph/engine/accel/backend.hpp>
@includes@
namespace kinetograph::accel {

std::span<const Backend> backends() {
    static const Backend kBackends[] = {
@rows@    };
    return kBackends;
}

}  // namespace kinetograph::accel
]])
    set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION TRUE)
    target_sources(${target} PRIVATE "${source}")
endfunction()
