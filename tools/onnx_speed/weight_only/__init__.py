"""Chains of layers whose weights alone are quantized: the float model, ONNX Runtime's nodes, and dynquant's execution provider.

Start at compare.py: chains.py has the models, memory.py measures memory in a process of its own, result.py has the
figures, page.py writes the tables.
"""
