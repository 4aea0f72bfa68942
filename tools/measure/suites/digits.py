"""Accuracy of networks of handwritten digits, float and codified, and whether dqmodel and ONNX Runtime compute the same
bits: models/docs/prequantized.md."""

import argparse
import dataclasses
import pathlib
from collections.abc import Callable, Iterator

import numpy
import onnx

from ..models import digits, integer, runtime, training
from ..models.dqmodel import DqModel
from ..results import Measured, Processor, short
from ..tables import table

NETWORKS: dict[str, Callable[[str], training.Network]] = {"MLP": training.mlp, "CNN": training.cnn}
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid")


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained float network. scores: ONNX Runtime's, of the test images."""

    network: str
    activation: str
    model: onnx.ModelProto
    scores: numpy.ndarray


def variants(activation: str) -> list[tuple[str, str]]:
    """Values of dqmodel's options --rescale and --activation. Only Tanh and Sigmoid have the float16 variant; without it they
    are tables of 8 bits."""
    return [(rescale, to) for rescale in ("1mul", "2mul") for to in (("int8",) if activation == "Relu" else ("int8", "fp16"))]


def trained(split: digits.Split) -> Iterator[Trained]:
    for name, make in NETWORKS.items():
        for activation in ACTIVATIONS:
            layers = make(activation)
            training.train(layers, split.train)
            model = training.model_of(layers)
            yield Trained(name, activation, model, runtime.session(model, {"images": split.test.images})["scores"])


def write(folder: pathlib.Path, say: Callable) -> None:
    """Writes the float models, the calibration images, and the test images with their labels."""
    folder.mkdir(parents=True, exist_ok=True)
    split = digits.split()
    for name, values in (("calibration", split.calibration.images), ("test", split.test.images), ("labels", split.test.labels)):
        numpy.save(folder / f"{name}.npy", values)
        say(f"written {folder / name}.npy")
    for net in trained(split):
        path = folder / f"{net.network.lower()}_{net.activation.lower()}.onnx"
        onnx.save(net.model, path)
        say(f"written {path}")


def differing_bits(a: numpy.ndarray, b: numpy.ndarray) -> int:
    """The number of elements that differ in bits; all of them if shape or type differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return max(a.size, b.size)
    return int((a.view(numpy.uint32) != b.view(numpy.uint32)).sum())


def outcome(net: Trained, variant: tuple[str, str], split: digits.Split, dqmodel: DqModel) -> Measured:
    """accuracies are from 0 to 1, of float and codified. differing: the scores whose bits differ from ONNX Runtime's node by
    node: of dynquant with and without fused layers, and of ONNX Runtime in one session. integers: how many rescalings differ in
    integer arithmetic, of how many, and the most. Raises the errors of onnx.checker and ONNX Runtime for an invalid model."""
    rescale, to = variant
    codified = dqmodel.codify(net.model, split.calibration.images, f"--rescale={rescale}", f"--activation={to}")
    onnx.checker.check_model(codified, full_check=True)
    values = runtime.node_by_node(codified, {"images": split.test.images})
    session = runtime.session(codified, {"images": split.test.images})["scores"]
    given, unfused = (dqmodel.run(codified, split.test.images, *options).outputs["scores"] for options in ((), ("--no-fuse",)))
    how = rescale if net.activation == "Relu" else f"{rescale}, {to}"
    return Measured("digits", f"{net.network}, {net.activation}, {how}", 1, facts={
        "network": net.network, "activation": net.activation, "how": how,
        "accuracies": [short(training.accuracy(scores, split.test.labels)) for scores in (net.scores, given)],
        "differing": [differing_bits(some, values["scores"]) for some in (given, unfused, session)],
        "integers": list(integer.differences(codified, values)),
    })  # fmt: skip


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    split = digits.split()
    for net in trained(split):
        for variant in variants(net.activation):
            say(f"{net.network}, {net.activation}, {', '.join(variant)}", 20)
            yield outcome(net, variant, split, DqModel(given.build / "models/dqmodel/dqmodel"))


def _equal(fused: int, unfused: int, session: int) -> str:
    if fused or unfused:
        return f"**{fused}** differ fused, **{unfused}** node by node"
    return f"equal node by node; {session} differ in one session" if session else "equal"


def _by_integers(differing: int, elements: int, largest: int) -> str:
    return f"{differing} of {elements} differ, by at most {largest}" if differing else f"all {elements} alike"


def tables(results: list[Measured]) -> dict[str, list[str]]:
    rows = []
    for m in results:
        before, after = m.facts["accuracies"]
        rows.append([m.facts["network"], m.facts["activation"], m.facts["how"], f"{before:.2%}", f"{after:.2%}", f"{100 * (before - after):.2f}",
                     _equal(*m.facts["differing"]), _by_integers(*m.facts["integers"])])  # fmt: skip
    return {"digits": table(["network", "activation", "codified", "float", "codified", "drop, points", "ONNX Runtime", "by integers"], rows)}


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    """A row for each network with rescaling by two Mul."""
    from ..charts import GOOD, SHORT, newest, plt, save

    styles = {
        "float": {"color": "#888888", "marker": "|", "markersize": 16},
        "codified, activation in int8": {"color": GOOD, "marker": "o"},
        "codified, activation in float16": {"color": SHORT, "marker": "D"},
    }

    figure, axes = plt.subplots(figsize=(8, 3.2))
    results = [m for m in newest(processors, "digits") if "2mul" in m.facts["how"]]
    names = list(dict.fromkeys(f"{m.facts['network']}, {m.facts['activation']}" for m in results))[::-1]
    points: dict[str, list[tuple[float, float]]] = {label: [] for label in styles}
    for m in results:
        row, fp16 = names.index(f"{m.facts['network']}, {m.facts['activation']}"), "fp16" in m.facts["how"]
        before, after = m.facts["accuracies"]
        points["codified, activation in float16" if fp16 else "codified, activation in int8"].append((100 * after, row + (-0.12 if fp16 else 0.12)))
        points["float"].append((100 * before, row))
    axes.set_yticks(range(len(names)), names)
    for label, some in points.items():
        axes.plot([x for x, _ in some], [y for _, y in some], linestyle="", label=label, **styles[label])
    axes.set(xlabel="% of 600 images", title="Handwritten digits: accuracy before and after codifying")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3, fontsize=8)
    save(figure, figures / "digits.svg")
