"""Exported models say what the original says, in the runtimes they are for."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors import safe_open

from twincl.data.images import load_like
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.export import deployable, onnx_model
from twincl.results.finished import load_run
from twincl.results.model_file import load_model
from twincl.runs.export import export
from twincl.runs.predict import predict

RUNS = ["digits", "vectors", "photo_run"]


def truth(run, count: int):
    """The first samples of the run's data, and the original's probabilities and embeddings of them."""
    finished, model = load_run(run), load_model(run, torch.device("cpu"))
    raw = read_dataset(finished.config["data"]["path"]).train
    samples = load_like(raw.subset(np.arange(count)), model.shape).images.batch(np.arange(count))
    with torch.no_grad():
        embeddings, logits = model.net(model.views.plain(samples.clone()))
    return samples, (logits / model.temperature).softmax(1), embeddings


@pytest.mark.parametrize("name", ["digits", "vectors"])
def test_every_model_is_as_sure_as_the_issue_table(request, name, tmp_path):
    run = load_run(request.getfixturevalue(name))
    data = run.config["data"]["path"]
    samples = truth(run.folder, len(run.table))[0]
    export(run.folder, "onnx", tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    export(run.folder, "torch-export", tmp_path / "model.pt2")
    program = torch.export.load(tmp_path / "model.pt2").module()
    said = {
        "onnx": session.run(["probabilities"], {"input": samples.numpy()})[0],
        "torch-export": program(samples)[0].detach().numpy(),
    }
    assert load_model(run.folder, torch.device("cpu")).temperature != 1, "otherwise this shows nothing"
    for probabilities in said.values():
        np.testing.assert_allclose(probabilities, run.class_probabilities, atol=1e-4)
    export(run.folder, "safetensors", tmp_path / "model")
    for folder in (run.folder, tmp_path / "model"):
        table, _ = predict(folder, data, split="train" if data == "digits" else None, device="cpu")
        np.testing.assert_allclose(table["confidence"], run.class_probabilities.max(1), atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_onnx(request, name, tmp_path):
    run, file = request.getfixturevalue(name), tmp_path / "model.onnx"
    said = export(run, "onnx", file)
    assert "agrees with the model within" in said
    model = load_model(run, torch.device("cpu"))
    content = onnx.load(file)
    onnx.checker.check_model(content, full_check=True)
    assert [(entry.domain, entry.version) for entry in content.opset_import] == [("", onnx_model.OPSET)]
    about = {entry.key: entry.value for entry in content.metadata_props}
    assert json.loads(about["classes"]) == list(model.classes)
    assert about["input"].startswith("features, float32" if name == "vectors" else "images, uint8 0..255")
    assert b"/site-packages/" not in file.read_bytes(), "nothing of this machine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx"], "weights are inside"

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    assert (entry.name, entry.shape[1:]) == ("input", list(model.shape))
    assert isinstance(entry.shape[0], str), "any number of samples"
    for count in (1, 3, 20):
        samples, probabilities, embeddings = truth(run, count)
        found = session.run(["probabilities", "embeddings"], {"input": samples.numpy()})
        np.testing.assert_allclose(found[0], probabilities, atol=1e-4)
        np.testing.assert_allclose(found[1], embeddings, atol=1e-4)
        np.testing.assert_allclose(found[0].sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_torch_export(request, name, tmp_path):
    run, file = request.getfixturevalue(name), tmp_path / "model.pt2"
    assert "agrees with the model within" in export(run, "torch-export", file)
    extra = {"about.json": ""}
    program = torch.export.load(file, extra_files=extra).module()
    assert json.loads(extra["about.json"])["classes"] == list(load_run(run).classes)
    for count in (1, 3, 20):
        samples, probabilities, embeddings = truth(run, count)
        before = samples.clone()
        found = program(samples)
        torch.testing.assert_close(found[0].detach(), probabilities, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(found[1].detach(), embeddings, atol=1e-5, rtol=1e-4)
        assert torch.equal(samples, before), "the input is left as it was"


def test_safetensors(digits, tmp_path):
    export(digits, "safetensors", tmp_path / "model")
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == [
        "README.md",
        "export.json",
        "model.json",
        "model.safetensors",
    ]
    with safe_open(tmp_path / "model" / "model.safetensors", "pt") as file:
        ours = load_model(digits, torch.device("cpu")).net.state_dict()
        assert set(file.keys()) == ours.keys()
        assert all(torch.equal(file.get_tensor(name), ours[name]) for name in ours)
    copy, _ = predict(tmp_path / "model", "digits", device="cpu")
    original, _ = predict(digits, "digits", device="cpu")
    assert copy.equals(original), "the folder is a model for twincl"
    assert "images, uint8 0..255 (batch, 1, 8, 8)" in (tmp_path / "model" / "README.md").read_text()


def test_data_that_are_gone_do_not_keep_a_model_from_being_exported(picture_folder, run_on, tmp_path):
    photos = picture_folder(tmp_path / "photos")
    run = run_on(tmp_path / "run", photos)
    photos.rename(tmp_path / "moved")
    assert "agrees with the model" in export(run, "torch-export", tmp_path / "model.pt2")


@pytest.mark.parametrize(("format", "file"), [("onnx", "model.onnx"), ("torch-export", "model.pt2")])
def test_a_model_that_does_not_agree_is_not_left_behind(photo_run, tmp_path, monkeypatch, format, file):
    monkeypatch.setattr(deployable, "TOLERANCE", -1.0)
    (tmp_path / file).write_text("an earlier export")
    with pytest.raises(InputError, match=r"differs from the original by .* it is not kept"):
        export(photo_run, format, tmp_path / file, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [file]
    assert (tmp_path / file).read_text() == "an earlier export"


def test_nan_does_not_agree():
    one = torch.ones(2, 3), torch.ones(2, 4)
    assert deployable.compare(one, one, "itself") == 0
    with pytest.raises(InputError, match="differs from the original by nan"):
        deployable.compare(one, (one[0] * float("nan"), one[1]), "nowhere")


@pytest.mark.parametrize("missing", ["onnx", "onnxscript"])
def test_without_the_extra_it_is_one_sentence(photo_run, tmp_path, monkeypatch, missing):
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(InputError, match=rf"needs {missing} .* pip install 'twincl\[onnx\]'"):
        export(photo_run, "onnx", tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_without_onnxruntime_the_file_is_written_and_says_so(photo_run, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    assert "onnxruntime is not installed" in export(photo_run, "onnx", tmp_path / "model.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"))


def test_a_quiet_export(photo_run, tmp_path, capfd, recwarn):
    export(photo_run, "onnx", tmp_path / "model.onnx")
    export(photo_run, "torch-export", tmp_path / "model.pt2")
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
