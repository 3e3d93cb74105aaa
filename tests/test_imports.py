"""Importing the package, and asking for help, is cheap."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "pandas", "sklearn", "pyarrow", "PIL", "numpy")


@pytest.mark.parametrize(
    "code",
    [
        "import twincl",
        "from twincl.cli import main",
        "from twincl.cli.app import app; app(['--help'], standalone_mode=False)",
        "from twincl.cli.app import app; app(['train', '--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_imported(code):
    check = f"{code}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"
