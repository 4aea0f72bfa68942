"""Measures dqbench's performance batches and ONNX Runtime, and writes docs/performance.md."""
