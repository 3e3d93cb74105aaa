"""What this installation can do."""

import importlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import torch

from twincl import __version__
from twincl.results.folder import processor_name
from twincl.training.device import choose_device, mixed_precision_pays

PACKAGES = ("numpy", "scikit-learn", "pandas", "pyarrow", "pillow", "matplotlib", "pydantic", "safetensors")
EXTRAS = {"onnx": "onnxscript", "timm": "timm"}


def examine() -> dict[str, str]:
    """One line a subject, in plain words."""
    device = choose_device("auto")
    pays = mixed_precision_pays(device)
    found = {
        "twincl": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "torch": str(torch.__version__),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu ({processor_name()})",
        "threads": f"{torch.get_num_threads()} of {os.cpu_count()} cores",
        "bfloat16": "faster than float32 here: used" if pays else "slower than float32 here: not used",
    }
    found |= {name: version(name) for name in PACKAGES}
    return found | {f"extra {extra}": _state(extra, package) for extra, package in EXTRAS.items()}


def _state(extra: str, package: str) -> str:
    """Whether an optional package imports; a broken one raises anything, not only ImportError."""
    try:
        installed = version(package)
    except PackageNotFoundError:
        return f"not installed: pip install 'twincl[{extra}]'"
    try:
        importlib.import_module(package)
    except Exception as error:
        return f"{package} {installed} is installed but does not import ({' '.join(str(error).split())[:100]})"
    return f"{package} {installed} works"
