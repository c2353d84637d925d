# The Python package: python/src -> the extension perp/_core.abi3.so, python/perp beside it, in
# PERP_PYTHON_OUTPUT/perp. With that folder on PYTHONPATH, `import perp` works.
#
# One binary serves CPython 3.11 and all later versions (limited API). perp is linked in; only
# PyInit__core is exported. PERP_PYTHON_STATIC also links in the libraries that perp uses, for a wheel
# that needs libc and libm alone.

set(PERP_PYTHON_OUTPUT ${PROJECT_BINARY_DIR}/python CACHE PATH "Where the Python package is put together")
set(PERP_PYTHON_EXECUTABLE "" CACHE FILEPATH "The Python to build the extension with")
if(NOT PERP_PYTHON_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python3_EXECUTABLE /usr/bin/python3) # the one that sees the distribution's packages
elseif(PERP_PYTHON_EXECUTABLE)
    set(Python3_EXECUTABLE ${PERP_PYTHON_EXECUTABLE})
endif()
if(PERP_PYTHON_PACKAGE STREQUAL "AUTO")
    find_package(Python3 3.11 QUIET COMPONENTS Interpreter Development.Module)
else()
    find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python3_Development.Module_FOUND)
    message(STATUS "Python package: left out, because Python 3.11 or its headers are missing (Debian: python3-dev)")
    return()
endif()

file(GLOB python_sources CONFIGURE_DEPENDS python/src/*.c)
list(FILTER python_sources EXCLUDE REGEX "/static_streams\\.c$")
# The replay page is made by the code of the program, which uses only include/perp as this does.
list(APPEND python_sources cli/page_bytes.c cli/page_contact.c cli/page_header.c cli/page_momentum.c
    cli/page_joints.c cli/page_pack.c cli/page_template.c cli/page_track.c cli/values.c)
add_library(perp_python MODULE ${python_sources} $<TARGET_OBJECTS:perp_objects>)
perp_defaults(perp_python STRICT)
set_target_properties(perp_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${PERP_PYTHON_OUTPUT}/perp
    BUILD_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
target_include_directories(perp_python PRIVATE include cli)
target_include_directories(perp_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
perp_embed_page(perp_python)
file(WRITE ${PROJECT_BINARY_DIR}/python-exports.map "{ global: PyInit__core; local: *; };\n")
target_link_options(perp_python PRIVATE -Wl,--version-script,${PROJECT_BINARY_DIR}/python-exports.map)
if(PERP_COVERAGE)
    target_link_options(perp_python PRIVATE --coverage)
endif()

if(PERP_PYTHON_STATIC)
    # The distribution compiles static libraries for position-independent programs, not for shared
    # libraries: their code reaches stderr and its like directly, which must then be defined here.
    target_sources(perp_python PRIVATE python/src/static_streams.c)
    target_link_options(perp_python PRIVATE -Wl,--wrap=stderr,--wrap=stdout,--wrap=stdin
        -Wl,--gc-sections -Wl,--exclude-libs,ALL)
    foreach(part hdf5_serial sz aec jansson expat z qhullstatic_r sqlite3 klu amd colamd btf suitesparseconfig)
        set(names lib${part}.a)
        if(part STREQUAL "hdf5_serial")
            list(APPEND names libhdf5.a)
        endif()
        find_library(PERP_STATIC_${part} NAMES ${names} PATH_SUFFIXES hdf5/serial)
        mark_as_advanced(PERP_STATIC_${part})
        if(PERP_STATIC_${part})
            target_link_libraries(perp_python PRIVATE ${PERP_STATIC_${part}})
        elseif(NOT part MATCHES "^(sz|aec)$") # HDF5 may have been built without compression by SZIP
            message(FATAL_ERROR "A wheel needs the static library lib${part}.a (Debian: in the -dev package)")
        endif()
    endforeach()
    target_link_libraries(perp_python PRIVATE m Threads::Threads ${CMAKE_DL_LIBS})
    # headers of the libraries, without their linker flags
    target_include_directories(perp_python SYSTEM PRIVATE ${PERP_JANSSON_INCLUDE_DIRS} ${PERP_ZLIB_INCLUDE_DIRS})
else()
    target_link_libraries(perp_python PRIVATE ${PERP_DEPENDENCIES})
endif()

# The pure part, copied so that the build folder holds a whole package.
file(GLOB python_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python
    python/perp/*.py python/perp/*.pyi python/perp/py.typed)
set(python_copies "")
foreach(file ${python_files})
    add_custom_command(OUTPUT ${PERP_PYTHON_OUTPUT}/${file}
        COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/python/${file} ${PERP_PYTHON_OUTPUT}/${file}
        DEPENDS ${PROJECT_SOURCE_DIR}/python/${file} VERBATIM)
    list(APPEND python_copies ${PERP_PYTHON_OUTPUT}/${file})
endforeach()
add_custom_target(perp_python_files ALL DEPENDS ${python_copies})
add_dependencies(perp_python perp_python_files)
