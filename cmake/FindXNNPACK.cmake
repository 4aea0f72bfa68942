# Finds XNNPACK, whose package has no CMake file in some distributions. Sets XNNPACK_FOUND and the target
# XNNPACK::XNNPACK. pthreadpool is needed because xnnpack.h includes its header.
find_path(XNNPACK_INCLUDE_DIR xnnpack.h)
find_path(PTHREADPOOL_INCLUDE_DIR pthreadpool.h)
find_library(XNNPACK_LIBRARY XNNPACK)
find_library(PTHREADPOOL_LIBRARY pthreadpool)
mark_as_advanced(XNNPACK_INCLUDE_DIR PTHREADPOOL_INCLUDE_DIR XNNPACK_LIBRARY PTHREADPOOL_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XNNPACK REQUIRED_VARS
    XNNPACK_LIBRARY XNNPACK_INCLUDE_DIR PTHREADPOOL_LIBRARY PTHREADPOOL_INCLUDE_DIR)

if(XNNPACK_FOUND AND NOT TARGET XNNPACK::XNNPACK)
    add_library(XNNPACK::XNNPACK INTERFACE IMPORTED)
    target_include_directories(XNNPACK::XNNPACK INTERFACE ${XNNPACK_INCLUDE_DIR} ${PTHREADPOOL_INCLUDE_DIR})
    target_link_libraries(XNNPACK::XNNPACK INTERFACE ${XNNPACK_LIBRARY} ${PTHREADPOOL_LIBRARY})
endif()
