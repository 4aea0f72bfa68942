"""Whole networks, quantized by ONNX Runtime's tools, in ONNX Runtime alone and with each of dynquant's libraries.

Start at compare.py: models.py has the networks, encoder.py makes one of them, measure.py times them, process.py measures
memory in a process of its own, node_cost.py times the smallest layer, convolutions.py times oneDNN's primitive beside
layers, result.py has the figures, page.py writes the tables, chart.py draws.
"""
