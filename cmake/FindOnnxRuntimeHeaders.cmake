# Finds the headers of ONNX Runtime's C API, 1.17 or newer: OnnxRuntimeHeaders_FOUND and the target
# OnnxRuntimeHeaders::OnnxRuntimeHeaders. Name another place with -DOnnxRuntimeHeaders_INCLUDE_DIR=<folder>.
#
# Those of 1.17, which scripts/setup --checks provides, show at compile time that nothing newer is called. Newer ones do
# as well: libdynquant_ort.so asks every ONNX Runtime for the interface of 1.17 (api_version in
# src/onnxruntime/status.hpp).
find_path(OnnxRuntimeHeaders_INCLUDE_DIR onnxruntime_c_api.h
    PATHS "${DYNQUANT_DEPS}/quark/include/onnxruntime-1.17.0" ${DYNQUANT_ORT_EP_HEADERS}
        "${DYNQUANT_DEPS}/onnxruntime-ep/include"
    PATH_SUFFIXES onnxruntime onnxruntime/core/session)
mark_as_advanced(OnnxRuntimeHeaders_INCLUDE_DIR)

if(OnnxRuntimeHeaders_INCLUDE_DIR)
    file(STRINGS "${OnnxRuntimeHeaders_INCLUDE_DIR}/onnxruntime_c_api.h" version_line REGEX "^#define ORT_API_VERSION ")
    string(REGEX REPLACE "[^0-9]" "" OnnxRuntimeHeaders_API_VERSION "${version_line}")
    set(OnnxRuntimeHeaders_VERSION "1.${OnnxRuntimeHeaders_API_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntimeHeaders
    REQUIRED_VARS OnnxRuntimeHeaders_INCLUDE_DIR VERSION_VAR OnnxRuntimeHeaders_VERSION)

if(OnnxRuntimeHeaders_FOUND AND NOT TARGET OnnxRuntimeHeaders::OnnxRuntimeHeaders)
    add_library(OnnxRuntimeHeaders::OnnxRuntimeHeaders INTERFACE IMPORTED)
    target_include_directories(OnnxRuntimeHeaders::OnnxRuntimeHeaders INTERFACE ${OnnxRuntimeHeaders_INCLUDE_DIR})
endif()
