"""A conan 2 recipe for the sources that it lies in: `conan create packaging/conan`. What dynquant links comes from the system:
`-c tools.system.package_manager:mode=install` lets conan install it, as root, where apt is."""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.system.package_manager import Apt

SOURCES = ("CMakeLists.txt", "LICENSE", "NOTICE", "cmake/*", "include/*", "models/*", "src/*", "third_party/*")


class Dynquant(ConanFile):
    """Without the option `graph` it needs no oneDNN, and has neither the Graph API nor models."""

    name = "dynquant"
    license = "Apache-2.0"
    description = "Exact quantization of tensors on CPUs: a backend for oneDNN Graph and ONNX"
    topics = ("quantization", "onednn", "onnx", "simd")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"graph": [True, False]}  # noqa: RUF012: conan's form
    default_options = {"graph": True}  # noqa: RUF012

    def _root(self) -> pathlib.Path:
        return pathlib.Path(self.recipe_folder).parent.parent

    def set_version(self) -> None:
        header = (self._root() / "include/dynquant/version.hpp").read_text()
        self.version = ".".join(re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self) -> None:
        for pattern in SOURCES:
            copy(self, pattern, str(self._root()), self.export_sources_folder)

    def system_requirements(self) -> None:
        apt = Apt(self)
        apt.install(["libtbb-dev"], check=True)
        if self.options.graph:
            apt.install(["libdnnl-dev", "libprotobuf-dev", "protobuf-compiler"], check=True)

    def validate(self) -> None:
        given = f"{self.settings.os} on {self.settings.arch}"
        if given not in ("Linux on x86_64", "Linux on armv8"):
            raise ConanInvalidConfiguration(f"dynquant: expected Linux on x86_64 or armv8, given {given}")

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables |= {
            "DYNQUANT_GRAPH": "ON" if self.options.graph else "OFF",
            "DYNQUANT_BUILD_TESTS": False,
            "DYNQUANT_BUILD_TOOLS": False,
            "DYNQUANT_BUILD_EXAMPLES": False,
            "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG",  # as dynquant's preset, which is measured; -O3 is larger
        }
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()
        for text in ("LICENSE", "NOTICE"):
            copy(self, text, self.source_folder, str(pathlib.Path(self.package_folder) / "licenses"))

    def package_info(self) -> None:
        self.cpp_info.libs = ["dynquant"]
        self.cpp_info.set_property("cmake_find_mode", "none")  # it has a CMake package of its own
        self.cpp_info.builddirs = ["lib/cmake/dynquant"]
