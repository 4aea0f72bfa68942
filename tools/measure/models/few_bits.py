"""Products of float models as com.microsoft MatMulNBits."""

import numpy
import onnx
from onnx import helper, numpy_helper
from onnxruntime.capi._pybind_state import quantize_matmul_4bits

BLOCK = 32
SYMMETRIC, ASYMMETRIC = "int4", "int4, zero points"
FEW_BITS = SYMMETRIC, ASYMMETRIC


def _quantized(weights: numpy.ndarray, is_symmetric: bool) -> list[numpy.ndarray]:
    """Codes, scales and, if not symmetric, zero points: by the function that matmul_nbits_quantizer calls, which itself
    needs a package more."""
    inner, columns = weights.shape
    blocks = -(-inner // BLOCK)
    padded = numpy.zeros((blocks * BLOCK, columns), numpy.float32)
    padded[:inner] = weights
    codes = numpy.zeros((columns, blocks, BLOCK // 2), numpy.uint8)
    scales = numpy.zeros(columns * blocks, numpy.float32)
    zeros = numpy.zeros(columns * ((blocks + 1) // 2), numpy.uint8)
    quantize_matmul_4bits(codes, padded, scales, zeros, BLOCK, columns, inner, is_symmetric)
    return [codes, scales] if is_symmetric else [codes, scales, zeros]


def _as_gemm_is_a_product(node: onnx.NodeProto) -> bool:
    """Of x, weights as MatMul has them, and a bias."""
    plain = {"alpha": 1, "beta": 1, "transA": 0, "transB": 0}
    return all(helper.get_attribute_value(a) == plain[a.name] for a in node.attribute)


def with_few_bits(model: onnx.ModelProto, variant: str, level: int = 4) -> onnx.ModelProto:
    """Takes each MatMul and Gemm by constant weights. level: MatMulNBits' accuracy_level."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph, constants, added = result.graph, {c.name: c for c in model.graph.initializer}, {}
    for node in graph.node:
        is_product = node.op_type == "MatMul" or (node.op_type == "Gemm" and _as_gemm_is_a_product(node))
        weights = constants.get(node.input[1]) if is_product else None
        if weights is None or len(weights.dims) != 2:
            continue
        parts = _quantized(numpy_helper.to_array(weights), variant == SYMMETRIC)
        names = [f"{weights.name}_{part}" for part in ("codes", "scales", "zero_points")[: len(parts)]]
        added |= {name: numpy_helper.from_array(part, name) for name, part in zip(names, parts, strict=True)}
        bias = [*[""] * (5 - 1 - len(names)), node.input[2]] if len(node.input) == 3 else []
        inner, columns = weights.dims
        of = {"K": inner, "N": columns, "bits": 4, "block_size": BLOCK, "accuracy_level": level}
        node.CopyFrom(helper.make_node("MatMulNBits", [node.input[0], *names, *bias], node.output, node.name,
                                       domain="com.microsoft", **of))  # fmt: skip
    used = {name for node in graph.node for name in node.input}
    kept = [c for c in graph.initializer if c.name in used]
    del graph.initializer[:]
    graph.initializer.extend([*kept, *added.values()])
    if all(one.domain != "com.microsoft" for one in result.opset_import):
        result.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return result
