"""Measures dqbench's performance batches, ONNX Runtime and pi-quant, and writes docs/performance.md.

Start at __main__.py: dqbench.py and python_peers.py measure, measurements.py keeps the figures, lines.py computes the
page's lines from them, floors.py checks these against floors.json, page.py and charts.py write.
"""
