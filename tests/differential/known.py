"""All known differences, by peer."""
from onnxruntime_differences import ONNXRUNTIME
from quark_differences import QUARKS
from reference_differences import REFERENCE

KNOWN = {"onnx.reference": REFERENCE, "ONNX Runtime": ONNXRUNTIME, "Quark": QUARKS,
         "dynquant in ONNX Runtime": []}
