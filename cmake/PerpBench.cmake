# Benchmarks and experiments are built on request only, by the targets `bench` and `experiments`.
#
#   bench/NAME.c          -> bench/NAME         bench/common/*.c is linked into each
#                                               with the generators of tests/support
#   bench/tools/NAME.c    -> bench/NAME         what is no benchmark
#   experiments/NAME/*.c  -> experiments/NAME   experiments/common/*.c is linked into each
#
# bench/siconos.c is there only where the numerics library of Siconos is (Debian:
# libsiconos-numerics-dev).

add_custom_target(bench)
add_custom_target(experiments)

function(perp_program aggregate target name)
    add_executable(${target} EXCLUDE_FROM_ALL ${ARGN})
    perp_defaults(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${aggregate})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${aggregate})
    target_link_libraries(${target} PRIVATE perp_static ${PERP_DEPENDENCIES})
    add_dependencies(${aggregate} ${target})
endfunction()

if(TARGET perp_static)
    file(GLOB common CONFIGURE_DEPENDS bench/common/*.c)
    list(APPEND common ${PROJECT_SOURCE_DIR}/tests/support/generate.c
        ${PROJECT_SOURCE_DIR}/tests/support/throws.c
        ${PROJECT_SOURCE_DIR}/tests/support/gradient_cases.c)
    file(GLOB sources CONFIGURE_DEPENDS bench/*.c)
    include(CheckCSourceCompiles)
    find_path(PERP_SICONOS_INCLUDE numerics/SolverOptions.h PATH_SUFFIXES siconos)
    find_library(PERP_SICONOS_LIBRARY siconos_numerics)
    mark_as_advanced(PERP_SICONOS_INCLUDE PERP_SICONOS_LIBRARY)
    if(PERP_SICONOS_INCLUDE AND PERP_SICONOS_LIBRARY)
        set(CMAKE_REQUIRED_INCLUDES ${PERP_SICONOS_INCLUDE} ${PERP_SICONOS_INCLUDE}/numerics)
        set(CMAKE_REQUIRED_LIBRARIES ${PERP_SICONOS_LIBRARY})
        check_c_source_compiles("
            #include <FrictionContactProblem.h>
            #include <LinearComplementarityProblem.h>
            #include <NonSmoothDrivers.h>
            #include <NumericsMatrix.h>
            #include <SolverOptions.h>
            int main(void) { return fc3d_driver(0, 0, 0, solver_options_create(500)); }"
            PERP_SICONOS_WORKS)
        unset(CMAKE_REQUIRED_INCLUDES)
        unset(CMAKE_REQUIRED_LIBRARIES)
    endif()
    if(NOT PERP_SICONOS_WORKS)
        list(FILTER sources EXCLUDE REGEX "/siconos\\.c$")
    endif()
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        perp_program(bench bench_${name} ${name} ${source} ${common})
        # A benchmark may time an inner kernel; an experiment is a user of the public API.
        target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src
            ${PROJECT_SOURCE_DIR}/tests)
    endforeach()
    # No benchmark, but what they solve, written to files.
    perp_program(bench bench_generate_problem generate_problem bench/tools/generate_problem.c
        tests/support/generate.c)
    target_include_directories(bench_generate_problem PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(TARGET bench_siconos)
        target_include_directories(bench_siconos SYSTEM PRIVATE
            ${PERP_SICONOS_INCLUDE} ${PERP_SICONOS_INCLUDE}/numerics)
        target_link_libraries(bench_siconos PRIVATE ${PERP_SICONOS_LIBRARY})
    endif()

    file(GLOB common CONFIGURE_DEPENDS experiments/common/*.c)
    file(GLOB all_sources CONFIGURE_DEPENDS
        RELATIVE ${PROJECT_SOURCE_DIR}/experiments experiments/*/*.c)
    set(names ${all_sources})
    list(TRANSFORM names REPLACE "/.*" "")
    list(REMOVE_DUPLICATES names)
    list(REMOVE_ITEM names common)
    foreach(name ${names})
        set(sources ${all_sources})
        list(FILTER sources INCLUDE REGEX "^${name}/")
        list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/experiments/)
        perp_program(experiments experiment_${name} ${name} ${sources} ${common})
    endforeach()
endif()
