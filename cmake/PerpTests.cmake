# One executable and one CTest test per tests/**/*_test.c; one CTest test per script.
#
#   tests/unit/base/vec_test.c   -> test unit/base/vec,  executable tests/unit/base/vec
#   tests/cli/run_test.py        -> test cli/run.py
#   tests/cli/install.sh         -> test cli/install.sh
#
# A name that ends in slow (x_slow_test.c, x_slow_test.py, x_slow.sh) carries the label `slow`,
# which `make test` leaves to `make test-slow` and the sanitizer run leaves out. Scripts whose name
# begins with _ are helpers, not tests.
# tests/support/*.c is a library that every test links. Exit status 77 of a script means skipped.

if(EXISTS /usr/bin/python3)
    set(PERP_PYTHON /usr/bin/python3) # the one that sees the distribution's h5py and jsonschema
else()
    set(PERP_PYTHON python3)
endif()

pkg_check_modules(PERP_LAPACKE QUIET IMPORTED_TARGET lapacke)
pkg_check_modules(PERP_OPENBLAS QUIET IMPORTED_TARGET openblas)

set(perp_test_cflags "")
if(PERP_SANITIZE)
    set(perp_test_cflags "-fsanitize=${PERP_SANITIZE} -fno-sanitize-recover=all")
endif()
set(perp_test_environment
    "PERP=${PROJECT_BINARY_DIR}/perp"
    "PERP_SOURCE=${PROJECT_SOURCE_DIR}"
    "PERP_BUILD=${PROJECT_BINARY_DIR}"
    # For tests that compile against an installed perp: they must match its sanitizers.
    "PERP_CC=${CMAKE_C_COMPILER}"
    "PERP_CFLAGS=${perp_test_cflags}"
    "PERP_PYTHON=${PERP_PYTHON}"
    "UBSAN_OPTIONS=print_stacktrace=1"
    # Threads of a reference library must not compete with the other tests.
    "OPENBLAS_NUM_THREADS=1"
    "PYTHONDONTWRITEBYTECODE=1"
)

# Tests of the Python package; the sanitizer's library must come first in a program without it.
set(perp_python_environment "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
if(PERP_SANITIZE MATCHES "address")
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
        OUTPUT_VARIABLE perp_asan_library OUTPUT_STRIP_TRAILING_WHITESPACE)
    # Python itself keeps memory at its end.
    list(APPEND perp_python_environment "LD_PRELOAD=${perp_asan_library}" "ASAN_OPTIONS=detect_leaks=0"
        "PYTHONMALLOC=malloc")
endif()

# Long tests begin first, so that none runs alone at the end (in a fresh clone CTest has no measurements of its own):
# seconds on two cores, optimised, of those with more than 2; half of those under the sanitizers, if that is more.
set(perp_test_cost
    viewer/page.sh=102 cli/design_slow.py=90 cli/sweep_slow.py=80 cli/gallery_slow.py=60 cli/sweep.py=32
    cli/manners.py=31 cli/design.py=30 cli/record.py=21 cli/run.py=21 cli/kill_slow.py=20 cli/docs_slow.py=18
    cli/render.py=17 cli/estimate.py=13 cli/units.py=13 physics/gradient_robots=12 conform/generated=11
    physics/gradient=10 cli/bad_input.sh=8 conform/problem_mutation=8 physics/energy=8 physics/pile_groups=8
    torture/hard.py=8 cli/replay.py=7 cli/robot_features.py=7 cli/schema.py=7 cli/watch.py=7
    unit/record/verify=7 cli/design_gradient.py=6 cli/urdf.py=6 physics/ledger=6 physics/smooth_gradient_cases=6
    physics/step_fallback=6 physics/threads=6 torture/short.py=6 unit/solve/friction_corpus=6 cli/compare.py=5
    cli/gallery.py=5 cli/ledger.py=5 fault/record_fault=5 physics/quasistatic=5 physics/throws=5 python/run.py=5
    unit/collide/smooth=5 unit/linalg/fronts=5 viewer/notebook.sh=5 cli/examples.sh=4 cli/grasp_map.py=4
    cli/tutorial.py=4 conform/solvers=4 physics/gradient_motion=4 physics/grip=4 physics/impulse_scale=4
    physics/pile=4 unit/collide/polyhedron=4 unit/study/estimate_filter=4 unit/study/mpec=4 viewer/design.sh=4
    viewer/estimate.sh=4 cli/feed_forward.py=3 cli/measures.py=3 cli/mjcf.py=3 conform/auto_corpus=3
    fault/sim_fault=3 physics/bounce_joint=3 physics/compliant=3 physics/gradient_middle=3
    physics/gradient_roll=3 physics/joint=3 physics/joint_direction=3 physics/momentum=3 python/docs.py=3
    python/memory.py=3 torture/checker.py=3 unit/collide/collider=3 unit/collide/crossing=3
    unit/collide/distance=3 unit/collide/smooth_polytope=3 unit/contact/derivative=3 unit/record/edited=3
    viewer/study.sh=3 cli/include.py=2 cli/robot_styles.py=2 physics/peg=2 physics/polygons=2 physics/roll=2
    physics/smooth_gradient=2 unit/collide/choice=2 unit/collide/polygon=2 unit/collide/polyhedron_apart=2
    unit/collide/polyhedron_round=2 unit/shape/shape=2 unit/solve/search_limit=2 unit/study/laws=2)

