"""Measures what --only selects: networks, the cost of a node, and convolutions."""

import dataclasses
import logging
import pathlib
import sys
import tempfile

import onnxruntime

from ..sessions import Peer
from .convolutions import convolutions
from .duration import expected_minutes
from .measure import spent, timed
from .models import NETWORKS, Network, load, variant
from .node_cost import node_costs, profiled_idle
from .process import opened
from .result import FLOAT, INT8, PROVIDER, RUNTIME, STATIC, UINT8, VARIANTS, Results

NODE_COST, CONVOLUTIONS = "cost of a node", "convolutions"


@dataclasses.dataclass(frozen=True)
class Settings:
    """rounds: turns of each peer; seconds: the least duration of a turn."""

    wheels: pathlib.Path
    provider: str
    threads: list[int]
    rounds: int
    seconds: float

    def peers(self) -> dict[str, Peer]:
        return {
            RUNTIME: Peer(RUNTIME),
            PROVIDER: Peer(PROVIDER, provider=self.provider),
        }


def _say(text: str) -> None:
    print(f"compare-onnxruntime: {text}", file=sys.stderr, flush=True)


def _network(network: Network, settings: Settings, folder: pathlib.Path, results: Results) -> None:
    model, peers = load(network, settings.wheels), settings.peers()
    models = {FLOAT: model.SerializeToString()}
    for name in VARIANTS:
        quantized = variant(network, model, name, folder)
        models[name] = quantized.SerializeToString()
        for threads in settings.threads:
            _say(f"{network.name}, {name}, threads {threads}")
            results.add(timed(network, name, models, threads, peers, settings.rounds, settings.seconds))
        if name in (INT8, UINT8):
            results.add(spent(network, name, quantized, peers, profiled_idle(peers[RUNTIME], folder), folder))
        if name in (FLOAT, INT8, STATIC):
            path = folder / "variant.onnx"
            path.write_bytes(models[name])
            for peer in peers.values():
                results.add(opened(network, name, path, peer, folder))


def compare(settings: Settings, only: str, results: Results) -> bool:
    """Adds to the results. False if nothing is selected."""
    onnxruntime.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # of ONNX Runtime's quantization
    networks = [network for network in NETWORKS if only in network.name]
    others = [name for name in (NODE_COST, CONVOLUTIONS) if only in name]
    if not networks and not others:
        return False
    minutes = expected_minutes([n.seconds for n in networks], settings.threads, settings.rounds, settings.seconds)
    _say(f"about {minutes:.0f} minutes for {', '.join([n.name for n in networks] + others)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for network in networks:
            _network(network, settings, folder, results)
        if NODE_COST in others:
            _say(NODE_COST)
            for cost in node_costs(settings.peers(), settings.rounds, settings.seconds, folder):
                results.add(cost)
        if CONVOLUTIONS in others:
            _say(CONVOLUTIONS)
            for convolution in convolutions(settings.provider, settings.rounds, settings.seconds):
                results.add(convolution)
    return True
