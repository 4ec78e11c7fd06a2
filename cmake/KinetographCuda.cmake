# Kernels for NVIDIA GPUs: compiles .cu sources to fat binaries (machine code for the listed architectures, PTX for all
# others) and embeds them in a library. Without nvcc everything else is built and the library has none; configuring
# reports it.
kinetograph_chip_folders(KINETOGRAPH_CUDA_ALL_CHIPS kernels/cuda)
list(TRANSFORM KINETOGRAPH_CUDA_ALL_CHIPS REPLACE "^sm" "")
list(APPEND KINETOGRAPH_CUDA_ALL_CHIPS 86 89 120)  # these run the kernels of sm80
list(SORT KINETOGRAPH_CUDA_ALL_CHIPS COMPARE NATURAL)
find_program(KINETOGRAPH_NVCC nvcc HINTS /usr/local/cuda/bin /opt/cuda/bin DOC "CUDA compiler; none: no fat binaries")

# Compiling for one architecture takes a minute on one core. The default, for development, is sm_80 with its PTX and
# this machine's GPUs; a release compiles all six, so that nothing is compiled at run time. Sanitizers do not see device
# code, so their builds have none.
if(KINETOGRAPH_SANITIZER)
    set(default_architectures "none")
else()
    set(default_architectures "80")
    find_program(KINETOGRAPH_NVIDIA_SMI nvidia-smi DOC "Names the GPUs of this machine")
    if(KINETOGRAPH_NVIDIA_SMI)
        execute_process(COMMAND "${KINETOGRAPH_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
                        OUTPUT_VARIABLE capabilities ERROR_QUIET)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
        list(TRANSFORM capabilities REPLACE "\\." "")
        foreach(chip IN LISTS capabilities)
            if(chip IN_LIST KINETOGRAPH_CUDA_ALL_CHIPS)
                list(APPEND default_architectures ${chip})
            endif()
        endforeach()
        list(REMOVE_DUPLICATES default_architectures)
    endif()
endif()
set(KINETOGRAPH_CUDA_ARCHITECTURES "${default_architectures}" CACHE STRING
    "Architectures of machine code (the first also as PTX): \"80;86;89;90;100;120\", \"all\" of these or \"none\"")
set(KINETOGRAPH_CUDA_CHIPS "${KINETOGRAPH_CUDA_ARCHITECTURES}")
if(KINETOGRAPH_CUDA_CHIPS STREQUAL "all")
    set(KINETOGRAPH_CUDA_CHIPS ${KINETOGRAPH_CUDA_ALL_CHIPS})
elseif(KINETOGRAPH_CUDA_CHIPS STREQUAL "none" OR NOT KINETOGRAPH_NVCC)
    set(KINETOGRAPH_CUDA_CHIPS "")
endif()
if(KINETOGRAPH_CUDA_CHIPS)
    execute_process(COMMAND "${KINETOGRAPH_NVCC}" --version OUTPUT_VARIABLE nvcc_version)
    string(REGEX MATCH "V([0-9.]+)" nvcc_version "${nvcc_version}")
    string(JOIN ", sm_" chips ${KINETOGRAPH_CUDA_CHIPS})
    set(KINETOGRAPH_CUDA_PROVENANCE "nvcc ${CMAKE_MATCH_1} for sm_${chips}")
    message(STATUS "Fat binaries for CUDA: ${KINETOGRAPH_CUDA_PROVENANCE}")
elseif(KINETOGRAPH_NVCC)
    set(KINETOGRAPH_CUDA_PROVENANCE "built without CUDA architectures")
    message(STATUS "Fat binaries for CUDA: OFF, KINETOGRAPH_CUDA_ARCHITECTURES is none")
else()
    set(KINETOGRAPH_CUDA_PROVENANCE "built without nvcc")
    message(STATUS "Fat binaries for CUDA: OFF, nvcc not found")
endif()

