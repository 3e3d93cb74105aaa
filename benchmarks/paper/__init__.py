"""Every table and figure of the paper, run again: `python -m benchmarks.paper --help`."""
