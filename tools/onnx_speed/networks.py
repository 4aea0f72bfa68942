"""Times whole networks, quantized by ONNX Runtime's tools, by ONNX Runtime alone and with each of dynquant's libraries."""

import dataclasses
import io
import logging
import pathlib
import statistics
import sys
import tempfile
import zipfile

import numpy
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process
from reporting.page import number, ratio, table, threads_label
from reporting.timing import median_time

from .sessions import Peer, session

FLOAT, INT32 = numpy.float32, numpy.int32


@dataclasses.dataclass(frozen=True)
class Network:
    """A model inside a PyPI wheel. inputs: type and shape of each input."""

    name: str
    wheel: str
    path: str
    inputs: dict[str, tuple[type, tuple[int, ...]]]


OCR, SPEECH = "rapidocr_onnxruntime/models/", "speechmos/"
NETWORKS = (
    Network("file types (magika)", "magika", "magika/models/standard_v3_3/model.onnx", {"bytes": (INT32, (8, 2048))}),
    Network("text detection (PP-OCRv4)", "rapidocr", OCR + "ch_PP-OCRv4_det_infer.onnx", {"x": (FLOAT, (1, 3, 320, 320))}),
    Network("text recognition (PP-OCRv4)", "rapidocr", OCR + "ch_PP-OCRv4_rec_infer.onnx", {"x": (FLOAT, (1, 3, 48, 320))}),
    Network("text direction (PP-OCRv2)", "rapidocr", OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (FLOAT, (4, 3, 48, 192))}),
    Network("quality of speech (DNSMOS)", "speechmos", SPEECH + "dnsmos_models/sig_bak_ovr.onnx", {"input_1": (FLOAT, (1, 144160))}),
    Network("quality of speech (PLCMOS)", "speechmos", SPEECH + "plcmos_models/plcmos_v2.onnx",
            {"degraded_audio": (FLOAT, (1, 1, 100, 257)), "rater_embed": (FLOAT, (1, 64))}),  # fmt: skip
)


def _model(network: Network, wheels: pathlib.Path) -> onnx.ModelProto:
    (wheel,) = wheels.glob(network.wheel + "*.whl")
    with zipfile.ZipFile(wheel) as archive:
        model = onnx.load(io.BytesIO(archive.read(network.path)))
    constants = {constant.name for constant in model.graph.initializer}
    for given in model.graph.input:
        if given.name not in constants:
            for dim, extent in zip(given.type.tensor_type.shape.dim, network.inputs[given.name][1], strict=True):
                dim.Clear()
                dim.dim_value = extent
    return model


def _inputs(network: Network, seed: int) -> dict[str, numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    return {
        name: random.integers(0, 256, shape, INT32) if kind is INT32 else random.standard_normal(shape, FLOAT) / 4
        for name, (kind, shape) in network.inputs.items()
    }


class _Calibration(quantization.CalibrationDataReader):
    def __init__(self, network: Network) -> None:
        self._inputs = iter([_inputs(network, seed) for seed in range(2)])

    def get_next(self) -> dict[str, numpy.ndarray] | None:
        return next(self._inputs, None)


def _quantized(network: Network, model: onnx.ModelProto, how: str, folder: pathlib.Path) -> bytes:
    """Quantizes weights to int8 and activations to uint8; `static` inserts QuantizeLinear and DequantizeLinear."""
    given, prepared, path = (folder / f"{name}.onnx" for name in ("given", "prepared", "quantized"))
    onnx.save(model, given)
    quant_pre_process(given, prepared, skip_symbolic_shape=True)
    weights = quantization.QuantType.QInt8
    if how == "static":
        quantization.quantize_static(prepared, path, _Calibration(network), weight_type=weights)
    else:
        quantization.quantize_dynamic(prepared, path, weight_type=weights)
    return path.read_bytes()


@dataclasses.dataclass
class Timed:
    name: str
    how: str
    threads: int
    times: dict[str, list[float]]  # of each peer, in seconds, one for each round
    largest_difference: float  # of the provider's outputs from ONNX Runtime's, relative to the largest absolute value

    def median(self, peer: str) -> float:
        return statistics.median(self.times[peer])

    def ratios(self, slower: str, faster: str) -> list[float]:
        return [a / b for a, b in zip(self.times[slower], self.times[faster])]


FLOAT_MODEL, RUNTIME, LIBRARY, PROVIDER = "float", "ONNX Runtime", "library", "provider"


def _measure(network: Network, how: str, models: dict[str, bytes], threads: int, peers: dict[str, Peer], rounds: int, seconds: float) -> Timed:
    inputs = _inputs(network, 9)
    sessions = {FLOAT_MODEL: session(models["float"], peers[RUNTIME], threads)}
    sessions |= {name: session(models[how], peer, threads) for name, peer in peers.items()}
    expected, given = (sessions[name].run(None, inputs) for name in (RUNTIME, PROVIDER))
    differences = [numpy.max(numpy.abs(e - g)) / (numpy.max(numpy.abs(e)) or 1) for e, g in zip(expected, given)]
    result = Timed(network.name, how, threads, {name: [] for name in sessions}, float(max(differences)))
    for _ in range(rounds):
        for name, one in sessions.items():
            result.times[name].append(median_time(lambda one=one: one.run(None, inputs), seconds))
    return result


def _tables(timed: list[Timed]) -> str:
    lines: list[str] = []
    for threads in dict.fromkeys(t.threads for t in timed):
        some = [t for t in timed if t.threads == threads]
        rows = []
        for t in some:
            row = [t.name, t.how, *(number(1e3 * t.median(peer)) for peer in t.times)]
            for slower in (RUNTIME, FLOAT_MODEL):
                ratios = t.ratios(slower, PROVIDER)
                row.append(ratio(statistics.median(ratios), ratios))
            rows.append([*row, f"{100 * t.largest_difference:.1g} %"])
        header = [f"{threads_label(threads)}, ms", "quantized", "float model", "ONNX Runtime", "dynquant's library", "dynquant's provider",
                  "provider, times ONNX Runtime", "times the float model", "differs by"]  # fmt: skip
        lines += table(header, rows)
        for how in dict.fromkeys(t.how for t in some):
            medians = [statistics.median(statistics.median(t.ratios(RUNTIME, peer)) for t in some if t.how == how) for peer in (LIBRARY, PROVIDER)]
            lines += [f"Medians of {how} networks: library {medians[0]:.2f}, provider {medians[1]:.2f} times ONNX Runtime.", ""]
    return "\n".join(lines)


def compare(wheels: pathlib.Path, library: str, provider: str, threads: list[int], rounds: int, seconds: float, only: str) -> str:
    onnxruntime.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)
    peers = {RUNTIME: Peer(RUNTIME), LIBRARY: Peer(LIBRARY, library, standard=True), PROVIDER: Peer(PROVIDER, provider=provider)}
    timed = []
    with tempfile.TemporaryDirectory() as folder:
        for network in NETWORKS:
            if only not in network.name:
                continue
            model = _model(network, wheels)
            models = {"float": model.SerializeToString()}
            for how in ("static", "dynamic"):
                models[how] = _quantized(network, model, how, pathlib.Path(folder))
                for count in threads:
                    print(f"compare-onnxruntime: {network.name}, {how}, threads {count}", file=sys.stderr, flush=True)
                    timed.append(_measure(network, how, models, count, peers, rounds, seconds))
    return _tables(timed)
