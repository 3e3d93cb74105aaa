"""How fast, against what: every figure is a ratio or a bound that was measured inside one run.

`python -m benchmarks.speed [SECTION ...] [--quick] [--profile] [--json FILE]`; a section is a file of this folder with
a function `run`, `targets.py` says what each figure should reach.
"""
