# What the blocks of docs/onnx.md assume.
import onnxruntime
from onnx import TensorProto, helper

options = onnxruntime.SessionOptions()
