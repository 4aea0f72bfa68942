"""Sessions of ONNX Runtime with the provider and without it, and what the provider claims of a model."""

import contextlib
import dataclasses
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator

import onnxruntime

import onnxruntime_ep_dynquant as package

from .refusal import Refusal


def register() -> None:
    """As the package's, but for the errors."""
    try:
        package.register()
    except Exception as error:  # ONNX Runtime's have no common base
        raise Refusal(reason_of(error)) from None


def session(
    path: str, *, provider: bool, threads: int = 0, options: dict[str, str] | None = None, verbose: bool = False
) -> onnxruntime.InferenceSession:
    """threads: 0 for all. options: the provider's. verbose: says what is claimed, on stderr."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 2 if verbose else 4
    if not provider:
        return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return package.session(path, settings, **{**(options or {}), **({"verbose": "1"} if verbose else {})})


def reason_of(error: Exception) -> str:
    """ONNX Runtime's message without its prefix, "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : ", and in one line."""
    return " ".join(re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error)).split())


@dataclasses.dataclass
class Claims:
    """layers_and_nodes: what is claimed, as the operators of each layer, or of a single node. left: the number of nodes
    by operator and reason. one_scale: the number of DynamicQuantizeLinear to which the option activation_scales gives
    no scales of rows, by reason. inputs: the model's, with name, shape and type."""

    layers_and_nodes: list[list[str]] = dataclasses.field(default_factory=list)
    left: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    one_scale: Counter[str] = dataclasses.field(default_factory=Counter)
    inputs: list = dataclasses.field(default_factory=list)

    def is_qdq(self) -> bool:
        """Whether all that is quantized is between QuantizeLinear and DequantizeLinear, and is left."""
        left = {operator for operator, _ in self.left}
        return not self.layers_and_nodes and {"QuantizeLinear", "DequantizeLinear"} <= left and not left & OF_DYNAMIC


OF_DYNAMIC = {"ConvInteger", "DynamicQuantizeLinear", "MatMulInteger", "MatMulNBits"}


def claims(path: str, options: dict[str, str] | None = None) -> Claims:
    """Refuses a model that does not open, and one that has nothing to claim or leave. options: the provider's."""
    failure, inputs = None, []
    with _captured_stderr() as captured:
        try:
            inputs = session(path, provider=True, threads=1, options=options, verbose=True).get_inputs()
        except Refusal:
            raise
        except Exception as error:
            failure = error
    # Each once: of a model with functions ONNX Runtime asks before it inlines them, and after.
    lines = list(dict.fromkeys(re.findall(LINE, captured[0], re.MULTILINE)))
    for verb, text in lines:
        if verb == "leaves" and (reason := re.match("all nodes: (.+)", text)):
            raise Refusal(f"nothing is claimed in ONNX Runtime {onnxruntime.__version__}: {reason[1]}")
    if isinstance(failure, ValueError) and str(failure).startswith("option "):
        raise Refusal(f"--{failure}")
    if failure:
        raise Refusal(f"{path} is no model that ONNX Runtime {onnxruntime.__version__} can run: {reason_of(failure)}")
    result = read_claims(lines)
    result.inputs = inputs
    if not result.layers_and_nodes and not result.left and (options or {}).get("claim") != "none":
        raise Refusal(
            f"{path} has no quantized layers, as a float model, so that the provider changes nothing: "
            "onnxruntime.quantization.quantize_dynamic makes models that gain"
        )
    return result


LINE = r"\bdynquant: (claims|leaves|keeps one scale of) (.+?)(?:\x1b\[m)?$"
# A node as the library names it: 'name' (operator), where \ stands before a quote or \ of the name.
NODE = r"'(?:[^'\\]|\\.)*' \((\w+)\)"
VALUE = r"(?<!input )(?<!attribute )'[^']*'"  # its name; those of a node's inputs and attributes are in the specification


def read_claims(lines: list[tuple[str, str]]) -> Claims:
    """lines: verb and the rest, as the provider's option verbose logs them. Reasons are the same if they differ in the
    name of a node or a value."""
    result = Claims()
    for verb, text in lines:
        if verb == "claims":
            result.layers_and_nodes.append(re.findall(NODE, text))
        elif node := re.match(NODE + ": (.*)", text):
            reason = re.sub(VALUE, "'...'", re.sub(NODE, r"\1", node[2]))
            if verb == "leaves":
                result.left[node[1], reason] += 1
            else:
                result.one_scale[reason] += 1
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
