# What the blocks of README.md assume.
x = None
