# How a folder becomes a library, a program or a test: warnings, include root and naming in one place.

# Public headers are beside their code. They have one spelling, in the tree and once installed:
# <kinetograph/engine/graph/frame_graph.hpp>. In the tree that root is a link in the build folder.
set(KINETOGRAPH_INCLUDE_ROOT "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${KINETOGRAPH_INCLUDE_ROOT}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${KINETOGRAPH_INCLUDE_ROOT}/kinetograph" SYMBOLIC)

add_library(kinetograph_warnings INTERFACE)
target_compile_options(kinetograph_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
                                                      -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                                                      -Woverloaded-virtual $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
option(KINETOGRAPH_WERROR "Make warnings errors" OFF)
if(KINETOGRAPH_WERROR)
    target_compile_options(kinetograph_warnings INTERFACE -Werror)
    # warnings that depend on the optimiser's analysis are no errors: they vary with the level
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(kinetograph_warnings INTERFACE
            -Wno-error=array-bounds -Wno-error=dangling-pointer -Wno-error=maybe-uninitialized -Wno-error=restrict
            -Wno-error=stringop-overflow)
    endif()
endif()
# A source included by a batch is a header to GCC, which warns of types of unnamed namespaces in headers.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(kinetograph_warnings INTERFACE -Wno-subobject-linkage)
endif()

# kinetograph_library(NAME SOURCES a.cpp ... [PUBLIC_LINK ...] [PRIVATE_LINK ...])
# A static library kinetograph_NAME with the alias kinetograph::NAME, installed and exported with the package.
function(kinetograph_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC_LINK;PRIVATE_LINK" ${ARGN})
    set(target kinetograph_${name})
    add_library(${target} STATIC ${ARG_SOURCES})
    add_library(kinetograph::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${KINETOGRAPH_INCLUDE_ROOT}>"
                                                "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${target} PUBLIC ${ARG_PUBLIC_LINK} PRIVATE ${ARG_PRIVATE_LINK}
                                                                      "$<BUILD_INTERFACE:kinetograph_warnings>")
    set_property(GLOBAL APPEND PROPERTY KINETOGRAPH_LIBRARIES ${target})
endfunction()

# Which sanitizer this build has: address (with undefined), thread, or none.
string(REGEX MATCH "-fsanitize=(address|thread)" _ "${CMAKE_CXX_FLAGS}")
set(KINETOGRAPH_SANITIZER "${CMAKE_MATCH_1}")
# GCC defines these macros itself.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND KINETOGRAPH_SANITIZER)
    string(TOUPPER "${KINETOGRAPH_SANITIZER}" sanitizer)
    add_compile_definitions(__SANITIZE_${sanitizer}__=1)
endif()

# kinetograph_absent_test(NAME "reason" [LABEL golden]): a test that cannot run in this build stays in CTest's list, as
# skipped, with the reason.
function(kinetograph_absent_test name reason)
    cmake_parse_arguments(ARG "" "LABEL" "" ${ARGN})
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: ${reason}")
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" SKIP_REGULAR_EXPRESSION "SKIPPED")
endfunction()

# kinetograph_without_fake_stacks(TEST): the address sanitizer does not look for uses after return, for which every
# fiber of the host model would map a second stack.
function(kinetograph_without_fake_stacks test)
    if(KINETOGRAPH_SANITIZER STREQUAL "address")
        set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT_MODIFICATION
                     "ASAN_OPTIONS=string_append::detect_stack_use_after_return=0")
    endif()
endfunction()

# Test bodies take longer to compile than to run: presets compile them with fewer optimisations.
set(KINETOGRAPH_TEST_OPTIONS "" CACHE STRING "Further compile options of test sources")

# kinetograph_test(NAME SOURCES a_test.cpp ... LINK kinetograph::graph ... [LABEL golden] [CPU_LANE] [TIMEOUT seconds]
#                  [ENVIRONMENT NAME=value] [CAPS avx2 ...] [NOT_UNDER address|thread ... BECAUSE "reason"])
# A GoogleTest program whose cases CTest lists one by one; under a sanitizer, whose processes are slow to start, it is
# one test, with the folder's KINETOGRAPH_SANITIZED_ARGUMENTS. CPU_LANE: another instruction set can change its results,
# so `.ci/run` runs it a second time with fewer (`ctest -L cpu_lane`). CAPS: values of KINETOGRAPH_CPU under which the
# suite lists every case once more, in place of an ENVIRONMENT. NOT_UNDER: the sanitizers that would take minutes over
# it to find nothing.
function(kinetograph_test name)
    cmake_parse_arguments(ARG "CPU_LANE" "LABEL;TIMEOUT;ENVIRONMENT;BECAUSE" "SOURCES;LINK;CAPS;NOT_UNDER" ${ARGN})
    if(ARG_CPU_LANE)  # one label, which `-L` finds by any part of it: gtest_discover_tests passes no list on
        string(JOIN "+" ARG_LABEL ${ARG_LABEL} cpu_lane)
    endif()
    set(excluded "")
    if(KINETOGRAPH_SANITIZER IN_LIST ARG_NOT_UNDER)
        kinetograph_absent_test(${name} "${ARG_BECAUSE}" LABEL ${ARG_LABEL})
        set(excluded EXCLUDE_FROM_ALL)
    endif()
    if(KINETOGRAPH_SANITIZER)
        set(ARG_TIMEOUT 1200)
    elseif(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 300)
    endif()
    add_executable(${name} ${excluded} ${ARG_SOURCES} $<TARGET_OBJECTS:self_checks_off>)
    target_link_libraries(${name} PRIVATE ${ARG_LINK} source_tree GTest::gtest_main kinetograph_warnings)
    target_compile_options(${name} PRIVATE ${KINETOGRAPH_TEST_OPTIONS})
    if(KINETOGRAPH_SANITIZER AND KINETOGRAPH_HAS_VULKAN)
        # Whoever lists the accelerators opens Vulkan's drivers.
        target_link_libraries(${name} PRIVATE kinetograph_keep_drivers)
    endif()
    if(excluded)
        return()
    endif()
    # CTest runs programs side by side: waiting OpenMP threads should yield the core to other programs.
    set(properties TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT_MODIFICATION OMP_WAIT_POLICY=set:PASSIVE)
    if(ARG_LABEL)  # an empty value would vanish from the list, and TIMEOUT would become the label
        list(APPEND properties LABELS ${ARG_LABEL})
    endif()
    if(ARG_ENVIRONMENT)
        list(APPEND properties ENVIRONMENT ${ARG_ENVIRONMENT})
    endif()
    if(KINETOGRAPH_SANITIZER)
        add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 ${KINETOGRAPH_SANITIZED_ARGUMENTS})
        set_tests_properties(${name} PROPERTIES ${properties})
        if(ARG_LABEL STREQUAL "host_model")
            kinetograph_without_fake_stacks(${name})
        endif()
    else()
        gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
        foreach(cap IN LISTS ARG_CAPS)
            gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${cap}.
                                 TEST_LIST ${name}_${cap} PROPERTIES ${properties} ENVIRONMENT KINETOGRAPH_CPU=${cap})
        endforeach()
    endif()
endfunction()
