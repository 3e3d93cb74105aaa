import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for `benchmarks`, which is not installed with the package
