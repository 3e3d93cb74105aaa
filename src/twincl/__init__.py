"""twincl: train image classifiers on labels nobody trusts; find and fix the wrong ones."""

__version__ = "0.1.0"
