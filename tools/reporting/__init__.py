"""Shared by tools/report, tools/onnx_speed and tools/prequantized: arguments, timing, tables and the style of charts."""
