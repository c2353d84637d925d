if(NOT TARGET perp_shared)
    return()
endif()

set(perp_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/perp)

install(TARGETS perp_shared perp_static EXPORT perpTargets)
if(TARGET perp_cli)
    install(TARGETS perp_cli)
endif()
if(TARGET perp_mpi)
    install(TARGETS perp_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/perp)
endif()
# Man page and completion scripts are made by the program from its own tables. A cross build
# cannot run it and goes without.
if(TARGET perp_cli AND NOT CMAKE_CROSSCOMPILING)
    set(manners ${PROJECT_BINARY_DIR}/share)
    file(MAKE_DIRECTORY ${manners})
    add_custom_command(
        OUTPUT ${manners}/perp.1 ${manners}/perp.bash ${manners}/_perp ${manners}/perp.fish
        COMMAND perp_cli help --man > ${manners}/perp.1
        COMMAND perp_cli help --completion bash > ${manners}/perp.bash
        COMMAND perp_cli help --completion zsh > ${manners}/_perp
        COMMAND perp_cli help --completion fish > ${manners}/perp.fish
        DEPENDS perp_cli VERBATIM)
    add_custom_target(perp_manners ALL DEPENDS ${manners}/perp.1)
    add_dependencies(perp_product perp_manners)
    install(FILES ${manners}/perp.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${manners}/perp.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME perp)
    install(FILES ${manners}/_perp
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${manners}/perp.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(DIRECTORY include/perp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
install(DIRECTORY scenes DESTINATION ${CMAKE_INSTALL_DATADIR}/perp OPTIONAL)
install(FILES docs/schema/scene.schema.json docs/schema/study.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/perp OPTIONAL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# CMake users: find_package(perp) and link perp::perp (or perp::perp_static).
install(EXPORT perpTargets NAMESPACE perp:: DESTINATION ${perp_cmake_dir})
configure_package_config_file(cmake/perpConfig.cmake.in perpConfig.cmake
    INSTALL_DESTINATION ${perp_cmake_dir})
write_basic_package_version_file(perpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/perpConfig.cmake ${PROJECT_BINARY_DIR}/perpConfigVersion.cmake
    DESTINATION ${perp_cmake_dir})

# pkg-config users. The prefix is found from where the file lies, so a copied tree still works.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(PERP_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(PERP_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(kind LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        set(PERP_PC_${kind} ${CMAKE_INSTALL_${kind}})
    else()
        set(PERP_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
configure_file(cmake/perp.pc.in perp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/perp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
