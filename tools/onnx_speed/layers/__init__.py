"""Models of one layer, in ONNX Runtime alone and with dynquant's execution provider.

Start at compare.py: shapes.py lists the layers, models.py builds a layer's model, result.py has the figures, page.py
writes the tables.
"""
