"""A sentence encoder with its real weights: what int8 activations cost, and what the rest of a batch does to a text.

Start at compare.py: minilm.py makes the model, texts.py has sentences and their tokens, embed.py runs them and compares
embeddings, result.py has the figures, page.py writes the tables, chart.py draws.
"""
