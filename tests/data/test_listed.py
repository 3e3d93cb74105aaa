"""Lists of images: read by line, found by folder, fenced in."""

import numpy as np
import pytest
from picture import save

from twincl.data.listed import locate, read_pairs
from twincl.errors import InputError


def test_pairs(tmp_path):
    file = tmp_path / "list.txt"
    file.write_text("a/x.jpg 3\r\nwith space.jpg\t0\nc.jpg   12\n\n")
    names, labels = read_pairs(file)
    assert names == ["a/x.jpg", "with space.jpg", "c.jpg"]
    assert labels.tolist() == [3, 0, 12]
    assert labels.dtype == np.int64


@pytest.mark.parametrize("line", ["b.jpg", "b.jpg x", "b.jpg -1", "b.jpg 1.5", "", "b.jpg 9999999999999999999999"])
def test_a_line_that_is_no_pair_is_named(tmp_path, line):
    file = tmp_path / "list.txt"
    file.write_text(f"a.jpg 1\n{line}\nc.jpg 2\n")
    with pytest.raises(InputError, match=r"line 2 of .*list.txt is not a path and the number of its class"):
        read_pairs(file)


def test_missing_and_empty_lists(tmp_path):
    with pytest.raises(InputError, match=r"none.txt is missing"):
        read_pairs(tmp_path / "none.txt")
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match=r"empty.txt is empty"):
        read_pairs(tmp_path / "empty.txt")


def test_files_are_found_in_the_order_of_the_list(tmp_path):
    names = ["b/2.png", "a/1.png", "b/1.png", "top.png"]
    for name in names:
        save(tmp_path / name)
    (tmp_path / "b" / "link.png").symlink_to(tmp_path / "a" / "1.png")
    names.append("b/link.png")
    assert locate(tmp_path, names, tmp_path / "list.txt") == [tmp_path / name for name in names]


@pytest.mark.parametrize("name", ["a/none.png", "none/1.png", "a", "a/", "a/..", "a/\0.png", "x" * 300 + "/1.png"])
def test_missing_files_are_counted_and_named(tmp_path, name):
    save(tmp_path / "a" / "1.png")
    with pytest.raises(InputError, match=r"1 of 2 image files listed in .*list.txt does not exist below"):
        locate(tmp_path, ["a/1.png", name], tmp_path / "list.txt")


def test_paths_stay_inside(tmp_path):
    root, elsewhere = tmp_path / "root", save(tmp_path / "elsewhere" / "1.png")
    save(root / "a" / "1.png")
    (root / "link.png").symlink_to(elsewhere)
    (root / "folder").symlink_to(elsewhere.parent)
    for name in ("../elsewhere/1.png", str(elsewhere), "link.png", "folder/1.png", "a/../../elsewhere/none.png"):
        with pytest.raises(InputError, match=r"1 of 2 .* lies outside .*; pass --allow-outside if you trust it"):
            locate(root, ["a/1.png", name], root / "list.txt")
    given = ["link.png", "folder/1.png"]
    assert locate(root, given, root / "list.txt", allow_outside=True) == [root / name for name in given]
