import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from twincl.data.pickles import read_pickle, read_torch
from twincl.errors import InputError


class Payload:
    """Would create a file when unpickled."""

    def __init__(self, path, how):
        self.path, self.how = str(path), how

    def __reduce__(self):
        command = f"open({self.path!r}, 'w').close()"
        return {
            "system": (os.system, (f"touch {self.path}",)),
            "eval": (eval, (command,)),
            "getattr": (getattr, ("", "format")),
            "torch": (torch.hub.load_state_dict_from_url, (self.path,)),
        }[self.how]


PLAIN = {
    "clean": np.arange(5),
    "text": np.array(["a", "b"]),
    "scalar": np.float32(1.5),
    "nested": [(1, 2.5, b"\xff", "ä", None, True)],
}


def same(left, right):
    assert left.keys() == right.keys()
    assert np.array_equal(left["clean"], right["clean"])
    assert np.array_equal(left["text"], right["text"])
    assert left["scalar"] == right["scalar"]
    assert left["nested"] == right["nested"]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("read", [read_pickle, read_torch])
def test_plain_pickles(tmp_path, protocol, read):
    (tmp_path / "x.pt").write_bytes(pickle.dumps(PLAIN, protocol=protocol))
    same(read(tmp_path / "x.pt"), PLAIN)


@pytest.mark.parametrize("zipped", [False, True])
def test_files_by_torch_save(tmp_path, zipped):
    torch.save(PLAIN, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    same(read_torch(tmp_path / "x.pt"), PLAIN)


@pytest.mark.parametrize("zipped", [False, True])
def test_tensors_beside_arrays(tmp_path, zipped):
    content = {"a": torch.arange(3), "b": np.arange(4), "c": np.array(["x", "yy"])}
    torch.save(content, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    result = read_torch(tmp_path / "x.pt")
    assert isinstance(result["a"], np.ndarray)
    assert result["a"].tolist() == [0, 1, 2]
    assert result["b"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("how", ["system", "eval", "getattr", "torch"])
@pytest.mark.parametrize("form", ["pickle", "zip", "legacy", "beside tensors"])
def test_malicious_pickles_execute_nothing(tmp_path, how, form):
    made = tmp_path / "made"
    path = tmp_path / "x.pt"
    evil = {"labels": Payload(made, how)}
    if form == "pickle":
        path.write_bytes(pickle.dumps(evil, protocol=2))
        with pytest.raises(InputError, match="refused"):
            read_pickle(path)
    elif form == "beside tensors":
        torch.save({"a": torch.arange(3), **evil}, path)
    else:
        torch.save(evil, path, _use_new_zipfile_serialization=form == "zip")
    with pytest.raises(InputError):
        read_torch(path)
    assert not made.exists()


def test_code_hidden_in_an_object_array_is_refused(tmp_path):
    made = tmp_path / "made"
    array = np.empty(1, dtype=object)
    array[0] = Payload(made, "eval")
    (tmp_path / "x.pt").write_bytes(pickle.dumps({"labels": array}, protocol=2))
    with pytest.raises(InputError, match="refused"):
        read_torch(tmp_path / "x.pt")
    assert not made.exists()


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", pickle.dumps(PLAIN)[:-20], b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f"]
)
def test_damaged_pickles(tmp_path, content):
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(InputError):
        read_torch(tmp_path / "x.pt")


def test_a_zip_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match=r"torch\.save"):
        read_torch(tmp_path / "x.pt")
