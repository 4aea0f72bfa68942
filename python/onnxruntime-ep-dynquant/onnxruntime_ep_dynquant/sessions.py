"""Sessions of ONNX Runtime with the provider and without it, and what the provider claims of a model."""

import contextlib
import dataclasses
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator

import onnxruntime

from . import get_ep_name, get_library_path
from .refusal import Refusal


def register() -> None:
    """Makes ONNX Runtime load the provider's library."""
    try:
        path = get_library_path()  # first, as an ONNX Runtime that is too old may lack the function
        onnxruntime.register_execution_provider_library(get_ep_name(), path)
    except Exception as error:  # ONNX Runtime's have no common base
        raise Refusal(reason_of(error)) from None


def session(path: str, *, provider: bool, threads: int = 0, verbose: bool = False) -> onnxruntime.InferenceSession:
    """threads: 0 for all. verbose: says what is claimed, on stderr."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 2 if verbose else 4
    if not provider:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == get_ep_name()]
    if not devices:
        raise Refusal(f"ONNX Runtime {onnxruntime.__version__} finds no processor for the provider")
    options.add_provider_for_devices(devices[:1], {"verbose": "1" if verbose else "0"})
    return onnxruntime.InferenceSession(path, options, enable_fallback=0)  # a provider that fails is an error


def reason_of(error: Exception) -> str:
    """ONNX Runtime's message without its prefix, "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : ", and in one line."""
    return " ".join(re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error)).split())


@dataclasses.dataclass
class Claims:
    """layers_and_nodes: what is claimed, as the operators of each layer, or of a single node. left: the number of nodes
    by operator and reason. inputs: the model's, with name, shape and type."""

    layers_and_nodes: list[list[str]] = dataclasses.field(default_factory=list)
    left: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    inputs: list = dataclasses.field(default_factory=list)


def claims(path: str) -> Claims:
    """Refuses a model that does not open, and one that has nothing to claim or leave."""
    failure, inputs = None, []
    with _captured_stderr() as captured:
        try:
            inputs = session(path, provider=True, threads=1, verbose=True).get_inputs()
        except Refusal:
            raise
        except Exception as error:
            failure = error
    # Each once: of a model with functions ONNX Runtime asks before it inlines them, and after.
    lines = list(dict.fromkeys(re.findall(r"\bdynquant: (claims|leaves) (.+?)(?:\x1b\[m)?$", captured[0], re.MULTILINE)))
    for verb, text in lines:
        if verb == "leaves" and (reason := re.match("all nodes: (.+)", text)):
            raise Refusal(f"nothing is claimed in ONNX Runtime {onnxruntime.__version__}: {reason[1]}")
    if failure:
        raise Refusal(f"{path} is no model that ONNX Runtime {onnxruntime.__version__} can run: {reason_of(failure)}")
    result = read_claims(lines)
    result.inputs = inputs
    if not result.layers_and_nodes and not result.left:
        raise Refusal(
            f"{path} has no quantized layers, and nothing that the provider could claim. "
            "onnxruntime.quantization.quantize_dynamic makes such models"
        )
    return result


# A node as the library names it: 'name' (operator), where \ stands before a quote or \ of the name.
NODE = r"'(?:[^'\\]|\\.)*' \((\w+)\)"


def read_claims(lines: list[tuple[str, str]]) -> Claims:
    """lines: verb and the rest, as the provider's option verbose logs them. Reasons are the same if they differ in the
    name of a node."""
    result = Claims()
    for verb, text in lines:
        if verb == "claims":
            result.layers_and_nodes.append(re.findall(NODE, text))
        elif node := re.match(NODE + ": (.*)", text):
            result.left[node[1], re.sub(NODE, r"\1", node[2])] += 1
    return result


@contextlib.contextmanager
def _captured_stderr() -> Iterator[list[str]]:
    """A list to which the text that the process writes to stderr is added at the end, also what libraries write."""
    captured: list[str] = []
    if sys.stderr is not None:  # it is closed
        sys.stderr.flush()
    try:
        before = os.dup(2)
    except OSError:  # it is closed; what is opened next may get its number
        before = os.open(os.devnull, os.O_WRONLY)
    with open(os.memfd_create("stderr"), "r+b") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield captured
        finally:
            os.dup2(before, 2)
            if before != 2:
                os.close(before)
            file.seek(0)
            captured.append(file.read().decode(errors="replace"))
