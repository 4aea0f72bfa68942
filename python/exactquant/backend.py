"""Builds by scikit-build-core. `core` has the sources that dynquant's core is made of, of which a source distribution has a
copy: in a checkout they are two folders up."""

import contextlib
import pathlib
import shutil
from collections.abc import Iterator

from scikit_build_core import build as scikit_build
from scikit_build_core.build import get_requires_for_build_sdist, get_requires_for_build_wheel  # noqa: F401: hooks

HERE = pathlib.Path(__file__).parent
CORE = HERE / "core"
COPIED = "CMakeLists.txt", "cmake", "include", "src"
LICENCES = "LICENSE", "NOTICE"


@contextlib.contextmanager
def _core() -> Iterator[None]:
    root = HERE.parent.parent
    if CORE.exists() or not (root / "include/dynquant").exists():
        yield
        return
    try:
        CORE.mkdir()
        for name in COPIED:
            (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, CORE / name)
        for name in LICENCES:
            shutil.copy(root / name, HERE / name)
        yield
    finally:
        shutil.rmtree(CORE)
        for name in LICENCES:
            (HERE / name).unlink(missing_ok=True)


def build_sdist(*args: object) -> str:
    with _core():
        return scikit_build.build_sdist(*args)


def build_wheel(*args: object) -> str:
    with _core():
        return scikit_build.build_wheel(*args)


def prepare_metadata_for_build_wheel(*args: object) -> str:
    with _core():
        return scikit_build.prepare_metadata_for_build_wheel(*args)