# Once more for `make test-slow`, as NAME_slow and with all repetitions (PERP_TEST_FULL): what `make test` runs in part.
set(perp_test_full
    physics/energy physics/gradient physics/gradient_middle physics/gradient_roll physics/impulse_scale
    physics/momentum physics/pile physics/pile_groups physics/roll physics/smooth_gradient_cases physics/throws
    unit/collide/collider unit/collide/crossing unit/collide/distance unit/collide/polyhedron_deep
    unit/record/verify fault/record_fault cli/grasp_map.py
    cli/record.py cli/units.py cli/estimate.py torture/short.py)

# Each test runs in a directory of its own, so that files it writes cannot meet another's.
function(perp_describe_test name stem)
    string(REGEX MATCH "^[^/]+" label "${name}")
    set(timeout 300)
    if(stem MATCHES "slow$")
        list(APPEND label slow)
        set(timeout 900)
    endif()
    if(PERP_SANITIZE)
        math(EXPR timeout "4 * ${timeout}")
    endif()
    foreach(entry ${perp_test_cost})
        if(entry MATCHES "^(.*)=([0-9]+)$" AND name STREQUAL CMAKE_MATCH_1)
            set_tests_properties(${name} PROPERTIES COST ${CMAKE_MATCH_2})
        endif()
    endforeach()
    set(environment "${perp_test_environment}")
    if(label MATCHES "^python")
        list(APPEND environment ${perp_python_environment})
    endif()
    if(stem MATCHES "slow$")
        list(APPEND environment PERP_TEST_FULL=1)
    endif()
    set(scratch ${PROJECT_BINARY_DIR}/tests/scratch/${name})
    file(MAKE_DIRECTORY ${scratch})
    set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${timeout}
        WORKING_DIRECTORY ${scratch} ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77)
endfunction()

# Compiled once: with every test they were a third of all objects.
file(GLOB perp_test_support CONFIGURE_DEPENDS tests/support/*.c)
add_library(perp_test_support STATIC ${perp_test_support})
perp_defaults(perp_test_support)
target_include_directories(perp_test_support PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(perp_test_support PRIVATE PERP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set(patterns "")
foreach(kind unit physics conform fault golden cli)
    list(APPEND patterns tests/${kind}/*_test.c tests/${kind}/*/*_test.c)
endforeach()
file(GLOB perp_test_sources CONFIGURE_DEPENDS
    RELATIVE ${PROJECT_SOURCE_DIR}/tests ${patterns})

set(perp_sanitized OFF)
if(PERP_SANITIZE)
    set(perp_sanitized ON)
