"""A line of `dqbench verify --list-statements`: its inputs, its results, and their bytes in memory."""
import functools
import math

import numpy as np
import xxhash

import formulas
import inputs
from data_types import bits_of, codes_of, f32, is_integer, rounded

DEFAULTS = {"api": "graph", "op": "DynamicQuantize", "dt": "f32:f32:undef:s8", "rule": "onednn", "division": "f32", "saturate": "false", "params": "usual",
            "scales": "", "global-scale": "1", "stag": "abx", "offset": "1", "dtag": "abx", "qtype": "per_tensor", "axis": "1", "group": "32"}


def floats(text):
    return tuple(map(float, text.split("x"))) if text else ()


def integers(text):
    return tuple(map(int, text.split("x")))


def strides_of(layout, extents):
    if layout.startswith("strides:"):
        return integers(layout[8:])
    order = range(len(extents)) if layout == "abx" else ["abcd".index(letter) for letter in layout]
    strides, stride = [0] * len(extents), 1
    for d in reversed(order):
        strides[d], stride = stride, stride * extents[d]
    return tuple(strides)


@functools.lru_cache(64)
def offsets(extents, strides, block):
    """Of each element, in row-major order: the sum of index // block * stride of all dims."""
    at = np.indices(extents, sparse=True)
    return sum(index // size * stride for index, size, stride in zip(at, block, strides)).ravel()


def block_of(extents, qtype, axis, group):
    """The extents of a block of elements that share a scale."""
    if qtype == "per_group":
        return (1,) * (len(extents) - len(group)) + group
    block = list(extents)
    if qtype == "per_channel":
        block[axis] = 1
    return tuple(block)


class Statement:
    def __init__(self, line):
        _, *options, extents = line.split()  # dqbench ...
        given = dict(DEFAULTS)
        for option in options:
            name, value = option.removeprefix("--").split("=")
            if name not in given:
                raise ValueError(f"expected an option that this program knows, given {option}")
            given[name] = value
        # The results do not depend on where src lies in memory, which stag and offset say.
        self.op, self.rule, self.division, self.params = (given[name] for name in ("op", "rule", "division", "params"))
        self.computed = given["scales"] if given["scales"] in formulas.RULES else ""
        self.given_scales = floats(given["scales"].removeprefix(self.computed))
        self.global_scale = float(given["global-scale"])
        self.src, self.scales, self.zps, self.dst = given["dt"].replace("undef", "").split(":")
        self.saturate = given["saturate"] == "true"

        extents = self.extents = integers(extents)
        self.dst_offsets = offsets(extents, strides_of(given["dtag"], extents), (1,) * len(extents))
        block = block_of(extents, given["qtype"], int(given["axis"]), integers(given["group"]))
        of_blocks = tuple(-(-extent // size) for extent, size in zip(extents, block))
        self.blocks = math.prod(of_blocks)
        self.block_of_element = offsets(extents, strides_of("abx", of_blocks), block)

    def digest(self):
        return xxhash.xxh3_64_intdigest(b"".join(stored(*output) for output in self.outputs()))

    def outputs(self):
        """Type, values and offsets of each."""
        indices = inputs.parameter_indices(self.extents, self.blocks)
        scale = inputs.draw_scales(self, indices)
        zero_point = inputs.draw_zero_points(self.params, indices, self.zps) if self.zps else np.zeros(self.blocks)
        block = self.block_of_element
        x = inputs.draw_src(self, scale[block], zero_point[block])
        if self.computed:
            dst, scale, zero_point = formulas.computed(self, x, inputs.GLOBAL_SCALE if self.computed == "nvfp4" else 1)
            dense = np.arange(self.blocks)
            outputs = [(self.dst, dst, self.dst_offsets), (self.scales, scale, dense), (self.zps, zero_point, dense)]
            return outputs if self.zps else outputs[:2]
        if self.zps and not is_integer(self.zps):
            zero_point = rounded(f32(zero_point), self.zps)  # as it is stored
        return [(self.dst, self.formula()(self, x, scale[block], zero_point[block]), self.dst_offsets)]

    def formula(self):
        if self.op.endswith("Dequantize"):
            return formulas.dequantize
        return formulas.strict_quantize if self.rule == "onednn" else formulas.onnx_quantize


def stored(name, values, at):
    """The bytes of a buffer that was filled with 0xa5. Elements of fewer than 8 bits follow each other from the lowest bit of the first byte."""
    codes, bits, span = codes_of(values, name), bits_of(name), int(at.max()) + 1
    if bits >= 8:
        buffer = np.full(span * bits // 8, 0xa5, np.uint8).view(f"<u{bits // 8}")
        buffer[at] = codes
        return buffer.tobytes()
    buffer = np.unpackbits(np.full((span * bits + 7) // 8, 0xa5, np.uint8), bitorder="little")
    buffer[:span * bits].reshape(span, bits)[at] = codes[:, None] >> np.arange(bits) & 1
    return np.packbits(buffer, bitorder="little").tobytes()
