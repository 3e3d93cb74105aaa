"""The baseline of the paper's ablation (Table 4, i): all of TCL's losses, but the given labels are the targets."""

from dataclasses import replace

from twincl.methods.method import Parts
from twincl.methods.tcl import TCL, TCLSettings


class Baseline(TCL):
    """TCL that never leaves its first epochs: no label is doubted, none is replaced by a prediction."""

    def __init__(self, parts: Parts, settings: TCLSettings):
        super().__init__(parts, replace(settings, label_epochs=parts.epochs))