# kinetograph_fat_binaries(OUTPUTS a.cu b.cu ... [FAMILY 100 | CHIP 90]): compiles each source (beside the
# CMakeLists.txt) to a.fatbin, and writes ptxas's report of registers, shared memory and spills to a.fatbin.txt. OUTPUTS
# becomes the list of .fatbin files, empty without nvcc. FAMILY and CHIP are for instructions of one family (sm_100f:
# sm_100 and sm_103) or one chip (sm_90a); the list is empty unless it is among the architectures.
function(kinetograph_fat_binaries outputs)
    cmake_parse_arguments(ARG "" "FAMILY;CHIP" "" ${ARGN})
    set(binaries "")
    set(targets "")
    if(ARG_FAMILY)
        if(ARG_FAMILY IN_LIST KINETOGRAPH_CUDA_CHIPS)
            set(targets -gencode "arch=compute_${ARG_FAMILY}f,code=sm_${ARG_FAMILY}f")
        endif()
    elseif(ARG_CHIP)
        if(ARG_CHIP IN_LIST KINETOGRAPH_CUDA_CHIPS)
            set(targets -gencode "arch=compute_${ARG_CHIP}a,code=sm_${ARG_CHIP}a")
        endif()
    elseif(KINETOGRAPH_CUDA_CHIPS)
        foreach(chip IN LISTS KINETOGRAPH_CUDA_CHIPS)
            list(APPEND targets -gencode "arch=compute_${chip},code=sm_${chip}")
        endforeach()
        list(GET KINETOGRAPH_CUDA_CHIPS 0 oldest)
        list(APPEND targets -gencode "arch=compute_${oldest},code=compute_${oldest}")
    endif()
    if(targets)
        set(folder "${CMAKE_CURRENT_BINARY_DIR}/cuda")
        file(MAKE_DIRECTORY "${folder}")
        foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
            get_filename_component(name "${source}" NAME_WE)
            set(binary "${folder}/${name}.fatbin")
            add_custom_command(OUTPUT "${binary}" BYPRODUCTS "${binary}.txt"
                COMMAND ${CMAKE_COMMAND} "-DREPORT=${binary}.txt" -P "${PROJECT_SOURCE_DIR}/cmake/RunNvcc.cmake" --
                        "${KINETOGRAPH_NVCC}" -std=c++20 -fatbin ${targets} -Xptxas -v -I "${KINETOGRAPH_INCLUDE_ROOT}"
                        -MD -MF "${binary}.d" -MT "${binary}" -o "${binary}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
                DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DEPFILE "${binary}.d"
                COMMENT "Compiling ${source} for CUDA" VERBATIM)
            list(APPEND binaries "${binary}")
        endforeach()
    endif()
    set(${outputs} "${binaries}" PARENT_SCOPE)
endfunction()

# kinetograph_embed_fat_binaries(TARGET a.fatbin ...): defines the functions of kernels/cuda/fat_binaries.hpp in TARGET,
# with each file's bytes under the file's name without its extension.
function(kinetograph_embed_fat_binaries target)
    set(bytes "")
    set(declarations "")
    set(rows "")
    foreach(binary IN LISTS ARGN)
        get_filename_component(name "${binary}" NAME_WE)
        string(APPEND bytes
            "    \".balign 64\\n\"\n    \"kinetograph_cuda_${name}:\\n\"\n    \".incbin \\\"${binary}\\\"\\n\"\n"
            "    \"kinetograph_cuda_${name}_end:\\n\"\n")
        string(APPEND declarations
            "extern const std::byte kinetograph_cuda_${name}[], kinetograph_cuda_${name}_end[];\n")
        string(APPEND rows "        {\"${name}\", {kinetograph_cuda_${name}, kinetograph_cuda_${name}_end}},\n")
    endforeach()
    list(LENGTH ARGN count)
    set(provenance "${KINETOGRAPH_CUDA_PROVENANCE}")
    set(source "${CMAKE_CURRENT_BINARY_DIR}/fat_binaries.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include <array>

#include <kinetograph/kernels/cuda/fat_binaries.hpp>

asm(".pushsection .rodata\n"
@bytes@    ".popsection\n");
extern "C" {
@declarations@}

namespace kinetograph::cuda {

std::span<const FatBinary> fat_binaries() {
    static const std::array<FatBinary, @count@> binaries{{
@rows@    }};
    return binaries;
}

std::string_view fat_binary_compiler() { return "@provenance@"; }

}  // namespace kinetograph::cuda
]])
    set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${ARGN}" SKIP_UNITY_BUILD_INCLUSION TRUE)
    target_sources(${target} PRIVATE "${source}")
endfunction()
