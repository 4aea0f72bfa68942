"""Small networks, their models and their training in numpy: forward, backward and Adam (Kingma and Ba, 2014)."""

import numpy
import onnx
import threadpoolctl
from onnx import TensorProto

from ..sessions import Graph
from .digits import CLASSES, SIZE, Samples

EPOCHS, BATCH, RATE = 40, 32, 3e-3


class Layer:
    """forward(x) keeps what backward(slope) needs, which makes the gradient of the loss by x from the gradient by the result,
    and sets the gradients of `parameters`. operator, attributes: its node."""

    operator: str
    attributes: dict[str, list[int]] = {}
    parameters: list[numpy.ndarray] = []
    gradients: list[numpy.ndarray] = []


def _random_weights(random: numpy.random.Generator, shape: tuple[int, ...], inputs: int) -> numpy.ndarray:
    return (random.standard_normal(shape) * numpy.sqrt(2 / inputs)).astype(numpy.float32)


class Dense(Layer):
    operator = "Gemm"

    def __init__(self, random: numpy.random.Generator, inputs: int, outputs: int) -> None:
        self.parameters = [_random_weights(random, (inputs, outputs), inputs), numpy.zeros(outputs, numpy.float32)]

    def forward(self, x: numpy.ndarray) -> numpy.ndarray:
        self._x = x
        return x @ self.parameters[0] + self.parameters[1]

    def backward(self, slope: numpy.ndarray) -> numpy.ndarray:
        self.gradients = [self._x.T @ slope, slope.sum(axis=0)]
        return slope @ self.parameters[0].T


