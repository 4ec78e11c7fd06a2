# Kernels for AMD's chips: compiles .hip sources to code objects and embeds them in a library. Without a compiler
# everything else is built and the library has none; configuring reports it.
set(KINETOGRAPH_GFX950_CLANG "" CACHE FILEPATH
    "clang++ that compiles for gfx950; empty: the one tools/gfx950/toolchain finds")

execute_process(COMMAND ${CMAKE_COMMAND} -E env "KINETOGRAPH_GFX950_CLANG=${KINETOGRAPH_GFX950_CLANG}"
                        "${PROJECT_SOURCE_DIR}/tools/gfx950/toolchain" find
                OUTPUT_VARIABLE KINETOGRAPH_GFX950_COMPILER OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_VARIABLE gfx950_reason ERROR_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE gfx950_result)
if(gfx950_result EQUAL 0)
    execute_process(COMMAND "${KINETOGRAPH_GFX950_COMPILER}" --version OUTPUT_VARIABLE gfx950_version)
    string(REGEX MATCH "^[^\n]*" KINETOGRAPH_GFX950_COMPILER_VERSION "${gfx950_version}")
    # llvm-objdump and llvm-readelf of the same LLVM are beside the compiler itself, not beside a link to it.
    file(REAL_PATH "${KINETOGRAPH_GFX950_COMPILER}" gfx950_program)
    get_filename_component(KINETOGRAPH_GFX950_TOOLS "${gfx950_program}" DIRECTORY)
    message(STATUS "Code objects for gfx950: ${KINETOGRAPH_GFX950_COMPILER_VERSION} (${KINETOGRAPH_GFX950_COMPILER})")
else()
    set(KINETOGRAPH_GFX950_COMPILER "")
    set(KINETOGRAPH_GFX950_COMPILER_VERSION "")
    message(STATUS "Code objects for gfx950: OFF, ${gfx950_reason}")
    message(STATUS "Code objects for gfx950: `tools/gfx950/toolchain set-up` provides a compiler; then configure again")
endif()

# kinetograph_code_objects(OUTPUTS gfx950 a.hip b.hip ...): compiles each source (beside the CMakeLists.txt) for that
# chip to a linked code object gfx950/a.hsaco, again when a header it includes has changed. OUTPUTS becomes the list of
# files, empty without a compiler.
function(kinetograph_code_objects outputs chip)
    set(objects "")
    if(KINETOGRAPH_GFX950_COMPILER)
        set(folder "${CMAKE_CURRENT_BINARY_DIR}/${chip}")
        file(MAKE_DIRECTORY "${folder}")
        foreach(source IN LISTS ARGN)
            get_filename_component(name "${source}" NAME_WE)
            set(object "${folder}/${name}.hsaco")
            set(compile "${KINETOGRAPH_GFX950_COMPILER}" -x hip --offload-device-only --no-gpu-bundle-output
                        --offload-arch=${chip} -nogpuinc -nogpulib -std=c++20 -O3 -Wall -Wextra -Werror
                        -I "${KINETOGRAPH_INCLUDE_ROOT}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
            # A separate command writes the dependencies: -MF does not reach the device's compilation, and a hit of
            # ccache, which saves minutes in every further build folder, would not write the file.
            add_custom_command(OUTPUT "${object}"
                COMMAND ${compile} -E -o /dev/null -Xclang -dependency-file -Xclang "${object}.d" -Xclang -MT
                        -Xclang "${object}"
                COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${compile} -c -o "${object}"
                DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" "${KINETOGRAPH_GFX950_COMPILER}" DEPFILE "${object}.d"
                COMMENT "Compiling ${source} for ${chip}" VERBATIM)
            list(APPEND objects "${object}")
        endforeach()
    endif()
    set(${outputs} "${objects}" PARENT_SCOPE)
endfunction()

# kinetograph_embed_code_objects(TARGET a.hsaco ...): defines the functions of kernels/hip/code_objects.hpp in TARGET,
# with each file's bytes under its folder's name, the chip, and its own without its extension.
function(kinetograph_embed_code_objects target)
    set(bytes "")
    set(declarations "")
    set(rows "")
    foreach(object IN LISTS ARGN)
        get_filename_component(name "${object}" NAME_WE)
        get_filename_component(chip "${object}" DIRECTORY)
        get_filename_component(chip "${chip}" NAME)
        set(symbol kinetograph_${chip}_${name})
        string(APPEND bytes "    \".balign 64\\n\"\n    \"${symbol}:\\n\"\n    \".incbin \\\"${object}\\\"\\n\"\n"
                            "    \"${symbol}_end:\\n\"\n")
        string(APPEND declarations "extern const std::byte ${symbol}[], ${symbol}_end[];\n")
        string(APPEND rows "        {\"${chip}\", \"${name}\", {${symbol}, ${symbol}_end}},\n")
    endforeach()
    if(KINETOGRAPH_GFX950_COMPILER)
        set(provenance "${KINETOGRAPH_GFX950_COMPILER_VERSION}")
    else()
        set(provenance "built without a compiler for gfx950")
    endif()
    list(LENGTH ARGN count)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/code_objects.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include <array>

#include <kinetograph/kernels/hip/code_objects.hpp>

asm(".pushsection .rodata\n"
@bytes@    ".popsection\n");
extern "C" {
@declarations@}

namespace kinetograph::hip {

std::span<const CodeObject> code_objects() {
    static const std::array<CodeObject, @count@> objects{{
@rows@    }};
    return objects;
}

std::string_view code_object_compiler() { return "@provenance@"; }

}  // namespace kinetograph::hip
]])
    set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${ARGN}" SKIP_UNITY_BUILD_INCLUSION TRUE)
    target_sources(${target} PRIVATE "${source}")
endfunction()
