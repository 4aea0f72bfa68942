# Installs the library, its headers and the CMake package `dynquant`.
#
# How run-time libraries are found:
# - oneDNN outside this tree: libdynquant's rpath has its folder, unless the loader searches it by default.
# - oneDNN in .deps/: its files are installed beside dynquant's, because this source tree may be deleted. The prefix can
#   be moved as a whole: its libraries find each other by $ORIGIN. It works for programs linked by hand (-ldynquant
#   -ldnnl) and by CMake.
# oneTBB always comes from the system: a process must load exactly one.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Runs before the other rules, as they run in the order of their statements. Without a target of the list, cmake would
# stop at its file, after it has installed others.
define_property(GLOBAL PROPERTY DYNQUANT_INSTALLED BRIEF_DOCS "The files of the targets that are installed")
install(SCRIPT "${PROJECT_BINARY_DIR}/check_built_$<CONFIG>.cmake")

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

# dynquant_install_target(<target> <install option>...): install(TARGETS) of one target.
function(dynquant_install_target target)
    install(TARGETS ${target} ${ARGN})
    set_property(GLOBAL APPEND_STRING PROPERTY DYNQUANT_INSTALLED " [[$<TARGET_FILE:${target}>]]")
endfunction()

function(dynquant_install target)
    if(DYNQUANT_ONEDNN_BUNDLED)
        # oneDNN's package files must be in lib/, even if CMAKE_INSTALL_LIBDIR is another folder.
        set(onednn_lib "${CMAKE_INSTALL_PREFIX}/lib")
        cmake_path(RELATIVE_PATH onednn_lib BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}")
        set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${onednn_lib}")
        install(DIRECTORY "${DYNQUANT_DEPS}/include" "${DYNQUANT_DEPS}/lib" "${DYNQUANT_DEPS}/share" DESTINATION .
            USE_SOURCE_PERMISSIONS)
        set(onednn_hint "\${PACKAGE_PREFIX_DIR}")
    elseif(DYNQUANT_GRAPH)
        set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
        set(onednn_hint "${dnnl_DIR}")
    endif()
    dynquant_install_target(${target} EXPORT dynquantTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    if(TARGET dynquant_onednn_graph)
        dynquant_install_target(dynquant_onednn_graph EXPORT dynquantTargets)
    endif()
    if(TARGET dynquant_onnxruntime) # which no program links, with links by its names of 0.3
        dynquant_install_target(dynquant_onnxruntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
        foreach(name dynquant_ort dynquant_ort_ep)
            install(FILES "${PROJECT_BINARY_DIR}/src/${CMAKE_SHARED_MODULE_PREFIX}${name}${CMAKE_SHARED_MODULE_SUFFIX}"
                DESTINATION ${CMAKE_INSTALL_LIBDIR})
        endforeach()
    endif()
    if(NOT DYNQUANT_GRAPH)
        foreach(header graph model newer_names)
            list(APPEND left_out PATTERN "${header}.hpp" EXCLUDE)
        endforeach()
    endif()
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/dynquant" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" ${left_out})
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR})

    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dynquant)
    if(TARGET dynquant_model) # the package's component `model`; finds libdynquant by $ORIGIN
        get_target_property(run_path ${target} INSTALL_RPATH)
        get_target_property(use_link_path ${target} INSTALL_RPATH_USE_LINK_PATH)
        set_target_properties(dynquant_model PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH "${use_link_path}")
        if(run_path)
            set_property(TARGET dynquant_model APPEND PROPERTY INSTALL_RPATH "${run_path}")
        endif()
        dynquant_install_target(dynquant_model EXPORT dynquantModelTargets)
        install(EXPORT dynquantModelTargets NAMESPACE dynquant:: DESTINATION ${package_dir})
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

# dynquant_install_tool(<target>): installs a program whose rpath is the library folder, relative to its own.
function(dynquant_install_tool target)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}" OUTPUT_VARIABLE lib)
    set(run_path "$ORIGIN/${lib}")
    if(DYNQUANT_ONEDNN_BUNDLED)
        set(onednn_lib "${CMAKE_INSTALL_PREFIX}/lib")
        cmake_path(RELATIVE_PATH onednn_lib BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}")
        list(APPEND run_path "$ORIGIN/${onednn_lib}")
        list(REMOVE_DUPLICATES run_path)
    else()
        set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    endif()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "${run_path}")
    dynquant_install_target(${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
