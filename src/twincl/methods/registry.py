"""The methods by name. A new one is one file beside this and one line here."""

from collections.abc import Callable

from twincl.errors import InputError, did_you_mean
from twincl.methods.baseline import Baseline
from twincl.methods.cross_entropy import CrossEntropy
from twincl.methods.method import Method
from twincl.methods.mixup import Mixup
from twincl.methods.tcl import TCL

METHODS: dict[str, Callable[..., Method]] = {
    "tcl": TCL,
    "cross-entropy": CrossEntropy,
    "mixup": Mixup,
    "baseline": Baseline,
}


def find_method(name: str) -> Callable[..., Method]:
    """The method called `name`, or an error that lists the names there are."""
    if name not in METHODS:
        raise InputError(f"unknown method '{name}': {did_you_mean(name, list(METHODS))}")
    return METHODS[name]
