# kinetograph_shaders(TARGET picture.frag ...): compiles shaders/picture.frag (or one beside the CMakeLists.txt) to
# SPIR-V when TARGET is built. The words are in "picture.frag.inc" on TARGET's include path, as initialisers of a
# constexpr array.
function(kinetograph_shaders target)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/spirv")
    file(MAKE_DIRECTORY "${folder}")
    foreach(shader IN LISTS ARGN)
        set(source "${CMAKE_CURRENT_SOURCE_DIR}/${shader}")
        if(NOT EXISTS "${source}")
            set(source "${PROJECT_SOURCE_DIR}/shaders/${shader}")
        endif()
        get_filename_component(name "${shader}" NAME)
        set(words "${folder}/${name}.inc")
        add_custom_command(OUTPUT "${words}"
            COMMAND Vulkan::glslc --target-env=vulkan1.3 -Werror -O -mfmt=num -MD -MF "${words}.d" -o "${words}"
                    "${source}"
            DEPENDS "${source}" DEPFILE "${words}.d" COMMENT "Compiling ${shader} to SPIR-V" VERBATIM)
        target_sources(${target} PRIVATE "${words}")
    endforeach()
    target_include_directories(${target} PRIVATE "${folder}")
endfunction()
