# libperp-solve: base, linalg, problem and solve alone, without files, scenes and simulation. Needs KLU
# and the C library, nothing else.
#
#   -DPERP_SOLVE_ONLY=ON    configures this library, its example and its test, and nothing else
#
# In an ordinary build the library is made of the objects that are there already.
set(perp_solve_dirs base linalg problem problem/reformulate
    solve solve/splitting solve/pivoting solve/newton solve/interior solve/frictional)

if(PERP_SOLVE_ONLY)
    set(perp_solve_sources "")
    foreach(directory ${perp_solve_dirs})
        file(GLOB found CONFIGURE_DEPENDS src/${directory}/*.c)
        list(APPEND perp_solve_sources ${found})
    endforeach()
    add_library(perp_solve STATIC ${perp_solve_sources})
    perp_defaults(perp_solve STRICT)
    set_target_properties(perp_solve PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(perp_solve PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_include_directories(perp_solve SYSTEM PRIVATE ${PERP_KLU_INCLUDE})
    target_compile_options(perp_solve PRIVATE $<$<CONFIG:Release>:-O3>)
else()
    add_library(perp_solve STATIC EXCLUDE_FROM_ALL
        "$<FILTER:$<FILTER:$<TARGET_OBJECTS:perp_objects>,INCLUDE,/src/(base|linalg|problem|solve)/>,EXCLUDE,/problem/io/>")
    set_target_properties(perp_solve PROPERTIES LINKER_LANGUAGE C)
    if(PERP_COVERAGE)
        target_link_options(perp_solve PUBLIC --coverage)
    endif()
endif()
set_target_properties(perp_solve PROPERTIES OUTPUT_NAME perp-solve EXPORT_NAME perp-solve)
target_include_directories(perp_solve PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(perp_solve PUBLIC ${PERP_KLU_LIBRARIES} Threads::Threads)
perp_sanitize(perp_solve)
add_library(perp::perp-solve ALIAS perp_solve)

if(PERP_TESTS)
    enable_testing()
    add_executable(example_solve_lcp examples/solve_lcp.c)
    perp_defaults(example_solve_lcp)
    target_link_libraries(example_solve_lcp PRIVATE perp_solve)
    add_test(NAME examples/solve_lcp COMMAND example_solve_lcp)
    set_tests_properties(examples/solve_lcp PROPERTIES LABELS examples)
endif()

if(PERP_SOLVE_ONLY)
    install(TARGETS perp_solve)
    foreach(header base linalg problem solve version)
        install(FILES include/perp/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/perp)
    endforeach()
    install(FILES LICENSE src/solve/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