class Convolution(Layer):
    """3 x 3, zero-padded, so that images keep their size."""

    operator, attributes = "Conv", {"pads": [1, 1, 1, 1]}

    def __init__(self, random: numpy.random.Generator, inputs: int, outputs: int) -> None:
        self.parameters = [_random_weights(random, (outputs, inputs, 3, 3), 9 * inputs), numpy.zeros(outputs, numpy.float32)]

    @staticmethod
    def _windows(x: numpy.ndarray) -> numpy.ndarray:
        """im2col: a row for each pixel, with its 3 x 3 neighbourhood."""
        n, c, h, w = x.shape
        padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)

    @staticmethod
    def _images(rows: numpy.ndarray, like: numpy.ndarray) -> numpy.ndarray:
        """Images from rows that hold the channels of a pixel."""
        n, _, h, w = like.shape
        return rows.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def forward(self, x: numpy.ndarray) -> numpy.ndarray:
        self._rows = self._windows(x)
        weights, bias = self.parameters
        return self._images(self._rows @ weights.reshape(len(weights), -1).T + bias, x)

    def backward(self, slope: numpy.ndarray) -> numpy.ndarray:
        weights = self.parameters[0]
        by_pixel = slope.transpose(1, 0, 2, 3).reshape(len(weights), -1)
        self.gradients = [(by_pixel @ self._rows).reshape(weights.shape), by_pixel.sum(axis=1)]
        flipped = weights[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        return self._images(self._windows(slope) @ flipped.reshape(len(flipped), -1).T, slope)


class Pool(Layer):
    """Max pooling, 2 x 2."""

    operator, attributes = "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}

    def forward(self, x: numpy.ndarray) -> numpy.ndarray:
        n, c, h, w = x.shape
        self._fields = x.reshape(n, c, h // 2, 2, w // 2, 2)
        self._largest = self._fields.max(axis=(3, 5), keepdims=True)
        return self._largest[:, :, :, 0, :, 0]

    def backward(self, slope: numpy.ndarray) -> numpy.ndarray:
        n, c, h, _, w, _ = self._fields.shape
        return numpy.where(self._fields == self._largest, slope[:, :, :, None, :, None], 0).reshape(n, c, 2 * h, 2 * w)


class Flatten(Layer):
    operator = "Flatten"

    def forward(self, x: numpy.ndarray) -> numpy.ndarray:
        self._shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, slope: numpy.ndarray) -> numpy.ndarray:
        return slope.reshape(self._shape)


class Activation(Layer):
    """An activation, named as in ONNX."""

    # The function, and its slope as a function of the result.
    _FUNCTIONS = {
        "Relu": (lambda x: numpy.maximum(x, 0), lambda y: y > 0),
        "Tanh": (numpy.tanh, lambda y: 1 - y * y),
        "Sigmoid": (lambda x: 1 / (1 + numpy.exp(-x)), lambda y: y * (1 - y)),
    }

    def __init__(self, name: str) -> None:
        self.operator = name
        self._function, self._slope = self._FUNCTIONS[name]

    def forward(self, x: numpy.ndarray) -> numpy.ndarray:
        self._y = self._function(x)
        return self._y

    def backward(self, slope: numpy.ndarray) -> numpy.ndarray:
        return slope * self._slope(self._y)


Network = list[Layer]


def mlp(activation: str) -> Network:
    random = numpy.random.default_rng(1)
    return [
        Flatten(),
        Dense(random, SIZE * SIZE, 64), Activation(activation),
        Dense(random, 64, 32), Activation(activation),
        Dense(random, 32, CLASSES),
    ]  # fmt: skip


def cnn(activation: str) -> Network:
    random = numpy.random.default_rng(2)
    return [
        Convolution(random, 1, 16), Activation(activation), Pool(),
        Convolution(random, 16, 32), Activation(activation), Pool(),
        Flatten(),
        Dense(random, 32 * (SIZE // 4) ** 2, CLASSES),
    ]  # fmt: skip


def forward(network: Network, x: numpy.ndarray) -> numpy.ndarray:
    for layer in network:
        x = layer.forward(x)
    return x


def _slope_of_loss(scores: numpy.ndarray, labels: numpy.ndarray) -> numpy.ndarray:
    """The gradient of the softmax cross entropy."""
    likely = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    likely[numpy.arange(len(labels)), labels] -= 1
    return likely / len(labels)


@threadpoolctl.threadpool_limits.wrap(limits=1)
def train(network: Network, samples: Samples) -> None:
    """Trains in seconds, by one thread, so that the order of additions and with it the weights are reproducible."""
    random = numpy.random.default_rng(3)
    trained = [layer for layer in network if layer.parameters]
    moments = [[(numpy.zeros_like(p), numpy.zeros_like(p)) for p in layer.parameters] for layer in trained]
    steps = 0
    for epoch in range(EPOCHS):
        order = random.permutation(len(samples.labels))
        for begin in range(0, len(order), BATCH):
            some = order[begin : begin + BATCH]
            slope = _slope_of_loss(forward(network, samples.images[some]), samples.labels[some])
            for layer in reversed(network):
                slope = layer.backward(slope)
            steps += 1
            rate = RATE * (1 - epoch / EPOCHS) * numpy.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
            for layer, of_layer in zip(trained, moments):
                for parameter, gradient, (mean, square) in zip(layer.parameters, layer.gradients, of_layer):
                    mean += 0.1 * (gradient - mean)
                    square += 0.001 * (gradient * gradient - square)
                    parameter -= rate * mean / (numpy.sqrt(square) + 1e-8)


def accuracy(scores: numpy.ndarray, labels: numpy.ndarray) -> float:
    return float((scores.argmax(axis=1) == labels).mean())


def model_of(network: Network) -> onnx.ModelProto:
    """A model from "images" [N, 1, 8, 8] to "scores" [N, 10]."""
    graph, x = Graph(), "images"
    for layer in network:
        x = graph.op(layer.operator, x, *layer.parameters, **layer.attributes)
    graph.nodes[-1].output[0] = "scores"
    model = graph.model({"images": (TensorProto.FLOAT, ["N", 1, SIZE, SIZE])}, {"scores": (TensorProto.FLOAT, ["N", CLASSES])}, 21)
    model = onnx.load_from_string(model)
    onnx.checker.check_model(model, full_check=True)
    return model
