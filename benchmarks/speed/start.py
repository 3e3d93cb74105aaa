"""How long until the command line answers, and until the package is there: whole processes."""

import subprocess
import sys
from functools import partial

from benchmarks.speed.options import Figures, Options
from benchmarks.speed.timing import best_in_turn

COMMANDS = {"help_seconds": ("-m", "twincl", "--help"), "import_seconds": ("-c", "import twincl")}


def run(options: Options) -> Figures:
    """Best of several."""

    def start(arguments: tuple[str, ...]) -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    starts = {key: partial(start, arguments) for key, arguments in COMMANDS.items()}
    return dict(best_in_turn(2 if options.quick else 10, starts))
