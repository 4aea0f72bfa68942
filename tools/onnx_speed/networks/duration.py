"""Estimates how long a measurement takes."""

from .result import DYNAMIC, VARIANTS

FIXED = 15  # seconds for each network: quantizing, processes for memory, profiles


def expected_minutes(networks: list[float], threads: list[int], rounds: int, turn: float) -> float:
    """networks: seconds of one run of ONNX Runtime's, quantized dynamically, by one thread. Other variants and the provider
    take a fifth of it. Each session has a first run, and each turn one that does not count."""
    slow = len(DYNAMIC)  # sessions: ONNX Runtime's
    fast = 3 * len(VARIANTS) - 1 - slow  # the float variant has no float model beside it
    seconds = 30.0  # the cost of a node, and convolutions
    for run in networks:
        seconds += FIXED + 20 * run
        for count in threads:
            seconds += (rounds + 1) * (slow * max(turn, run / count) + fast * max(turn, run / count / 5))
    return seconds / 60
