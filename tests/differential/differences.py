"""A known difference of a peer: where its y differs from the specification, and the smallest cases that show it."""
from dataclasses import dataclass
from typing import Callable

import numpy as np
from elements import unequal
from nodes import FLOAT8, Node, tensor
from onnx import TensorProto


@dataclass(frozen=True, eq=False)
class Case:
    """A node, whose single output has these elements."""
    node: Node
    right: list
    wrong: list
    output: int = 0


@dataclass(frozen=True, eq=False)
class Difference:
    name: str
    clause: str  # of the specification
    where: Callable  # of Elements: the elements of y that differ; of DynamicQuantizeLinear one for the node
    cases: list
    exact: bool = True  # else y may agree by chance


def quantizing(where):
    """Restricts the predicate to QuantizeLinear and ExtendedQuantizeLinear."""
    return lambda e: where(e) if e.node.quantizes and not e.node.dynamic else e.everywhere(False)


def dequantizing(where):
    return lambda e: e.everywhere(False) if e.node.quantizes else where(e)


def dynamic(where):
    """Restricts the predicate, which takes x, to DynamicQuantizeLinear."""
    return lambda e: np.bool_(e.node.dynamic and where(e.x))


def without_float8_zero_point(quotient):
    """Where y is the float8 nearest to this quotient: the zero point is not added."""
    def where(e):
        if e.y_type not in FLOAT8 or e.zero is None:
            return e.everywhere(False)
        return unequal(e.as_float(quotient(e)), e.as_float(e.total))
    return quantizing(where)


def has_no_range(x):
    return x.size > 0 and not x.any()


def quantize(opset, x, scale, zero=None, **attributes):
    """A node with one scale. x, scale and zero point are each a type and values."""
    return node_of("QuantizeLinear", opset, x, scale, zero, attributes)


def dequantize(opset, x, scale, zero=None, **attributes):
    return node_of("DequantizeLinear", opset, x, scale, zero, attributes)


def node_of(op, opset, x, scale, zero, attributes, domain=""):
    x = tensor(x[0], np.atleast_1d(x[1]))
    return Node(op, opset, (x, tensor(*scale), None if zero is None else tensor(*zero)), attributes, domain)


def dynamic_quantize(*x):
    return Node("DynamicQuantizeLinear", 11, (tensor(TensorProto.FLOAT, x),))
