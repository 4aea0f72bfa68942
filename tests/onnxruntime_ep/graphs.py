"""Random graphs of one to three layers: each takes x, or what an earlier one gives."""
import numpy as np
from layers import STEPS, Layer, model
from onnx import NodeProto

BYTES = (np.uint8, np.int8)


def draw_layer(random, rank, is_open, quantized, x_shape=None):
    return Layer(random, rank, quantized=quantized, w_type=BYTES[random.integers(2)], is_open=is_open, x_shape=x_shape,
                 w_zero_point=str(random.choice(["none", "one", "channel"])), to_float=random.random() < 0.8,
                 steps=tuple(str(s) for s in random.choice(list(STEPS), random.integers(0, 4))),
                 y_type=[None, None, *BYTES][random.integers(4)], bias=[None, None, "one", "channel", "quantized"][random.integers(5)],
                 scales_given=random.random() < 0.3)


class Graph:
    """`sources`: of each layer the one whose y it takes, none for x. `siblings`: the one whose DynamicQuantizeLinear it shares."""

    def __init__(self, random):
        rank, self.is_open = int(random.choice([0, 1, 2, 2, 3])), random.random() < 0.5
        quantized = [None, None, *BYTES][random.integers(4)]
        self.layers, self.sources, self.siblings = [draw_layer(random, rank, self.is_open, quantized)], [None], [None]
        for _ in range(random.choice([0, 0, 0, 1, 2])):
            self._add(random, rank)
        taken = set(self.sources)
        self.outputs = [i for i in range(len(self.layers)) if i not in taken or random.random() < 0.1]

    def _add(self, random, rank):
        source = random.choice([None, *(i for i, layer in enumerate(self.layers) if layer.to_float)])
        before = self.layers[source or 0]
        if source is None:
            quantized, x_shape = before.quantized, before.x_shape
        else:
            quantized, x_shape = before.y_type, before.expected(np.zeros(before.x_shape, before.quantized or np.float32)).shape
        alike = [i for i, (s, q) in enumerate(zip(self.sources, self.siblings)) if s == source and q is None]
        self.siblings.append(alike[0] if quantized is None and alike and random.random() < 0.7 else None)
        self.sources.append(source)
        self.layers.append(draw_layer(random, rank, self.is_open, quantized, x_shape))

    def _name(self, i, name):
        if name == "x":
            return name if self.sources[i] is None else self._name(self.sources[i], self.layers[self.sources[i]].y)
        if self.siblings[i] is not None and name in ("x_quantized", "x_scale", "x_zero_point"):
            return self._name(self.siblings[i], name)
        return f"{i}_{name}"

    def _renamed(self, i, node):
        result = NodeProto()
        result.CopyFrom(node)
        result.input[:] = [self._name(i, name) for name in node.input]
        result.output[:] = [self._name(i, name) for name in node.output]
        result.name = self._name(i, node.name)
        return result

    def model(self):
        parts = list(enumerate(self.layers))
        nodes = [self._renamed(i, n) for i, layer in parts for n in layer.nodes
                 if self.siblings[i] is None or n.op_type != "DynamicQuantizeLinear"]
        inputs = {self._name(i, n): v for i, layer in parts for n, v in layer.inputs().items() if i == 0 or n != "x"}
        outputs = {self._name(i, n): v for i in self.outputs for n, v in self.layers[i].outputs().items()}
        constants = {self._name(i, n): v for i, layer in parts for n, v in layer.constants.items()}
        return model(nodes, inputs, outputs, 16, constants)

    def inputs(self):
        """Of a run."""
        given = {self._name(i, name): v for i, layer in enumerate(self.layers) for name, v in layer.given.items()}
        return {"x": self.layers[0].draw_x(), **given}

    def has_rows(self, i):
        """With activation_scales=per_row: all layers of that x multiply by its scale, and nothing else reads it. ONNX Runtime makes one
        DynamicQuantizeLinear of those that they have."""
        return all(layer.to_float and layer.bias_of != "quantized"
                   for layer, source in zip(self.layers, self.sources) if source == self.sources[i])

    def expected(self, inputs, per_row=False):
        results = []
        for i, (layer, source) in enumerate(zip(self.layers, self.sources)):
            results.append(layer.expected(inputs["x"] if source is None else results[source], per_row and self.has_rows(i)))
        return [results[i] for i in self.outputs]
