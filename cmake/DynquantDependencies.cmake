# Finds dynquant's dependencies: oneTBB (TBB::tbb) and, with DYNQUANT_GRAPH, oneDNN with its Graph API (DNNL::dnnl).
#
# find_package looks for oneDNN in dnnl_ROOT, CMAKE_PREFIX_PATH and the system, and then in .deps/, which scripts/setup
# fills. DYNQUANT_ONEDNN_BUNDLED is set if it is found in .deps/: then it is a component of the installation.

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
if(NOT DYNQUANT_ONLY_ONNXRUNTIME AND NOT DYNQUANT_ONLY_CORE)
    find_package(TBB CONFIG QUIET COMPONENTS tbb)
    if(NOT TBB_FOUND)
        message(FATAL_ERROR "oneTBB was not found. Run scripts/setup, or install the package libtbb-dev.")
    endif()
endif()

# DYNQUANT_GRAPH is ON, OFF or AUTO until here, and ON or OFF from here on. ON must find oneDNN.
if(DYNQUANT_GRAPH)
    find_package(dnnl ${DYNQUANT_ONEDNN_MINIMUM} CONFIG QUIET PATHS "${DYNQUANT_DEPS}")
    if(NOT dnnl_FOUND)
        set(found "none was found")
        if(dnnl_CONSIDERED_VERSIONS)
            list(REMOVE_DUPLICATES dnnl_CONSIDERED_VERSIONS)
            list(JOIN dnnl_CONSIDERED_VERSIONS ", " found)
            string(PREPEND found "found only ")
        endif()
        string(CONCAT onednn_wrong
            "oneDNN ${DYNQUANT_ONEDNN_MINIMUM} or newer, with its Graph API, is needed; ${found}. "
            "Run scripts/setup, which provides it; or install the package libdnnl-dev where it is new enough "
            "(Debian 13 has 3.7, Debian 12 has 2.6); or name an installation with -Ddnnl_ROOT=<prefix>")
    else() # A oneDNN built without Graph lacks the functions, though the headers may be installed.
        include(CheckCXXSourceCompiles)
        set(CMAKE_REQUIRED_LIBRARIES DNNL::dnnl)
        check_cxx_source_compiles("
            #include <oneapi/dnnl/dnnl_graph.hpp>
            int main() { return dnnl::graph::graph(dnnl::engine::kind::cpu).is_finalized() ? 1 : 0; }"
            DYNQUANT_ONEDNN_HAS_GRAPH)
        unset(CMAKE_REQUIRED_LIBRARIES)
        if(NOT DYNQUANT_ONEDNN_HAS_GRAPH)
            unset(DYNQUANT_ONEDNN_HAS_GRAPH CACHE)
            string(CONCAT onednn_wrong
                "oneDNN ${dnnl_VERSION} in ${dnnl_DIR} was built without its Graph API, or cannot be linked. "
                "Install the package libdnnl-dev (3.2 or newer), or name another with -Ddnnl_ROOT=<prefix>")
        endif()
    endif()
    if(onednn_wrong AND NOT DYNQUANT_GRAPH STREQUAL AUTO)
        message(FATAL_ERROR "${onednn_wrong}.")
    endif()
endif()
if(DYNQUANT_GRAPH AND NOT onednn_wrong)
    set(DYNQUANT_GRAPH ON)
    cmake_path(IS_PREFIX DYNQUANT_DEPS "${dnnl_DIR}" NORMALIZE DYNQUANT_ONEDNN_BUNDLED)
    message(STATUS "oneDNN ${dnnl_VERSION} (${DNNL_CPU_RUNTIME}) in ${dnnl_DIR}; oneTBB ${TBB_VERSION}")
    set(DYNQUANT_ONEDNN_INCLUDE $<TARGET_PROPERTY:DNNL::dnnl,INTERFACE_INCLUDE_DIRECTORIES>)
else()
    if(onednn_wrong)
        dynquant_left_out("The Graph API, the drop-in and models are left out: ${onednn_wrong}")
    endif()
    set(DYNQUANT_GRAPH OFF)
    if(TBB_FOUND)
        message(STATUS "No oneDNN; oneTBB ${TBB_VERSION}")
    endif()
endif()

# dynquant_include_onednn(<target>): adds oneDNN's headers, where there are any, for targets that do not link it; as
# system headers, so that neither warnings nor clang-tidy check them.
function(dynquant_include_onednn target)
    if(DYNQUANT_GRAPH)
        target_include_directories(${target} SYSTEM PRIVATE ${DYNQUANT_ONEDNN_INCLUDE})
    endif()
endfunction()

# Optional: libdynquant_model parses ONNX's files with protobuf.
find_package(Protobuf QUIET)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL OFF)

# What the tools and the tests need besides; without it they are left out.
if(DYNQUANT_GRAPH AND DYNQUANT_BUILD_TOOLS)
    find_package(nlohmann_json 3.11 CONFIG QUIET)
    find_package(CLI11 CONFIG QUIET)
    find_path(XXHASH_INCLUDE xxhash.h)
    if(NOT nlohmann_json_FOUND OR NOT CLI11_FOUND OR NOT XXHASH_INCLUDE)
        dynquant_left_out("dqbench and dqmodel are left out: nlohmann-json 3.11 or newer, CLI11 or xxhash.h was not found (Debian: nlohmann-json3-dev, libcli11-dev, libxxhash-dev)")
        set(DYNQUANT_BUILD_TOOLS OFF)
    endif()
endif()
if(DYNQUANT_BUILD_TESTS)
    find_package(GTest QUIET)
    if(NOT GTest_FOUND)
        dynquant_left_out("The tests are left out: GoogleTest was not found (Debian: libgtest-dev)")
        set(DYNQUANT_BUILD_TESTS OFF)
    endif()
endif()
