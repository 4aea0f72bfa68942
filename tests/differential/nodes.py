"""Makes models and files of node tests from nodes of the quantization operators and the values of their inputs."""
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

QUARK = "com.amd.quark"
INTEGERS = {TensorProto.DataType.Value(name) for name in (
    "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT4", "INT4", "UINT2", "INT2")}
FLOAT8 = {TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ}


def dtype_of(type_number):
    return helper.tensor_dtype_to_np_dtype(type_number)


def limits(type_number):
    """The lowest and highest finite value."""
    if type_number == TensorProto.FLOAT8E8M0:
        return 2.0**-127, 2.0**127
    info = (ml_dtypes.iinfo if type_number in INTEGERS else ml_dtypes.finfo)(dtype_of(type_number))
    return float(info.min), float(info.max)


def broadcast(parameter, shape, attributes):
    """A scale or a zero point for each element of x."""
    if parameter.size == 1:
        return np.broadcast_to(parameter.reshape(()), shape)
    axis = attributes.get("axis", 1) % len(shape)
    if not attributes.get("block_size"):
        return np.broadcast_to(parameter.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)
    return np.repeat(parameter, attributes["block_size"], axis).take(range(shape[axis]), axis)


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def type_name(type_number):
    return TensorProto.DataType.Name(type_number).lower()


def tensor(type_number, values, shape=None):
    """Values rounded to the type."""
    array = np.array(values, np.int64 if type_number in INTEGERS else np.float64)
    with np.errstate(all="ignore"):
        array = array.astype(dtype_of(type_number))
    return array if shape is None else array.reshape(shape)


def raw_bytes(array):
    """Elements as ONNX packs them."""
    return numpy_helper.from_array(array).raw_data


def from_raw_bytes(type_number, shape, data):
    return numpy_helper.to_array(TensorProto(data_type=type_number, dims=shape, raw_data=data))


@dataclass(frozen=True)
class Node:
    op: str
    opset: int
    inputs: tuple  # x, scale, zero point or None; of DynamicQuantizeLinear x alone
    attributes: dict = field(default_factory=dict)
    domain: str = ""

    @property
    def quantizes(self):
        return not self.op.endswith("DequantizeLinear")

    @property
    def dynamic(self):
        return self.op == "DynamicQuantizeLinear"

    @property
    def zero_point(self):
        return self.inputs[2] if len(self.inputs) == 3 else None

    @property
    def output_types(self):
        if self.dynamic:
            return [TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8]
        if not self.quantizes:
            return [self.attributes.get("output_dtype") or type_of(self.inputs[1])]
        if self.zero_point is not None:
            return [type_of(self.zero_point)]
        return [self.attributes.get("output_dtype") or TensorProto.UINT8]

    @property
    def output_shapes(self):
        return [list(self.inputs[0].shape)] + [[]] * (2 if self.dynamic else 0)

    def __str__(self):
        inputs = ["-" if i is None else f"{type_name(type_of(i))}{list(i.shape)}" for i in self.inputs]
        return f"{self.op} {self.opset} {' '.join(inputs)} {self.attributes} to {type_name(self.output_types[0])}"

    def model(self):
        names = ["x", "scale", "zero_point"][:len(self.inputs)]
        given = {name: value for name, value in zip(names, self.inputs) if value is not None}
        outputs = ["y", "y_scale", "y_zero_point"][:len(self.output_types)]
        node = helper.make_node(self.op, [name if name in given else "" for name in names], outputs, "n",
                                domain=self.domain, **self.attributes)
        graph = helper.make_graph(
            [node], "g",
            [helper.make_tensor_value_info(name, type_of(value), value.shape) for name, value in given.items()],
            [helper.make_tensor_value_info(*of) for of in zip(outputs, self.output_types, self.output_shapes)])
        imports = [helper.make_opsetid("", 17 if self.domain else self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.opset))
        return helper.make_model(graph, opset_imports=imports, ir_version=10), given

    def write(self, folder):
        """Writes a node test without outputs."""
        model, given = self.model()
        data = folder / "test_data_set_0"
        data.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        for i, (name, value) in enumerate(given.items()):
            (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())


def read_outputs(node, folder):
    outputs = []
    for i in range(len(node.output_types)):
        message = onnx.load_tensor(folder / "test_data_set_0" / f"output_{i}.pb")
        outputs.append(numpy_helper.to_array(message))
    return outputs


def differing(expected, given):
    """The elements whose bits differ; any NaN equals any NaN."""
    both_nan = np.zeros(expected.shape, bool)
    if type_of(expected) not in INTEGERS:
        with np.errstate(all="ignore"):
            both_nan = np.isnan(expected.astype(np.float64)) & np.isnan(given.astype(np.float64))
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    return (expected.view(bits) != given.view(bits)) & ~both_nan
