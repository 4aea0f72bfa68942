"""scripts/compare-onnxruntime: times dynquant's operators in ONNX Runtime against its own and against Quark's.

Start at main(): cases.py lists the nodes, measure.py times a node, sessions.py builds its model and runs it, page.py
writes the tables. networks/ measures whole networks (--networks), layers/ models of one layer (--layers), embeddings/ what
int8 does to a sentence encoder (--embeddings), weight_only/ layers whose weights alone are quantized (--weight-only).
"""

import argparse
import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Iterable

from .arguments import parse, parser
from .cases import QUARK, all_cases
from .measure import measure
from .page import tables
from .result import Result
from .sessions import Peer

DEPENDENCIES = pathlib.Path(__file__).resolve().parents[2] / ".deps"


def _load(path: pathlib.Path | None, of: type) -> list:
    return [of(**fields) for fields in json.loads(path.read_text())] if path and path.exists() else []


def _save(results: Iterable, path: pathlib.Path | None) -> None:
    if path:
        path.write_text(json.dumps([dataclasses.asdict(one) for one in results]))


def _say(text: str) -> None:
    print(f"compare-onnxruntime: {text}", file=sys.stderr, flush=True)


def main() -> int:
    given, options = parse(), parser()
    if given.networks:
        return _networks(given, options)
    if given.layers:
        return _layers(given, options)
    if given.embeddings:
        return _embeddings(given)
    if given.weight_only:
        return _weight_only(given, options)
    dynquant = Peer("dynquant", str(given.library), "dynquant")
    onnxruntime = Peer("ONNX Runtime")
    quark = Peer("Quark", str(given.quark)) if given.quark.exists() else None
    cases = [(case, quark if case.domain == QUARK else onnxruntime) for case in all_cases() if given.only in case.key]
    cases = [(case, peer) for case, peer in cases if peer]
    if not cases:
        options.error(f"argument --only: expected a part of the name of a node that is measured, given '{given.only}'")
    results = {(r.key, r.threads): r for r in _load(given.results, Result)}
    for threads in given.threads:
        for case, peer in cases:
            _say(f"{case.key}, threads {threads}")
            r = measure(case, threads, dynquant, peer, given.rounds, given.milliseconds / 1e3)
            if r.refusal:
                print(f"  {peer.name}: {r.refusal}", file=sys.stderr)
            results[r.key, r.threads] = r
    _save(results.values(), given.results)
    if given.chart:
        from .chart import draw  # needs matplotlib

        draw(list(results.values()), given.chart)
    _write(tables(list(results.values())), given)
    return 0


def _networks(given: argparse.Namespace, options: argparse.ArgumentParser) -> int:
    from .networks import compare, page, result  # needs ONNX Runtime's tools for quantization

    results = result.Results.load(given.results)
    settings = compare.Settings(DEPENDENCIES / "networks", str(given.library), given.threads, given.rounds, given.milliseconds / 1e3)
    if not compare.compare(settings, given.only, results):
        options.error(f"argument --only: expected a part of the name of a network, of the cost of a node or of convolutions, given '{given.only}'")
    if given.results:
        results.save(given.results)
    _write(page.tables(results), given, "Time relative to int8 in ONNX Runtime")
    if given.chart:
        from .networks import chart  # needs matplotlib

        chart.draw(results, given.chart)
    return 0


def _layers(given: argparse.Namespace, options: argparse.ArgumentParser) -> int:
    from .layers import compare, models, page, result

    layers = [layer for layer in models.all_layers() if given.only in layer.name]
    if not layers:
        options.error(f"argument --only: expected a part of the name of a layer, given '{given.only}'")
    runtime, provider = Peer("ONNX Runtime"), Peer("provider", provider=str(given.library))
    results = {t.key: t for t in _load(given.results, result.Timed)}
    for threads in given.threads:
        for i, layer in enumerate(layers):
            _say(f"{i + 1} of {len(layers)}: {layer.name}, threads {threads}")
            t = compare.measure(layer, threads, runtime, provider, given.rounds, given.milliseconds / 1e3)
            results[t.key] = t
    _save(results.values(), given.results)
    _write(page.tables(list(results.values())), given)
    return 0


def _embeddings(given: argparse.Namespace) -> int:
    from .embeddings import compare, page, result  # needs ONNX Runtime's tools for quantization

    _say("quantizes the model")
    comparison = compare.Comparison(DEPENDENCIES / "embeddings", str(given.library))
    results = {e.key: e for e in _load(given.results, result.Embedded)}
    for threads in given.threads:
        for e in comparison.measure(threads, given.rounds, given.milliseconds / 1e3, _say):
            results[e.key] = e
    _save(results.values(), given.results)
    _write(page.tables(list(results.values())), given, "Cosines of each text's embeddings")
    if given.chart:
        from .embeddings import chart  # needs matplotlib

        chart.draw(list(results.values()), given.chart)
    return 0


def _weight_only(given: argparse.Namespace, options: argparse.ArgumentParser) -> int:
    from .weight_only import chains, compare, page, result

    some = [chain for chain in chains.all_chains() if given.only in chain.name]
    if not some:
        options.error(f"argument --only: expected a part of the name of a chain, given '{given.only}'")
    provider = Peer("provider", provider=str(given.library))
    results = {m.key: m for m in _load(given.results, result.Measured)}
    for threads in given.threads:
        for i, chain in enumerate(some):
            _say(f"{i + 1} of {len(some)}: {chain.name}, threads {threads}")
            m = compare.measure(chain, threads, provider, given.rounds, given.milliseconds / 1e3)
            results[m.key] = m
    _save(results.values(), given.results)
    _write(page.tables(list(results.values())), given)
    return 0


def _write(text: str, given: argparse.Namespace, picture: str = "") -> None:
    """picture: what the chart shows, which then stands above the tables."""
    if picture and given.chart and given.tables:
        text = f"![{picture}]({os.path.relpath(given.chart, given.tables.parent)})\n\n{text}"
    if given.tables:
        given.tables.write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
