"""What is lost when int8 takes the place of a float model, on two tasks with real weights: lines of text that are read, and
nearest neighbours of embeddings: docs/onnx.md, What int8 loses."""

import argparse
import dataclasses
import logging
import math
import pathlib
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator

import numpy
import onnx
import onnxruntime

from ..arguments import ROOT
from ..models import minilm, pictures
from ..models.networks import DYNAMIC, FLOAT, INT8, INT8_PRODUCTS, INT8_SCALED, TEXT_RECOGNITION, UINT8, eligible_layers, quantized, read
from ..models.texts import descriptions
from ..results import Measured, short
from ..scores import cosines, edit_distance, nearest, recall
from ..sessions import RUNTIME, Peer, claimed_products, provider_peer, session
from ..tables import number, table
from .embeddings import NEIGHBOURS, PER_ROW, PER_TENSOR, batches, encoder, padded, pooled
from .networks import difference

OCR, EMBEDDINGS = "ocr", "embeddings"
VARIANTS = {OCR: (INT8, UINT8, INT8_SCALED, INT8_PRODUCTS), EMBEDDINGS: DYNAMIC}
LINES, LINE_LENGTHS, LINES_OF_A_BATCH = 200, range(8, 25), 6
INDEXED, QUERIES, LEAST_WORDS = 1000, 500, 3

Answers = dict[str, list]  # of each peer


@dataclasses.dataclass(frozen=True)
class Task:
    """inputs: of each run. values: what is compared, of a run's inputs and output. answers: what the values mean, one for each
    text of the run. facts: of all answers, the float model's, and those of the same file in ONNX Runtime."""

    name: str
    model: onnx.ModelProto
    inputs: list[dict[str, numpy.ndarray]]
    values: Callable[[dict[str, numpy.ndarray], numpy.ndarray], numpy.ndarray]
    answers: Callable[[numpy.ndarray], list]
    facts: Callable[[list, list, list], dict]


def without_spaces(text: str) -> str:
    return text.replace(" ", "")


def line_facts(texts: list[str], given: list[str], runtime: list[str]) -> dict:
    """Spaces do not count: the network adds some at the ends of a line."""
    errors = [edit_distance(without_spaces(text), without_spaces(one)) for text, one in zip(texts, given, strict=True)]
    return {"lines": len(texts), "right": errors.count(0), "errors": sum(errors), "characters": len(without_spaces("".join(texts))),
            "unlike": sum(one != other for one, other in zip(given, runtime, strict=True))}  # fmt: skip


def lines(texts: list[str]) -> Task:
    model = read(TEXT_RECOGNITION, ROOT / ".deps/networks")
    classes = pictures.alphabet(next(one.value for one in model.metadata_props if one.key == "character"))
    chosen = [text for text in texts if len(text) in LINE_LENGTHS][:LINES]
    drawn = sorted(((pictures.draw(text), text) for text in chosen), key=lambda one: (one[0].shape[1], one[1]))  # so that batches have little padding
    some = [drawn[start : start + LINES_OF_A_BATCH] for start in range(0, len(drawn), LINES_OF_A_BATCH)]
    return Task(OCR, model, [{"x": pictures.batch([picture for picture, _ in one])} for one in some],
                lambda _, output: output, lambda values: pictures.texts_of(values, classes),
                lambda given, _, runtime: line_facts([text for _, text in drawn], given, runtime))  # fmt: skip


def neighbour_facts(sections: list[str], given: numpy.ndarray, reference: numpy.ndarray, runtime: numpy.ndarray) -> dict:
    """The last QUERIES embeddings are queries, the others are indexed."""

    def found(of: numpy.ndarray) -> numpy.ndarray:
        return nearest(of[-QUERIES:] @ of[:-QUERIES].T, NEIGHBOURS)

    near = found(given)
    same = sum(sections[first] == wanted for first, wanted in zip(near[:, 0], sections[-QUERIES:], strict=True))
    to_float = cosines(reference, given)
    return {"queries": QUERIES, "indexed": len(given) - QUERIES, "cosine": [min(to_float), statistics.mean(to_float)],
            "first": short(recall(found(reference)[:, :1], near[:, :1])), "ten": short(recall(found(reference), near)), "section": same,
            "unlike": sum(set(a) != set(b) for a, b in zip(found(runtime).tolist(), near.tolist(), strict=True))}  # fmt: skip


def embeddings(sections: dict[str, str]) -> Task:
    weights, tokens = encoder(ROOT / ".deps/embeddings")
    chosen = [text for text in sections if len(text.split()) >= LEAST_WORDS][: INDEXED + QUERIES]
    some = [tokens(text) for text in chosen]
    inputs = [padded(one) for one in (*batches(some[:INDEXED]), *batches(some[INDEXED:], 1))]
    return Task(EMBEDDINGS, minilm.model(weights), inputs, pooled, list,
                lambda *answers: neighbour_facts([sections[text] for text in chosen], *map(numpy.stack, answers)))  # fmt: skip


