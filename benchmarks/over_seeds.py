"""The numbers of several seeds as one entry of a table."""

import math
from statistics import mean, stdev


def spread(values: list[float], digits: int) -> str:
    """Mean, and over several values their deviation and number; where some are infinite, how many."""
    if not values:
        return ""
    if infinite := sum(map(math.isinf, values)):
        return f"∞ ({infinite} of {len(values)})" if len(values) > 1 else "∞"
    deviation = f" ± {stdev(values):.{digits}f} ({len(values)})" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"
