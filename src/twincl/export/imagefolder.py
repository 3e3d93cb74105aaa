"""The corrected data as one folder of images a class: a copy, made without touching the original."""

import json
from collections import defaultdict
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from twincl.errors import InputError
from twincl.export.images import are_files, judged_images, place, sources, suffix_of
from twincl.export.names import Unique, safe_folder, safe_name
from twincl.files import write_text
from twincl.results.corrections import Policy, correct
from twincl.results.finished import FinishedRun
from twincl.results.folder import write_table

MANIFEST, CLASSES = "manifest.csv", "class_folders.json"


def write(run: FinishedRun, output: Path, *, policy: Policy, data: str | None = None, link: bool = False) -> str:
    """`CLASS/NAME.EXT` for every judged image by its corrected label; dropped images are left out.

    `manifest.csv` says which file came from where, `class_folders.json` which folder holds which class: names that
    a file system or a reader could not take are changed, and of two equal names the second gets a number. With
    `link` the files are hard links: no space is used, and whoever edits one edits the original.

    Raises:
        InputError: the data are features, gone or changed; `link` was asked of images that are not files.
    """
    split = judged_images(run, data)
    if link and not are_files(split):
        raise InputError("the images are not files of their own, so they cannot be linked; leave out --link")
    table = correct(run.table, policy)
    kept = np.flatnonzero(table["action"] != "drop")
    if not len(kept):
        raise InputError("every image would be dropped; give a lower --drop-below")
    folders = _class_folders(run.classes)
    names: defaultdict[str, Unique] = defaultdict(Unique)
    placed: list[tuple[str, str, str]] = []
    chosen = split.subset(kept)
    for source, name, label in zip(sources(chosen), chosen.names, table["corrected"].iloc[kept], strict=True):
        folder, suffix = folders[label], suffix_of(source)
        base = PurePosixPath(name.replace("\\", "/")).name
        stem = base.removesuffix(suffix) if isinstance(source, Path) else PurePosixPath(base).stem
        file = f"{folder}/{names[folder].take(safe_name(stem), suffix)}"
        (output / folder).mkdir(exist_ok=True)
        place(source, output / file, link=link)
        placed.append((file, name, label))
    write_table(output / MANIFEST, pd.DataFrame(placed, columns=["file_name", "source", "label"], dtype=object))
    write_text(output / CLASSES, json.dumps(folders, indent=2) + "\n")
    return f"{len(kept)} images {'linked' if link else 'written'}, {len(table) - len(kept)} dropped"


def _class_folders(classes: tuple[str, ...]) -> dict[str, str]:
    names = Unique()
    return {name: names.take(safe_folder(name)) for name in classes}
