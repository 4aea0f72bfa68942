"""dynquant as a library that ONNX Runtime loads: its execution provider DynquantExecutionProvider, and the operators of
its domains and of AMD Quark's."""

import pathlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["get_ep_name", "get_ep_names", "get_library_path", "register", "session"]

OLDEST = (1, 23)  # with the interface of execution providers


def session(
    model: "str | pathlib.Path | bytes", session_options: "onnxruntime.SessionOptions | None" = None, **options: object
) -> "onnxruntime.InferenceSession":
    """A session with the provider, which needs no register() before. options: the provider's, such as
    activation_scales="per_row". ValueError if one is wrong. Where the provider fails there is an exception, and no
    session without it. The session_options get the provider: each session() needs ones of its own, else ValueError."""
    register()
    import onnxruntime

    devices = _devices()
    if not devices:
        raise RuntimeError(f"ONNX Runtime {onnxruntime.__version__} finds no processor for the provider")
    chosen = session_options or onnxruntime.SessionOptions()
    texts = {key: str(int(value) if isinstance(value, bool) else value) for key, value in options.items()}
    try:
        chosen.add_provider_for_devices(devices[:1], texts)
        return onnxruntime.InferenceSession(model, chosen, enable_fallback=0)
    except Exception as error:  # ONNX Runtime's have no common base
        wrong = re.search(r"dynquant: (option .+)", str(error))
        if wrong:
            raise ValueError(wrong[1]) from None
        if "already been registered" in str(error):
            raise ValueError("session_options: expected ones without the provider, given those of an earlier session()") from None
        raise


def register() -> None:
    """Makes ONNX Runtime load the library, unless it has: for sessions with providers=[get_ep_name(), ...], in ONNX
    Runtime 1.25 and newer. RuntimeError if ONNX Runtime is too old."""
    path = get_library_path()  # first, as an ONNX Runtime that is too old may lack the functions
    import onnxruntime

    if not _devices():
        onnxruntime.register_execution_provider_library(get_ep_name(), path)


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


def _devices() -> list:
    """Of the provider, wherever and by whichever name it was registered."""
    import onnxruntime

    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == get_ep_name()]


def _check_version(version: str) -> None:
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise RuntimeError(f"ONNX Runtime {version} is too old for onnxruntime-ep-dynquant: expected 1.23.2 or newer")
