# The maintainer fills in REPO and SHA512 when a version has a tag. This port has not been built.
vcpkg_from_github(OUT_SOURCE_PATH SOURCE_PATH REPO "" REF "v${VERSION}" SHA512 0)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURES FEATURES graph DYNQUANT_GRAPH)
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${FEATURES} -DDYNQUANT_BUILD_TESTS=OFF
    -DDYNQUANT_BUILD_TOOLS=OFF -DDYNQUANT_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/dynquant)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
