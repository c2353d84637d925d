# The replay page: viewer/ bundled by node into one html file at build time, and embedded in the
# program. Without node or without a network the program is built all the same, without the page;
# `perp replay` then says so.
#
#   perp_embed_page(target)    adds the page to an executable or a module

function(perp_embed_page target)
    set(html ${PROJECT_BINARY_DIR}/page/template.html)
    set(source ${PROJECT_BINARY_DIR}/page/page_template.c)
    find_program(PERP_NODE node)
    find_program(PERP_NPM npm)
    mark_as_advanced(PERP_NODE PERP_NPM)
    set(viewer ${PROJECT_SOURCE_DIR}/viewer)
    if(NOT EXISTS ${viewer}/build.mjs)
        message(STATUS "Replay page: left out, because viewer/ is missing")
    elseif(PERP_NODE AND PERP_NPM)
        message(STATUS "Replay page: bundled at build time (${PERP_NODE})")
    else()
        message(STATUS "Replay page: left out, because node or npm is missing")
    endif()

    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS
        ${viewer}/src/* ${viewer}/build.mjs ${viewer}/package.json ${viewer}/package-lock.json)
    list(APPEND inputs ${PROJECT_SOURCE_DIR}/scripts/build-page)
    if(NOT TARGET perp_page AND PERP_PAGE_FILE)
        add_custom_command(OUTPUT ${html} COMMAND ${CMAKE_COMMAND} -E copy ${PERP_PAGE_FILE} ${html}
            DEPENDS ${PERP_PAGE_FILE} VERBATIM)
        add_custom_target(perp_page DEPENDS ${html})
    elseif(NOT TARGET perp_page)
        add_custom_command(OUTPUT ${html}
            COMMAND ${PROJECT_SOURCE_DIR}/scripts/build-page
                ${viewer} ${PROJECT_BINARY_DIR}/page/work ${html}
            DEPENDS ${inputs}
            COMMENT "Bundling the replay page" VERBATIM)
        add_custom_target(perp_page DEPENDS ${html})
    endif()

    # The assembler takes the bytes as they are: no megabyte of C for the compiler to read.
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
/* Made by cmake/PerpPage.cmake. */
extern const char cli_page_template[], cli_page_template_end[];
__asm__(".pushsection .rodata\n"
        ".globl cli_page_template\n"
        ".globl cli_page_template_end\n"
        "cli_page_template:\n"
        ".incbin \"@html@\"\n"
        "cli_page_template_end:\n"
        ".byte 0\n"
        ".popsection\n");
]])
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${html})
    # The pages of studies are files without packages, embedded as they are behind a head that they share.
    foreach(kind study design estimate)
        set(study ${viewer}/study/${kind}.html)
        set(head ${PROJECT_BINARY_DIR}/page/${kind}_head.html)
        set(sources "")
        if(kind STREQUAL "design") # it shows replay pages
            set(sources " connect-src 'self'; frame-src 'self' blob: data:;")
        endif()
        configure_file(${viewer}/study/head.html ${head} @ONLY)
        set(study_source ${PROJECT_BINARY_DIR}/page/${kind}_template.c)
        file(CONFIGURE OUTPUT ${study_source} @ONLY CONTENT [[
/* Made by cmake/PerpPage.cmake. */
extern const char cli_@kind@_template[], cli_@kind@_template_end[];
__asm__(".pushsection .rodata\n"
        ".globl cli_@kind@_template\n"
        ".globl cli_@kind@_template_end\n"
        "cli_@kind@_template:\n"
        ".incbin \"@head@\"\n"
        ".incbin \"@study@\"\n"
        "cli_@kind@_template_end:\n"
        ".byte 0\n"
        ".popsection\n");
]])
        set_source_files_properties(${study_source} PROPERTIES OBJECT_DEPENDS "${study};${head}")
        target_sources(${target} PRIVATE ${study_source})
    endforeach()
    target_sources(${target} PRIVATE ${source})
    add_dependencies(${target} perp_page)
endfunction()
