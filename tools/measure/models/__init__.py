"""Networks: where they come from, how they are quantized, and what runs and compares them."""
