# The chips that have kernels, in the order in which dispatch lists their methods: a new chip is its folder and its
# line. The folder's CMakeLists.txt defines kernels_<chip>, its plan.hpp what kernels/conv/chips.hpp asks for.
set(KINETOGRAPH_CHIPS
    kernels/cuda/sm100
    kernels/cuda/sm90
    kernels/cuda/sm80
    kernels/hip/gfx950)

# kinetograph_chip_folders(OUTPUT kernels/cuda): the names of the chips in that folder.
function(kinetograph_chip_folders output folder)
    set(chips ${KINETOGRAPH_CHIPS})
    list(FILTER chips INCLUDE REGEX "^${folder}/")
    list(TRANSFORM chips REPLACE "^${folder}/" "")
    set(${output} "${chips}" PARENT_SCOPE)
endfunction()

# kinetograph_chip_table(TARGET folder ...): defines chips() of kernels/conv/chips.hpp in TARGET as those folders.
function(kinetograph_chip_table target)
    set(includes "")
    set(rows "")
    foreach(folder IN LISTS ARGN)
        get_filename_component(chip "${folder}" NAME)
        string(APPEND includes "#include <kinetograph/${folder}/plan.hpp>\n")
        set(of "kinetograph::${chip}")
        string(APPEND rows "    {${of}::methods, ${of}::models, ${of}::operators, ${of}::devices},\n")
        target_link_libraries(${target} PRIVATE kinetograph::kernels_${chip})
    endforeach()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_table.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
@includes@#include <kinetograph/kernels/conv/chips.hpp>

namespace kinetograph::conv {
namespace {

constexpr ChipKernels kChips[] = {
@rows@};

}  // namespace

std::span<const ChipKernels> chips() { return kChips; }

}  // namespace kinetograph::conv
]])
    target_sources(${target} PRIVATE "${source}")
endfunction()

# kinetograph_device_sources(TARGET a.cu ... [CHIP 90 | FAMILY 100] [MODEL b.cu ...]): the kernels of the chip whose
# host side TARGET is, .cu or .hip, beside its CMakeLists.txt. CHIP and FAMILY are kinetograph_fat_binaries'. MODEL:
# what the host model compiles, if not the same.
function(kinetograph_device_sources target)
    cmake_parse_arguments(ARG "" "CHIP;FAMILY" "MODEL" ${ARGN})
    set(instructions "")
    foreach(kind CHIP FAMILY)
        if(ARG_${kind})
            set(instructions ${kind} ${ARG_${kind}})
        endif()
    endforeach()
    if(NOT ARG_MODEL)
        set(ARG_MODEL "${ARG_UNPARSED_ARGUMENTS}")
    endif()
    set_target_properties(kinetograph_${target} PROPERTIES DEVICE_SOURCES "${ARG_UNPARSED_ARGUMENTS}"
                          DEVICE_INSTRUCTIONS "${instructions}" MODEL_SOURCES "${ARG_MODEL}")
endfunction()
