# What the blocks of docs/onnx.md assume.
import onnxruntime

options = onnxruntime.SessionOptions()
x = None
