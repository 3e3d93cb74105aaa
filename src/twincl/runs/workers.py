"""How many threads or processes decode images."""

import os

MOST = 8  # more hardly pay: the disk or the interpreter is the limit then


def number_of_workers(given: int | None = None) -> int:
    """The number that was `given`, zero for the calling thread alone; None: as many as there are cores, at most 8.

    Each of several processes that train together takes so many.
    """
    return min(os.cpu_count() or 1, MOST) if given is None else given
