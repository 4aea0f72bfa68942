# What the blocks of README.md assume.
import onnxruntime
import onnxruntime_ep_dynquant

options = onnxruntime.SessionOptions()
