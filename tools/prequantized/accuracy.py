"""Accuracy of the digits networks, float and codified, and whether dqmodel and ONNX Runtime compute the same bits."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator

import numpy
import onnx

from . import digits, integer, network, runtime
from .dqmodel import DqModel
from .export import model_of
from .result import Outcome, Variant

NETWORKS: dict[str, Callable[[str], network.Network]] = {"MLP": network.mlp, "CNN": network.cnn}
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid")


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained float network. scores: ONNX Runtime's, of the test images."""

    network: str
    activation: str
    model: onnx.ModelProto
    scores: numpy.ndarray


def variants(activation: str) -> list[Variant]:
    """Only Tanh and Sigmoid have the float16 variant; without it they are tables of 8 bits."""
    return [Variant(r, a) for r in ("1mul", "2mul") for a in (("int8",) if activation == "Relu" else ("int8", "fp16"))]


def trained(split: digits.Split) -> Iterator[Trained]:
    for name, make in NETWORKS.items():
        for activation in ACTIVATIONS:
            layers = make(activation)
            network.train(layers, split.train)
            model = model_of(layers, f"digits_{name.lower()}_{activation.lower()}")
            yield Trained(name, activation, model, runtime.session(model, {"images": split.test.images})["scores"])


def write(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Writes the float models, the calibration images, and the test images with their labels."""
    folder.mkdir(parents=True, exist_ok=True)
    split = digits.split()
    for name, values in (("calibration", split.calibration.images), ("test", split.test.images), ("labels", split.test.labels)):
        numpy.save(folder / f"{name}.npy", values)
        yield folder / f"{name}.npy"
    for net in trained(split):
        path = folder / f"{net.network.lower()}_{net.activation.lower()}.onnx"
        onnx.save(net.model, path)
        yield path


def differing_bits(a: numpy.ndarray, b: numpy.ndarray) -> int:
    """The number of elements that differ in bits; all of them if shape or type differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return max(a.size, b.size)
    return int((a.view(numpy.uint32) != b.view(numpy.uint32)).sum())


def outcome(net: Trained, variant: Variant, split: digits.Split, dqmodel: DqModel) -> Outcome:
    """Raises the errors of onnx.checker and ONNX Runtime for an invalid model."""
    codified = dqmodel.codify(net.model, split.calibration.images, *variant.options)
    onnx.checker.check_model(codified, full_check=True)
    values = runtime.node_by_node(codified, {"images": split.test.images})
    expected = values["scores"]
    session = runtime.session(codified, {"images": split.test.images})["scores"]
    given = dqmodel.run(codified, split.test.images).outputs["scores"]
    unfused = dqmodel.run(codified, split.test.images, "--no-fuse").outputs["scores"]
    return Outcome(
        net.network,
        net.activation,
        variant,
        network.accuracy(net.scores, split.test.labels),
        network.accuracy(given, split.test.labels),
        differing_bits(given, expected),
        differing_bits(unfused, expected),
        differing_bits(session, expected),
        integer.differences(codified, values),
    )


def outcomes(dqmodel: DqModel) -> Iterator[Outcome]:
    split = digits.split()
    for net in trained(split):
        for variant in variants(net.activation):
            yield outcome(of, variant, split, dqmodel)
