"""twincl: train image classifiers on labels nobody trusts; find and fix the wrong ones."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twincl.estimator import TwinClassifier, find_label_issues

__version__ = "0.1.0"

__all__ = ["TwinClassifier", "__version__", "find_label_issues"]


def __getattr__(name: str) -> object:
    """The estimator is imported when it is first asked for: PyTorch takes seconds, the version none."""
    if name not in __all__:
        raise AttributeError(f"module 'twincl' has no attribute '{name}'")
    from twincl import estimator

    return getattr(estimator, name)
