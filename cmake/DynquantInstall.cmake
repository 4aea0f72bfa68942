# Installs by components:
#   runtime      the libraries that programs link, and the drop-in
#   development  headers, the CMake package `dynquant`, pkg-config's files
#   onnxruntime  the library that ONNX Runtime loads; its name has no version
#   tools        dqbench, its inputs, and dqmodel
#   onednn       by its name alone, and if oneDNN is in .deps/: that oneDNN, with Intel's libimf and libintlc
#
# How run-time libraries are found: libdynquant's rpath has oneDNN's folder, unless the loader searches it by default, and
# before it that of the component onednn, by $ORIGIN, so that the prefix can be moved. It works for programs that CMake
# links, and by hand (-ldynquant -ldnnl). oneTBB always comes from the system: a process must load exactly one.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Runs before the other rules, as they run in the order of their statements. Without a target of the list, cmake would
# stop at its file, after it has installed others.
define_property(GLOBAL PROPERTY DYNQUANT_INSTALLED BRIEF_DOCS "The files of the targets that are installed")
install(SCRIPT "${PROJECT_BINARY_DIR}/check_built_$<CONFIG>.cmake" ALL_COMPONENTS)

# dynquant_check_before_install(): called last, when all targets are known.
function(dynquant_check_before_install)
    get_property(files GLOBAL PROPERTY DYNQUANT_INSTALLED)
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/check_built_$<CONFIG>.cmake" CONTENT "\
foreach(file IN ITEMS ${files})
    if(NOT EXISTS \"\${file}\")
        list(APPEND missing \"\${file}\")
    endif()
endforeach()
if(missing)
    list(JOIN missing \", \" missing)
    message(FATAL_ERROR \"Expected a complete build, given one without \${missing}. Nothing of dynquant was installed. \"
        \"Build first: cmake --build ${CMAKE_BINARY_DIR}\")
endif()
")
endfunction()

# dynquant_install_target(<target> <component> [EXPORT <name>] [INCLUDES DESTINATION <folder>]): a library or a tool
function(dynquant_install_target target component)
    install(TARGETS ${target} ${ARGN}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    set_property(GLOBAL APPEND_STRING PROPERTY DYNQUANT_INSTALLED " [[$<TARGET_FILE:${target}>]]")
endfunction()

# dynquant_set_run_path(<target> <its folder> <searched folder>...): its rpath: installed folders, relative to its own, and
# then where oneDNN is now
function(dynquant_set_run_path target folder)
    foreach(searched IN LISTS ARGN)
        cmake_path(RELATIVE_PATH searched BASE_DIRECTORY "${folder}")
        list(APPEND run_path "$ORIGIN/${searched}")
    endforeach()
    list(TRANSFORM run_path REPLACE "/\\.$" "")
    list(REMOVE_DUPLICATES run_path)
    if(DYNQUANT_ONEDNN_BUNDLED) # CMake takes no link path inside a source tree
        list(APPEND run_path "${DYNQUANT_DEPS}/lib")
    endif()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "${run_path}" INSTALL_RPATH_USE_LINK_PATH "${DYNQUANT_GRAPH}")
endfunction()

# dynquant_install_pkg_config(<name> <description> <library> [<requires>])
function(dynquant_install_pkg_config name description library)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
        OUTPUT_VARIABLE prefix)
    set(lines
        "prefix=\${pcfiledir}/${prefix}"
        "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}"
        "includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}"
        "Name: ${name}"
        "Description: ${description}"
        "Version: ${PROJECT_VERSION}"
        "Requires: ${ARGN}"
        "Libs: -L\${libdir} -l${library}")
    list(JOIN lines "\n" text)
    if(DYNQUANT_GRAPH) # oneDNN has no file of pkg-config's. Of system folders pkg-config tells the compiler nothing.
        string(APPEND text " -L\${prefix}/lib -L$<TARGET_FILE_DIR:DNNL::dnnl> -ldnnl\n"
            "Cflags: -I\${includedir} -I$<JOIN:${DYNQUANT_ONEDNN_INCLUDE}, -I>\n")
    else()
        string(APPEND text "\nCflags: -I\${includedir}\n")
    endif()
    string(APPEND text "Libs.private: -ltbb -lstdc++ -lm -ldl\n")
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/${name}.pc" CONTENT "${text}")
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

function(dynquant_install target)
    set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
    set(onednn_hint "${dnnl_DIR}")
    if(DYNQUANT_ONEDNN_BUNDLED)
        set(folders "${DYNQUANT_DEPS}/include" "${DYNQUANT_DEPS}/lib" "${DYNQUANT_DEPS}/share")
        install(DIRECTORY ${folders} DESTINATION . USE_SOURCE_PERMISSIONS COMPONENT onednn EXCLUDE_FROM_ALL)
        set(licence "with Intel's libimf and libintlc, under the Intel End User License Agreement for Developer Tools")
        install(CODE "message(STATUS \"oneDNN 3.2 is under the Apache License 2.0; it comes ${licence}: \
share/doc/intel_cmplr_lib_rt/LICENSE.txt\")" COMPONENT onednn EXCLUDE_FROM_ALL)
        install(CODE "message(STATUS \"oneDNN is not installed: libdynquant loads it from ${DYNQUANT_DEPS}/lib. \
`cmake --install ${PROJECT_BINARY_DIR} --component onednn`, with the same prefix, installs it, ${licence}.\")" COMPONENT runtime)
        set(onednn_hint "\${PACKAGE_PREFIX_DIR}" "${dnnl_DIR}")
    endif()
    # oneDNN's package files must be in lib/, even if CMAKE_INSTALL_LIBDIR is another folder.
    dynquant_set_run_path(${target} "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_PREFIX}/lib")
    dynquant_install_target(${target} runtime EXPORT dynquantTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    if(TARGET dynquant_onednn_graph)
        dynquant_install_target(dynquant_onednn_graph runtime EXPORT dynquantTargets)
    endif()
    if(TARGET dynquant_onnxruntime) # which no program links, with links by its names of 0.3
        dynquant_install_target(dynquant_onnxruntime onnxruntime)
        foreach(name dynquant_ort dynquant_ort_ep)
            install(FILES "${PROJECT_BINARY_DIR}/src/${CMAKE_SHARED_MODULE_PREFIX}${name}${CMAKE_SHARED_MODULE_SUFFIX}"
                DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT onnxruntime)
        endforeach()
    endif()
    set(absent "")
    if(NOT DYNQUANT_GRAPH)
        list(APPEND absent graph newer_names)
    endif()
    if(NOT TARGET dynquant_model)
        list(APPEND absent model)
    endif()
    list(TRANSFORM absent REPLACE "(.+)" "PATTERN;\\1.hpp;EXCLUDE")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/dynquant" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" ${absent})
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE" DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dynquant)
    dynquant_install_pkg_config(dynquant "${PROJECT_DESCRIPTION}" dynquant)
    if(TARGET dynquant_model) # the package's component `model`
        dynquant_set_run_path(dynquant_model "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_PREFIX}/lib")
        dynquant_install_target(dynquant_model runtime EXPORT dynquantModelTargets)
        install(EXPORT dynquantModelTargets NAMESPACE dynquant:: DESTINATION ${package_dir})
        dynquant_install_pkg_config(dynquant-model "Runs quantized ONNX models by dynquant" dynquant_model dynquant)
    endif()
    install(EXPORT dynquantTargets NAMESPACE dynquant:: DESTINATION ${package_dir})
    configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/dynquantConfig.cmake.in"
        "${PROJECT_BINARY_DIR}/dynquantConfig.cmake" INSTALL_DESTINATION ${package_dir}
        NO_CHECK_REQUIRED_COMPONENTS_MACRO)
    write_basic_package_version_file("${PROJECT_BINARY_DIR}/dynquantConfigVersion.cmake"
        COMPATIBILITY SameMinorVersion)
    install(FILES "${PROJECT_BINARY_DIR}/dynquantConfig.cmake"
        "${PROJECT_BINARY_DIR}/dynquantConfigVersion.cmake" DESTINATION ${package_dir})
endfunction()

function(dynquant_install_tool target)
    dynquant_set_run_path(${target} "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_PREFIX}/lib")
    dynquant_install_target(${target} tools)
endfunction()

# `cpack` makes an archive of all, and a Debian package of each component. A maintainer is asked for: cpack -D
# CPACK_PACKAGE_CONTACT="NAME <ADDRESS>".
function(dynquant_pack)
    set(CPACK_PACKAGE_CONTACT "dynquant's maintainers <root@localhost>")
    set(CPACK_PACKAGE_VENDOR dynquant)
    set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
    set(CPACK_GENERATOR TGZ DEB)
    set(CPACK_SYSTEM_NAME "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
    set(CPACK_COMPONENTS_ALL runtime development onnxruntime tools)
    if(NOT DYNQUANT_BUILD_TOOLS)
        list(REMOVE_ITEM CPACK_COMPONENTS_ALL tools)
    endif()
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")
    set(runtime "libdynquant${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "${runtime}")
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdynquant-dev)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime} (= ${PROJECT_VERSION}), libtbb-dev")
    if(DYNQUANT_GRAPH)
        string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libdnnl-dev (>= ${DYNQUANT_ONEDNN_MINIMUM})")
    endif()
    set(CPACK_DEBIAN_ONNXRUNTIME_PACKAGE_NAME libdynquant-onnxruntime)
    set(CPACK_DEBIAN_ONNXRUNTIME_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME dynquant-tools)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
    if(DYNQUANT_ONEDNN_BUNDLED) # no package would hold the oneDNN that it needs
        set(CPACK_INSTALL_SCRIPTS "${PROJECT_BINARY_DIR}/refuse_to_pack.cmake")
        file(WRITE "${CPACK_INSTALL_SCRIPTS}" "message(FATAL_ERROR \"cpack: expected an installed oneDNN, as Debian 13 has, or \
-DDYNQUANT_GRAPH=OFF; given the one of .deps/, which no package can ask for\")\n")
    endif()
    include(CPack)
endfunction()

# `cmake --build <folder> --target uninstall`
if(PROJECT_IS_TOP_LEVEL)
    add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" -P "${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake")
endif()
