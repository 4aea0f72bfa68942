"""Calls the program dqmodel."""

import dataclasses
import pathlib
import re
import subprocess
import tempfile

import numpy
import onnx


@dataclasses.dataclass(frozen=True)
class RunResult:
    """Outputs by name. seconds, seconds_to_read: the median times of a run and of reading the model, if requested."""

    outputs: dict[str, numpy.ndarray]
    seconds: float | None
    seconds_to_read: float | None
    text: str


@dataclasses.dataclass(frozen=True)
class DqModel:
    program: pathlib.Path

    def _call(self, *arguments: object) -> str:
        command = [str(self.program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\nended with status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def codify(self, model: onnx.ModelProto, samples: numpy.ndarray, *options: str) -> onnx.ModelProto:
        """Codifies a float model as a pre-quantized one."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            onnx.save(model, folder / "float.onnx")
            numpy.save(folder / "samples.npy", samples)
            self._call("codify", folder / "float.onnx", "--calibration", folder / "samples.npy", *options, "-o", folder / "codified.onnx")
            return onnx.load(folder / "codified.onnx")

    def run(self, model: onnx.ModelProto, x: numpy.ndarray, *options: str) -> RunResult:
        """Runs a model with one input."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            onnx.save(model, folder / "model.onnx")
            numpy.save(folder / "x.npy", x)
            results = folder / "results"
            results.mkdir()
            text = self._call("run", folder / "model.onnx", "--input", folder / "x.npy", "--output", results, *options)
            times = [float(time) / 1e6 for time in re.findall(r"(?:median of \d+ runs|do nothing else): ([\d.]+) us", text)]
            seconds, seconds_to_read = times or (None, None)
            outputs = {output.name: numpy.load(results / f"{output.name}.npy") for output in model.graph.output}
            return RunResult(outputs, seconds, seconds_to_read, text)
