# Finds dynquant's dependencies: oneTBB (TBB::tbb) and oneDNN with its Graph API (DNNL::dnnl).
#
# find_package looks for oneDNN in dnnl_ROOT, CMAKE_PREFIX_PATH and the system, and then in .deps/, which scripts/setup
# fills. DYNQUANT_ONEDNN_BUNDLED is set if it is found in .deps/: then dynquant's installation includes oneDNN.

set(DYNQUANT_ONEDNN_MINIMUM 3.2)
set(DYNQUANT_DEPS "${PROJECT_SOURCE_DIR}/.deps")

# dynquant_left_out(<text>): reports what is left out and which dependency is missing. With DYNQUANT_REQUIRE_ALL, as in
# CI, this is an error, since a missing test cannot fail.
function(dynquant_left_out text)
    if(DYNQUANT_REQUIRE_ALL)
        message(FATAL_ERROR "${text}. DYNQUANT_REQUIRE_ALL allows nothing to be left out; scripts/setup --checks provides it.")
    endif()
    message(STATUS "${text}")
endfunction()

# A project that adds this one as a subdirectory needs the imported targets.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# TBB first: oneDNN's package may require it, and its error names no remedy.
find_package(TBB CONFIG QUIET COMPONENTS tbb)
if(NOT TBB_FOUND)
    message(FATAL_ERROR "oneTBB was not found. Run scripts/setup, or install the package libtbb-dev.")
endif()

if(DYNQUANT_GRAPH)
    find_package(dnnl ${DYNQUANT_ONEDNN_MINIMUM} CONFIG QUIET PATHS "${DYNQUANT_DEPS}")
    if(NOT dnnl_FOUND)
        set(found "none was found")
        if(dnnl_CONSIDERED_VERSIONS)
            list(REMOVE_DUPLICATES dnnl_CONSIDERED_VERSIONS)
            list(JOIN dnnl_CONSIDERED_VERSIONS ", " found)
            string(PREPEND found "found only ")
        endif()
        message(FATAL_ERROR
            "oneDNN ${DYNQUANT_ONEDNN_MINIMUM} or newer, with its Graph API, is needed; ${found}.\n"
            "Run scripts/setup, which provides it; or install the package libdnnl-dev where it is new enough "
            "(Debian 13 has 3.7, Debian 12 has 2.6); or name an installation with -Ddnnl_ROOT=<prefix>.")
    endif()

    # A oneDNN built without Graph lacks the functions, though the headers may be installed.
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_LIBRARIES DNNL::dnnl)
    check_cxx_source_compiles("
        #include <oneapi/dnnl/dnnl_graph.hpp>
        int main() { return dnnl::graph::graph(dnnl::engine::kind::cpu).is_finalized() ? 1 : 0; }"
        DYNQUANT_ONEDNN_HAS_GRAPH)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(NOT DYNQUANT_ONEDNN_HAS_GRAPH)
        unset(DYNQUANT_ONEDNN_HAS_GRAPH CACHE)
        message(FATAL_ERROR
            "oneDNN ${dnnl_VERSION} in ${dnnl_DIR} was built without its Graph API, or cannot be linked. "
            "Install the package libdnnl-dev (3.2 or newer), or name another with -Ddnnl_ROOT=<prefix>.")
    endif()

    cmake_path(IS_PREFIX DYNQUANT_DEPS "${dnnl_DIR}" NORMALIZE DYNQUANT_ONEDNN_BUNDLED)
    message(STATUS "oneDNN ${dnnl_VERSION} (${DNNL_CPU_RUNTIME}) in ${dnnl_DIR}; oneTBB ${TBB_VERSION}")
    set(DYNQUANT_ONEDNN_INCLUDE $<TARGET_PROPERTY:DNNL::dnnl,INTERFACE_INCLUDE_DIRECTORIES>)
else() # only oneDNN's types and statuses are needed
    find_path(DYNQUANT_ONEDNN_INCLUDE oneapi/dnnl/dnnl_version.h
        HINTS "${dnnl_ROOT}/include" "$ENV{dnnl_ROOT}/include" PATHS "${DYNQUANT_DEPS}/include")
    set(found "none were found")
    if(DYNQUANT_ONEDNN_INCLUDE)
        file(STRINGS "${DYNQUANT_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h" lines REGEX "define DNNL_VERSION_(MAJOR|MINOR) ")
        string(REGEX REPLACE "[^0-9;]" "" lines "${lines}")
        list(JOIN lines "." dnnl_VERSION)
        set(found "found ${dnnl_VERSION} in ${DYNQUANT_ONEDNN_INCLUDE}")
    endif()
    if(NOT DYNQUANT_ONEDNN_INCLUDE OR dnnl_VERSION VERSION_LESS DYNQUANT_ONEDNN_MINIMUM)
        message(FATAL_ERROR "oneDNN's headers, ${DYNQUANT_ONEDNN_MINIMUM} or newer, are needed; ${found}. Run scripts/setup, "
            "or install the package libdnnl-dev, or name a folder with -DDYNQUANT_ONEDNN_INCLUDE=<folder>.")
    endif()
    cmake_path(IS_PREFIX DYNQUANT_DEPS "${DYNQUANT_ONEDNN_INCLUDE}" NORMALIZE DYNQUANT_ONEDNN_BUNDLED)
    message(STATUS "oneDNN's headers in ${DYNQUANT_ONEDNN_INCLUDE}; oneTBB ${TBB_VERSION}")
endif()

# dynquant_include_onednn(<target>): adds oneDNN's headers for targets that do not link it; as system headers, so that
# neither warnings nor clang-tidy check them.
function(dynquant_include_onednn target)
    target_include_directories(${target} SYSTEM PRIVATE ${DYNQUANT_ONEDNN_INCLUDE})
endfunction()

# Optional: libdynquant_model parses ONNX's files with protobuf.
find_package(Protobuf QUIET)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL OFF)
