"""Transformers, quantized dynamically, in ONNX Runtime alone and with the execution provider: docs/onnx_speed.md."""

import argparse
import logging
import pathlib
import tempfile
from collections.abc import Callable, Iterator

import numpy
import onnx
import onnxruntime

from ..models.few_bits import FEW_BITS, with_few_bits
from ..models.networks import INT8, INT8_PER_CHANNEL, TRANSFORMER, UINT8, quantized
from ..models.transformers import TRANSFORMERS, Run, Transformer
from ..results import Measured, short
from ..sessions import PROVIDER, RUNTIME, Peer, kept, provider_peer, session
from ..tables import median_and_least, table, threads_label, times
from ..turns import take_turns
from .networks import FLOAT_MODEL, difference, goals, time_left, time_left_table

PAGE = "performance/onnx.md"
# Some versions of ONNX Runtime have a slow kernel for SkipLayerNormalization, which this optimizer makes.
UNFUSED = Peer("without SkipLayerNormFusion", disabled=("SkipLayerNormFusion",))
# Of the largest value. Where sums or floats between layers differ in a bit, activations round to neighbouring codes,
# which the next layers see: up to 2 %. Without VNNI ONNX Runtime's products of int8 weights saturate: up to 16 %, where
# the provider's outputs are up to 12 % from the float model's. A layer that computes something else makes more than
# either.
TOLERANCE = 0.2
# Of a model with weights of few bits: the provider's error is at most so many times ONNX Runtime's and this much.
MOST_ERROR, LEAST_ERROR = 1.25, 1e-4


def name_of(transformer: Transformer, run: Run) -> str:
    return f"{transformer.name}, {run.name}"


def checked_differences(case: str, outputs: dict[str, list[numpy.ndarray]]) -> dict[str, float]:
    """Of the outputs of RUNTIME, PROVIDER and FLOAT_MODEL, over the largest value. The provider's must be near one of
    the other two."""
    differs = difference(outputs[RUNTIME], outputs[PROVIDER])
    of_runtime, of_provider = (difference(outputs[FLOAT_MODEL], outputs[peer]) for peer in (RUNTIME, PROVIDER))
    if not (differs <= TOLERANCE or of_provider <= TOLERANCE):  # so that NaN is refused
        limit = f"{100 * TOLERANCE:.0f} % of the largest value"
        expected = f"expected the provider's outputs within {limit} of ONNX Runtime's or of the float model's"
        raise RuntimeError(f"{case}: {expected}, given {100 * differs:.3g} % and {100 * of_provider:.3g} %")
    from_float = {"runtime from float": short(of_runtime), "provider from float": short(of_provider)}
    return {"differs": short(differs), **from_float}


def _timed(transformer: Transformer, runs: list[Run], variant: str, models: dict[str, onnx.ModelProto], provider: Peer,
           threads: int, given: argparse.Namespace, say: Callable[[str], None]) -> Iterator[Measured]:  # fmt: skip
    """models: the float one and the variant. Sessions last for all runs."""
    sessions = {FLOAT_MODEL: session(models[FLOAT_MODEL].SerializeToString(), Peer(RUNTIME), threads)}
    file = models[variant].SerializeToString()
    sessions |= {peer.name: session(file, peer, threads) for peer in (Peer(RUNTIME), UNFUSED, provider)}
    for run in runs:
        case = f"{name_of(transformer, run)}, {variant}"
        say(f"{case}, threads {threads}")
        inputs = run.inputs(models[FLOAT_MODEL])
        outputs = {name: one.run(None, inputs) for name, one in sessions.items()}  # also the first run, which prepares
        differences = checked_differences(case, outputs)
        turns = take_turns(kept(sessions, inputs), given.rounds, given.seconds)
        of = {"network": name_of(transformer, run), "variant": variant, "kind": TRANSFORMER, **differences}
        yield Measured("transformers", case, threads, *turns, of)


def _relative(expected: list[numpy.ndarray], given: list[numpy.ndarray]) -> float:
    """The root of the mean square of differences over that of the values; of several outputs the worst."""
    return max(float(numpy.linalg.norm(e - g) / (numpy.linalg.norm(e) or 1)) for e, g in zip(expected, given, strict=True))


def _timed_few_bits(transformer: Transformer, runs: list[Run], variant: str, models: dict[str, onnx.ModelProto], provider: Peer,
                    threads: int, given: argparse.Namespace, say: Callable[[str], None]) -> Iterator[Measured]:  # fmt: skip
    """Also the errors of outputs: against the float model's, and against those of the same weights by x in float."""
    file = models[variant].SerializeToString()
    sessions = {FLOAT_MODEL: session(models[FLOAT_MODEL].SerializeToString(), Peer(RUNTIME), threads)}
    sessions |= {peer.name: session(file, peer, threads) for peer in (Peer(RUNTIME), provider)}
    exact = session(with_few_bits(models[FLOAT_MODEL], variant, level=0).SerializeToString(), Peer(RUNTIME), threads)
    for run in runs:
        case = f"{name_of(transformer, run)}, {variant}"
        say(f"{case}, threads {threads}")
        inputs = run.inputs(models[FLOAT_MODEL])
        outputs = {name: one.run(None, inputs) for name, one in sessions.items()}  # also the first run, which prepares
        expected = {"float": outputs[FLOAT_MODEL], "level 0": exact.run(None, inputs)}
        errors = {f"{peer} from {name}": short(_relative(of, outputs[peer])) for name, of in expected.items()
                  for peer in (RUNTIME, PROVIDER)}  # fmt: skip
        for name in expected:
            of_runtime, of_provider = (errors[f"{peer} from {name}"] for peer in (RUNTIME, PROVIDER))
            if not of_provider <= MOST_ERROR * of_runtime + LEAST_ERROR:  # so that NaN is refused
                raise RuntimeError(f"{case}: expected the provider's error from {name} near ONNX Runtime's, {of_runtime:.3g}, "
                                   f"given {of_provider:.3g}")  # fmt: skip
        turns = take_turns(kept(sessions, inputs), given.rounds, given.seconds)
        of = {"network": name_of(transformer, run), "variant": variant, "errors": errors}
        yield Measured("transformers", case, threads, *turns, of)