endif()
foreach(source ${perp_test_sources})
    string(REGEX REPLACE "_test\\.c$" "" name ${source})
    string(REPLACE "/" "_" target test_${name})
    get_filename_component(directory ${name} DIRECTORY)
    get_filename_component(stem ${name} NAME)
    add_executable(${target} tests/${source})
    perp_defaults(${target})
    # Most of a test's time is the library's: -O2 costs the compiler more than it saves, and so does -O1 where a test has no
    # loops of its own.
    if(name MATCHES "^(conform|unit/(collide|shape|solve))/" AND NOT perp_sanitized)
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    elseif(perp_sanitized)
        target_compile_options(${target} PRIVATE -O0)
    else()
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${stem}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${directory})
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
    # So that a test started by hand, without CTest's environment, still finds its data.
    target_compile_definitions(${target} PRIVATE PERP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE perp_test_support)
    if(TARGET perp_static)
        target_link_libraries(${target} PRIVATE perp_static)
    endif()
    target_link_libraries(${target} PRIVATE ${PERP_DEPENDENCIES})
    if(PERP_LAPACKE_FOUND AND PERP_OPENBLAS_FOUND)
        target_compile_definitions(${target} PRIVATE PERP_HAVE_LAPACKE=1)
        target_link_libraries(${target} PRIVATE PkgConfig::PERP_LAPACKE PkgConfig::PERP_OPENBLAS)
        target_link_options(${target} PRIVATE -Wl,--as-needed)
    endif()
    add_test(NAME ${name} COMMAND ${target})
    perp_describe_test(${name} ${stem})
    if(name IN_LIST perp_test_full)
        add_test(NAME ${name}_slow COMMAND ${target})
        perp_describe_test(${name}_slow ${stem}_slow)
    endif()
endforeach()
# Counts calls into the library without counters in it.
target_link_options(test_unit_solve_cost PRIVATE
    -Wl,--wrap=perpi_chol_factor -Wl,--wrap=perpi_chol_factor_apart
    -Wl,--wrap=perp_contact_check_residual)
target_link_options(test_conform_problem_mutation PRIVATE -Wl,--wrap=clock_gettime)
target_link_options(test_physics_pile_groups PRIVATE -Wl,--wrap=perpi_newton_closed)
target_link_options(test_physics_outer_stall PRIVATE -Wl,--wrap=perpi_step_solve_to)

file(GLOB_RECURSE perp_test_scripts CONFIGURE_DEPENDS
    RELATIVE ${PROJECT_SOURCE_DIR}/tests tests/*.sh tests/*_test.py)
foreach(script ${perp_test_scripts})
    get_filename_component(stem ${script} NAME_WLE)
    if(stem MATCHES "^_" OR script MATCHES "^support/")
        continue()
    endif()
    string(REGEX REPLACE "_test\\.(py|sh)$" ".\\1" name ${script})
    string(REGEX REPLACE "_test$" "" stem ${stem})
    if(script MATCHES "\\.py$")
        add_test(NAME ${name} COMMAND ${PERP_PYTHON} ${PROJECT_SOURCE_DIR}/tests/${script})
    else()
        add_test(NAME ${name} COMMAND bash ${PROJECT_SOURCE_DIR}/tests/${script})
    endif()
    perp_describe_test(${name} ${stem})
    if(name IN_LIST perp_test_full)
        string(REPLACE ".py" "_slow.py" slow ${name})
        add_test(NAME ${slow} COMMAND ${PERP_PYTHON} ${PROJECT_SOURCE_DIR}/tests/${script})
        perp_describe_test(${slow} ${stem}_slow)
    endif()
endforeach()

if(PERP_FUZZ AND TARGET perp_static)
    file(GLOB perp_fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
    foreach(source ${perp_fuzz_sources})
        get_filename_component(stem ${source} NAME_WE)
        add_executable(${stem} ${source})
        perp_defaults(${stem})
        set_target_properties(${stem} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fuzz)
        target_include_directories(${stem} PRIVATE
            ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
        target_link_libraries(${stem} PRIVATE perp_static ${PERP_DEPENDENCIES})
        target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    endforeach()
endif()
