"""dynquant as a library that ONNX Runtime loads: its execution provider DynquantExecutionProvider, and the operators of
its domains and of AMD Quark's."""

import pathlib
import re

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]

OLDEST = (1, 23)  # with the interface of execution providers


def get_library_path() -> str:
    """The path for onnxruntime.register_execution_provider_library(), and for a session's
    SessionOptions.register_custom_ops_library(). RuntimeError if this Python's ONNX Runtime is too old for the first."""
    try:
        import onnxruntime
    except ImportError:  # the path may be for a program in another language
        pass
    else:
        _check_version(onnxruntime.__version__)
    return str(pathlib.Path(__file__).with_name("libdynquant_onnxruntime.so"))


def get_ep_name() -> str:
    """What devices of onnxruntime.get_ep_devices() have as ep_name."""
    return "DynquantExecutionProvider"


def get_ep_names() -> list[str]:
    """Of all execution providers in the library."""
    return [get_ep_name()]


def _check_version(version: str) -> None:
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise RuntimeError(f"ONNX Runtime {version} is too old for onnxruntime-ep-dynquant: expected 1.23.2 or newer")
