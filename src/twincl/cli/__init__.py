"""The command line: parse, call, print. No logic of its own, and no heavy import before a command needs it."""

import io
import signal
import sys
import warnings
from types import FrameType

import typer

from twincl.cli.app import app
from twincl.cli.printable import printable
from twincl.errors import InputError, Stopped, TrainingError


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every foreseeable failure is one sentence on stderr and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file name must not end a training
    warnings.filterwarnings("ignore", module="PIL")  # what is wrong with an image is said where it is left out
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = app(arguments, standalone_mode=False, obj=sys.argv[1:] if arguments is None else arguments)
        if code == 130:  # typer's code for Ctrl-C
            raise KeyboardInterrupt
    except typer.TyperException as error:  # unknown option, missing argument, value of the wrong type
        code = _fail(error.format_message(), 2)
    except InputError as error:
        code = 2 if error.said_elsewhere else _fail(str(error), 2)
    except TrainingError as error:
        code = _fail(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        code = _fail("stopped; a training goes on from its newest checkpoint with --resume", 130)
    except Stopped as stop:
        code = _fail(str(stop), 128 + stop.signal)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        code = _fail(f"{error.strerror or error}{where}", 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code if isinstance(code, int) else 0)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Stopped("stopped; a training goes on from its newest checkpoint with --resume", number)


def _fail(message: str, code: int) -> int:
    print(f"twincl: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code
