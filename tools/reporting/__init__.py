"""Shared by report, onnx_speed and prequantized: arguments, timing, tables and the style of charts."""
