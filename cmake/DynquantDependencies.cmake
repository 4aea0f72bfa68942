# Finds what dynquant stands on: oneTBB (TBB::tbb) and oneDNN with its Graph API (DNNL::dnnl).
#
# oneDNN is taken from where find_package looks anyway (dnnl_ROOT, CMAKE_PREFIX_PATH, the system) and
# else from .deps/, which scripts/setup fills. DYNQUANT_ONEDNN_BUNDLED tells whether it is the latter:
# then installing dynquant installs oneDNN with it.

set(DYNQUANT_ONEDNN_MINIMUM 3.2)
set(DYNQUANT_DEPS "${PROJECT_SOURCE_DIR}/.deps")

# dynquant_left_out(<text>): what is left out, and for want of what. An error where nothing may be, as in CI: a test that is
# not there does not fail.
function(dynquant_left_out text)
    if(DYNQUANT_REQUIRE_ALL)
        message(FATAL_ERROR "${text}. DYNQUANT_REQUIRE_ALL allows nothing to be left out; scripts/setup --checks provides it.")
    endif()
    message(STATUS "${text}")
endfunction()

# A project that adds this one as a subdirectory links these targets too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# TBB first: oneDNN's own package may ask for it, with an error that tells no remedy.
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

    # oneDNN can be built without Graph: then it lacks the functions, and its headers may be there all the same.
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
else() # types and statuses alone
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

# dynquant_include_onednn(<target>): oneDNN's headers, for what does not link it. As system headers, which they are where it
# is linked: neither warnings nor clang-tidy are about them, wherever they lie.
function(dynquant_include_onednn target)
    target_include_directories(${target} SYSTEM PRIVATE ${DYNQUANT_ONEDNN_INCLUDE})
endfunction()

# Optional: libdynquant_model reads ONNX's files by it.
find_package(Protobuf QUIET)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL OFF)
