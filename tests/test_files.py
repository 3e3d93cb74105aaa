import os

import pytest

from twincl.errors import InputError
from twincl.files import atomic_path, refuse_existing, write_json, write_text


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    file = tmp_path / "a.txt"
    write_text(file, "first ü\n")
    with pytest.raises(FileNotFoundError), atomic_path(file) as temporary:
        temporary.write_text((tmp_path / "none").read_text())
    assert file.read_text(encoding="utf-8") == "first ü\n"
    write_text(file, "second")
    assert file.read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    os.umask(mask := os.umask(0))
    assert file.stat().st_mode & 0o777 == 0o666 & ~mask


def test_who_may_read_a_file_does_not_depend_on_who_wrote_it(tmp_path):
    with atomic_path(tmp_path / "weights") as temporary:
        temporary.unlink()
        os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY, 0o600))
    write_text(tmp_path / "plain", "")
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_json_refuses_what_is_not_json(tmp_path):
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", {"value": float("nan")})
    assert list(tmp_path.iterdir()) == []
    write_json(tmp_path / "a.json", {"name": "Ä"})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "name": "Ä"\n}\n'


def test_nothing_is_overwritten_unasked(tmp_path):
    file = tmp_path / "a.csv"
    refuse_existing(file, force=False)
    file.write_text("x")
    with pytest.raises(InputError, match="exists; pass --force"):
        refuse_existing(file, force=False)
    refuse_existing(file, force=True)
    with pytest.raises(InputError, match="it is a folder"):
        refuse_existing(tmp_path, force=True)
    with pytest.raises(InputError, match="no such folder"):
        refuse_existing(tmp_path / "none" / "a.csv", force=False)


def test_the_umask_is_respected_and_links_stay(tmp_path):
    before = os.umask(0o077)
    try:
        write_text(tmp_path / "mine.txt", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "mine.txt").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to("mine.txt")
    write_text(tmp_path / "link", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "mine.txt").read_text() == "y"
