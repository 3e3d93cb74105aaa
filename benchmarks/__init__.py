"""Measurements anyone can repeat: each script prints its table and leaves dated JSON under `benchmarks/results/`."""