def _transformer(transformer: Transformer, runs: list[Run], given: argparse.Namespace, say: Callable[[str], None],
                 folder: pathlib.Path) -> Iterator[Measured]:  # fmt: skip
    model, provider = transformer.build(transformer.size), provider_peer(given.build)
    if given.few_bits:
        for variant in FEW_BITS:
            models = {FLOAT_MODEL: model, variant: with_few_bits(model, variant)}
            for threads in given.threads:
                yield from _timed_few_bits(transformer, runs, variant, models, provider, threads, given, say)
        return
    for variant in variants(given):
        # As Optimum does, nothing optimizes the model before.
        models = {FLOAT_MODEL: model, variant: quantized(model, variant, folder, is_optimized_before=False)}
        for threads in given.threads:
            yield from _timed(transformer, runs, variant, models, provider, threads, given, say)
        if variant == INT8 and transformer.runs[0] in runs:
            of = {"network": name_of(transformer, transformer.runs[0]), "variant": variant}
            left = time_left(models[variant], transformer.runs[0].inputs(model), provider, folder)
            yield Measured("transformers", f"{of['network']}, {variant}, time left", 1, facts={**of, **left})


def variants(given: argparse.Namespace) -> tuple[str, ...]:
    if given.few_bits:
        return FEW_BITS
    return (INT8, UINT8, INT8_PER_CHANNEL) if given.per_channel else (INT8, UINT8)


def measure(given: argparse.Namespace, say: Callable) -> Iterator[Measured]:
    onnxruntime.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's tools
    chosen = [(one, [run for run in one.runs if given.only in name_of(one, run)]) for one in TRANSFORMERS]
    steps = sum(len(runs) for _, runs in chosen) * len(variants(given)) * len(given.threads)
    with tempfile.TemporaryDirectory() as folder:
        for one, runs in chosen:
            if runs:
                yield from _transformer(one, runs, given, lambda what: say(what, steps), pathlib.Path(folder))


def _row(m: Measured) -> list[str]:
    peers = FLOAT_MODEL, RUNTIME, UNFUSED.name, PROVIDER
    ratios = [times(m, peer, PROVIDER) for peer in (RUNTIME, UNFUSED.name, FLOAT_MODEL)]
    cells = [median_and_least(m, peer, 1e-3) for peer in peers]
    differ = [f"{100 * m.facts[fact]:.2g} %" for fact in ("differs", "runtime from float", "provider from float")]
    return [m.facts["network"], m.facts["variant"], *cells, *ratios, *differ]


def _few_bits_row(m: Measured) -> list[str]:
    cells = [median_and_least(m, peer, 1e-3) for peer in (FLOAT_MODEL, RUNTIME, PROVIDER)]
    ratios = times(m, RUNTIME, PROVIDER), times(m, FLOAT_MODEL, PROVIDER)
    errors = [f"{100 * m.facts['errors'][f'{peer} from {of}']:.3g} %" for of in ("float", "level 0") for peer in (RUNTIME, PROVIDER)]
    return [m.facts["network"], m.facts["variant"], *cells, *ratios, *errors]


def _by_weights(results: list[Measured]) -> dict[tuple[str, int], list[Measured]]:
    """By their type and the number of threads."""
    result: dict[tuple[str, int], list[Measured]] = {}
    for m in results:
        result.setdefault((m.facts["variant"], m.threads), []).append(m)
    return result


def tables(results: list[Measured]) -> dict[str, list[str]]:
    """The goal, a table for each type of weights and number of threads, and where the time goes."""
    few_bits = [m for m in results if "errors" in m.facts]
    timed, spent = ([m for m in results if fact in m.facts] for fact in ("kind", "operators"))
    result = {"transformers goals": goals(timed, [], None)} if timed else {}
    for (variant, threads), some in _by_weights(timed).items():
        header = [f"{threads_label(threads)}, ms (least)", "weights", FLOAT_MODEL, RUNTIME, UNFUSED.name,
                  "dynquant's provider", "provider, times ONNX Runtime", f"times that {UNFUSED.name}",
                  "times the float model", "differs by", "ONNX Runtime from float", "provider from float"]  # fmt: skip
        result[f"transformers {variant} {threads}"] = table(header, list(map(_row, some)))
    for (variant, threads), some in _by_weights(few_bits).items():
        header = [f"{threads_label(threads)}, ms (least)", "weights", FLOAT_MODEL, RUNTIME, "dynquant's provider",
                  "provider, times ONNX Runtime", "times the float model", "error from float: ONNX Runtime", "provider",
                  "from level 0: ONNX Runtime", "provider"]  # fmt: skip
        result[f"transformers {variant} {threads}"] = table(header, list(map(_few_bits_row, some)))
    if spent:
        result["transformers time"] = time_left_table(spent, 6)
    return result
