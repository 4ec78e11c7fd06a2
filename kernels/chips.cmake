# The chips that have kernels, in the order in which dispatch lists their methods: a new chip is its folder and its
# line. The folder's CMakeLists.txt defines kernels_<chip>, its plan.hpp what kernels/conv/chips.hpp asks for.
set(KINETOGRAPH_CHIPS
    kernels/cuda/sm100
    kernels/cuda/sm90
    kernels/cuda/sm80
    kernels/hip/gfx950
    kernels/spirv/vulkan13)
# Each folder of chips embeds their device code in one format: its CMakeLists.txt defines <folder>_images, its
# images.hpp what kernels/conv/images.hpp asks for.
set(KINETOGRAPH_IMAGE_FOLDERS ${KINETOGRAPH_CHIPS})
list(TRANSFORM KINETOGRAPH_IMAGE_FOLDERS REPLACE "/[^/]*$" "")
list(REMOVE_DUPLICATES KINETOGRAPH_IMAGE_FOLDERS)

# kinetograph_chip_folders(OUTPUT kernels/cuda): the names of the chips in that folder.
function(kinetograph_chip_folders output folder)
    set(chips ${KINETOGRAPH_CHIPS})
    list(FILTER chips INCLUDE REGEX "^${folder}/")
    list(TRANSFORM chips REPLACE "^${folder}/" "")
    set(${output} "${chips}" PARENT_SCOPE)
endfunction()

# kinetograph_kernel_table(TARGET Type function "include ..." "row ..."): defines function(), of kernels/conv, in TARGET.
function(kinetograph_kernel_table target type function includes rows)
    list(TRANSFORM includes REPLACE "(.+)" "#include <kinetograph/\\1>\n")
    list(TRANSFORM rows REPLACE "(.+)" "        {\\1},\n")
    list(JOIN includes "" includes)
    list(JOIN rows "" rows)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_${function}.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
@includes@#include <kinetograph/kernels/conv/@function@.hpp>

namespace kinetograph::conv {

std::span<const @type@> @function@() {
    static const @type@ kRows[] = {
@rows@    };
    return kRows;
}

}  // namespace kinetograph::conv
]])
    set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION TRUE)
    target_sources(${target} PRIVATE "${source}")
endfunction()

# kinetograph_chip_table(TARGET folder ...): defines chips() of kernels/conv/chips.hpp in TARGET as those folders.
function(kinetograph_chip_table target)
    set(rows "")
    foreach(folder IN LISTS ARGN)
        get_filename_component(chip "${folder}" NAME)
        set(of "kinetograph::${chip}")
        list(APPEND rows "${of}::methods, ${of}::models, ${of}::operators, ${of}::devices")
        target_link_libraries(${target} PRIVATE kinetograph::kernels_${chip})
    endforeach()
    list(TRANSFORM ARGN APPEND "/plan.hpp" OUTPUT_VARIABLE includes)
    kinetograph_kernel_table(${target} ChipKernels chips "${includes}" "${rows}")
endfunction()

# kinetograph_image_table(TARGET folder ...): defines images() of kernels/conv/images.hpp in TARGET as those folders.
function(kinetograph_image_table target)
    set(rows "")
    foreach(folder IN LISTS ARGN)
        get_filename_component(api "${folder}" NAME)
        list(APPEND rows "kinetograph::${api}::images()")
        target_link_libraries(${target} PRIVATE kinetograph::${api}_images)
    endforeach()
    list(TRANSFORM ARGN APPEND "/images.hpp" OUTPUT_VARIABLE includes)
    kinetograph_kernel_table(${target} Images images "${includes}" "${rows}")
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
