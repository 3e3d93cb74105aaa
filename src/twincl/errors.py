"""The exceptions that users are meant to see."""


class InputError(ValueError):
    """The user's input cannot be used; the message is one sentence: what, where, what to do.

    The command line prints it on stderr without a traceback and exits with code 2.
    """

    said_elsewhere = False  # another process of the same training says so


def did_you_mean(name: str, valid: list[str]) -> str:
    """A hint for a mistyped name: `did you mean 'x'?` if one is close, otherwise the list of valid names."""
    import difflib

    match = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{match[0]}'?" if match else f"choose from: {', '.join(valid)}"


def first_line(error: Exception) -> str:
    """What an error of another library says, short enough to stand in a sentence; its kind if it says nothing."""
    return (str(error) or type(error).__name__).split("\n", 1)[0][:200]


class TrainingError(Exception):
    """A training that was rightly started cannot go on; the command line prints it and exits with code 1."""


class Stopped(Exception):
    """A signal asked for the end; the command line prints the message and exits with 128 + the signal's number."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message, signal)  # both, so that it can pass from one process to another
        self.message, self.signal = message, signal

    def __str__(self) -> str:
        return self.message
