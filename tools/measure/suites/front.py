"""The models of README's first picture, of the suites networks and transformers: README.md."""

import argparse
import copy
import dataclasses
import pathlib
from collections.abc import Callable, Iterator

from ..models.few_bits import FEW_BITS
from ..models.networks import INT8, INT8_SCALED, TEXT_RECOGNITION, Network
from ..results import Measured, Processor
from ..sessions import PROVIDER, RUNTIME
from ..tables import number, table, times
from . import networks, transformers
from .networks import FLOAT_MODEL


@dataclasses.dataclass(frozen=True)
class Model:
    """of: a network, or the name of a transformer in its suite."""

    title: str
    of: Network | str
    variant: str

    @property
    def weights(self) -> str:
        return "4 bits" if self.variant in FEW_BITS else "int8"


MODELS = (
    Model("CNN: text recognition (PP-OCRv4)", TEXT_RECOGNITION, INT8_SCALED),
    Model("encoder: BERT-base, 4 layers, 128 tokens", "BERT-base, 4 layers, 1x128", INT8),
    Model("decoder's step: GPT-2, 4 layers", "GPT-2, 4 layers, step after 64", INT8),
    Model("prompt: Llama-like, 4 layers, 128 tokens", "Llama-like, 4 layers, 128 at once", FEW_BITS[0]),
)


def _measured(model: Model, given: argparse.Namespace, say: Callable[[str], None]) -> Iterator[Measured]:
    if isinstance(model.of, Network):
        return networks.timed_variant(model.of, model.variant, given, say)
    its = copy.copy(given)
    its.only, its.few_bits = model.of, model.variant in FEW_BITS
    return transformers.measure(its, lambda what, of=0: say(what))  # the counts are of that suite


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    for model in MODELS:
        if given.only not in model.title:
            continue
        for m in _measured(model, given, say):
            if m.facts.get("variant") == model.variant and PROVIDER in m.times and FLOAT_MODEL in m.times:
                yield Measured("front", model.title, m.threads, m.times, m.least)


def _each(results: list[Measured]) -> Iterator[tuple[Model, Measured]]:
    """Those that were measured, on one thread."""
    by_title = {m.case: m for m in results if m.threads == 1}
    return ((model, by_title[model.title]) for model in MODELS if model.title in by_title)


def tables(results: list[Measured]) -> dict[str, list[str]]:
    header = ["one thread, ms", "weights", FLOAT_MODEL, RUNTIME, "dynquant's provider", "provider, times ONNX Runtime", "times the float model"]
    rows = [[model.title, model.weights, *(number(1e3 * m.median(peer)) for peer in (FLOAT_MODEL, RUNTIME, PROVIDER)),
             times(m, RUNTIME, PROVIDER), times(m, FLOAT_MODEL, PROVIDER)] for model, m in _each(results)]  # fmt: skip
    return {"front": table(header, rows)}


def draw(processors: list[Processor], figures: pathlib.Path) -> None:
    """A panel for each model, since their times lie far apart."""
    from ..charts import GOOD, newest, plt, save
    from ..charts import RUNTIME as COLOR

    some = list(_each(newest(processors, "front")))
    colors = {FLOAT_MODEL: "#888888", RUNTIME: COLOR, PROVIDER: GOOD}
    figure, panels = plt.subplots(2, 2, figsize=(8, 3.6))
    for axes, (model, m) in zip(panels.flat, some):
        labels = {FLOAT_MODEL: "float", RUNTIME: "ONNX Runtime", PROVIDER: "with dynquant"}
        values = [1e3 * m.median(peer) for peer in labels]
        axes.barh(list(labels.values()), values, color=[colors[peer] for peer in labels])
        for place, value in enumerate(values):
            axes.text(value, place, f" {number(value)} ms", va="center", fontsize=9, fontweight="bold" if place == 2 else None)
        axes.invert_yaxis()
        axes.set(xlim=(0, 1.2 * max(values)), xticks=[])
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.grid(visible=False)
        axes.set_title(f"{model.title}, {model.weights}", fontsize=9, loc="left")
        axes.tick_params(axis="y", labelsize=8)
    save(figure, figures / "front.svg")
