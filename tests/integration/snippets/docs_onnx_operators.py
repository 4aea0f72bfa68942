# What the blocks of docs/onnx_operators.md assume.
import onnxruntime
from onnx import TensorProto, helper

options = onnxruntime.SessionOptions()