def run(task: Task, sessions: dict[str, onnxruntime.InferenceSession], say: Callable[[str], None]) -> tuple[Answers, dict[str, dict]]:
    """Of each session its answers, and how its values differ from the first one's: the largest difference over the largest
    value of a run, and the runs with another bit."""
    answers: Answers = {name: [] for name in sessions}
    differs = {name: {"differs": 0.0, "other runs": 0, "runs": len(task.inputs)} for name in sessions}
    for index, inputs in enumerate(task.inputs):
        if index % math.ceil(len(task.inputs) / 4) == 0:
            say(f"run {index} of {len(task.inputs)}")
        values = {name: task.values(inputs, *one.run(None, inputs)) for name, one in sessions.items()}
        first = next(iter(values.values()))
        for name, some in values.items():
            answers[name] += task.answers(some)
            differs[name]["differs"] = float(numpy.maximum(differs[name]["differs"], short(difference([first], [some]))))
            differs[name]["other runs"] += int(not numpy.array_equal(first, some))
    return answers, differs


def _task(task: Task, variants: list[str], given: argparse.Namespace, say: Callable, folder: pathlib.Path) -> Iterator[Measured]:
    answers, differs = run(task, {FLOAT: session(task.model.SerializeToString(), Peer(RUNTIME), 1)}, lambda what: say(f"{task.name}, float: {what}"))
    reference, provider = answers[FLOAT], provider_peer(given.build).provider
    peers = Peer(RUNTIME), Peer(PER_TENSOR, provider=provider), Peer(PER_ROW, provider=provider, options={"activation_scales": "per_row"})
    yield Measured("accuracy", f"{task.name}, {FLOAT}", 1, facts=task.facts(reference, reference, reference) | differs[FLOAT])
    for variant in variants:
        name = f"{task.name}, {variant}"
        model = quantized(task.model, variant, folder)
        sessions = {peer.name: session(model.SerializeToString(), peer, 1) for peer in peers}
        answers, differs = run(task, sessions, lambda what: say(f"{name}: {what}"))  # noqa: B023
        for peer in peers:
            claimed = {"claimed": claimed_products(sessions[peer.name]), "eligible": eligible_layers(model)} if peer.provider else {}
            some = answers[peer.name]
            yield Measured("accuracy", f"{name}, {peer.name}", 1, facts=task.facts(some, reference, answers[RUNTIME]) | differs[peer.name] | claimed)


def packages() -> dict[str, str]:
    """The sections of Debian's packages by their descriptions."""
    found = descriptions(subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout)
    if len(found) < 20 * (INDEXED + QUERIES):
        raise RuntimeError(f"apt-cache dumpavail: expected the descriptions of a release's packages, given {len(found)}; apt-get update fetches them")
    return found


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    onnxruntime.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's quantization
    sections = packages()
    chosen = {name: [variant for variant in variants if given.only in f"{name}, {variant}"] for name, variants in VARIANTS.items()}
    steps = sum(4 * (1 + len(variants)) for variants in chosen.values() if variants)
    with tempfile.TemporaryDirectory() as folder:
        for name, make in ((OCR, lambda: lines(list(sections))), (EMBEDDINGS, lambda: embeddings(sections))):
            if chosen[name]:
                yield from _task(make(), chosen[name], given, lambda what: say(what, steps), pathlib.Path(folder))


def _difference(facts: dict) -> str:
    """From ONNX Runtime's of the same file."""
    if not facts["other runs"]:
        return "none"
    percent = 100 * facts["differs"]
    return f"{number(percent) if percent >= 10 else f'{percent:.2g}'} %, in {facts['other runs']} of {facts['runs']} runs"


def _claimed(facts: dict) -> str:
    return f"{facts['claimed']} of {facts['eligible']}" if "claimed" in facts else ""


def _line_cells(facts: dict) -> list[str]:
    return [f"{facts['right']} of {facts['lines']}", f"{100 * facts['errors'] / facts['characters']:.2f} %", f"{facts['unlike']}"]


def _neighbour_cells(facts: dict) -> list[str]:
    least, mean = (f"{math.floor(1e5 * value) / 1e5:.5f}" for value in facts["cosine"])
    return [least, mean, f"{100 * facts['first']:.1f} %", f"{100 * facts['ten']:.1f} %", f"{100 * facts['section'] / facts['queries']:.1f} %", f"{facts['unlike']}"]


TABLES = {
    OCR: (["text recognition", "claimed layers", "lines right", "characters wrong", "lines read otherwise than in ONNX Runtime"], _line_cells),
    EMBEDDINGS: (["sentence encoder", "claimed layers", "cosine to float: least", "mean", "recall@1", "recall@10",
                  "nearest one of the same section", "queries whose ten differ from ONNX Runtime's"], _neighbour_cells),
}  # fmt: skip


def tables(results: list[Measured]) -> dict[str, list[str]]:
    result = {}
    for name, (header, cells) in TABLES.items():
        rows = [[m.case.removeprefix(f"{name}, "), _claimed(m.facts), *cells(m.facts), _difference(m.facts)] for m in results if m.case.startswith(name)]
        if rows:
            result[f"accuracy {name}"] = table([*header, "largest difference from ONNX Runtime"], rows)
    return result
