# Benchmarks and experiments are built on request only, by the targets `bench` and `experiments`.
#
#   bench/NAME.c          -> bench/NAME         bench/common/*.c is linked into each
#   experiments/NAME/*.c  -> experiments/NAME   experiments/common/*.c is linked into each

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
    file(GLOB sources CONFIGURE_DEPENDS bench/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        perp_program(bench bench_${name} ${name} ${source} ${common})
        # A benchmark may time an inner kernel; an experiment is a user of the public API.
        target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    endforeach()

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
