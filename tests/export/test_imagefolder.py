import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from twincl.data.images import load_images
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.export.names import Unique, safe_folder, safe_name
from twincl.results.corrections import Policy, correct
from twincl.results.finished import load_run
from twincl.results.folder import write_issues
from twincl.runs.export import export

POLICY = Policy(relabel_above=0.7, drop_below=0.3)
NOTHING = Policy(relabel_above=1, drop_below=0)


def expected(run) -> dict[str, str]:
    """The corrected label of each image that is not dropped."""
    table = correct(load_run(run).table, POLICY)
    kept = table[table["action"] != "drop"]
    assert 0 < len(kept) < len(table)
    assert (kept["action"] == "relabel").any()
    return dict(zip(kept["file"], kept["corrected"], strict=True))


def manifest(folder) -> pd.DataFrame:
    return pd.read_csv(folder / "manifest.csv", dtype=str, keep_default_na=False)


def test_digits_become_a_folder_that_twincl_reads(digits, tmp_path):
    """Arrays are written as PNG and come back pixel by pixel."""
    output = tmp_path / "clean"
    said = export(digits, "imagefolder", output, policy=POLICY)
    wanted = expected(digits)
    assert said.startswith(f"{len(wanted)} images written, ")
    listed = manifest(output)
    assert dict(zip(listed["source"], listed["label"], strict=True)) == wanted
    raw = read_dataset(str(output))
    assert (raw.test, len(raw.train)) == (None, len(wanted))
    assert dict(zip(listed["file_name"], listed["label"], strict=True)) == dict(
        zip(raw.train.names, raw.train.labels, strict=True)
    )
    original = read_dataset("digits").train
    pixels = dict(zip(original.names, original.pixels, strict=True))
    source = dict(zip(listed["file_name"], listed["source"], strict=True))
    copies = load_images(raw.train, size=None, channels=None).images.batch(np.arange(len(raw.train)))
    for name, copy in zip(raw.train.names, copies, strict=True):
        np.testing.assert_array_equal(copy[0], pixels[source[name]])


@pytest.mark.parametrize("link", [False, True])
def test_files_are_copied_or_linked_and_the_original_is_left_alone(picture_folder, run_on, fingerprint, tmp_path, link):
    photos = picture_folder(tmp_path / "photos")
    run, before = run_on(tmp_path / "run", photos), fingerprint(photos)
    export(run, "imagefolder", tmp_path / "clean", policy=POLICY, link=link)
    assert fingerprint(photos) == before
    listed = manifest(tmp_path / "clean")
    assert set(listed["source"]) == expected(run).keys()
    for row in listed.itertuples():
        copy = tmp_path / "clean" / row.file_name
        assert copy.parent.name == row.label == expected(run)[row.source]
        assert copy.read_bytes() == before[row.source]
        assert copy.samefile(photos / row.source) == link


def test_equal_names_from_different_folders_get_numbers(picture_folder, run_on, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=1)  # blue/00.png, green/00.png, red/00.png
    (data / "blue" / "00.png").rename(data / "blue" / "00-2.png")
    (data / "blue" / "deep").mkdir()
    for name in ("00.PNG", "00.png"):
        (data / "blue" / "deep" / name).write_bytes((data / "red" / "00.png").read_bytes())
    run = run_on(tmp_path / "run", data)
    export(run, "imagefolder", tmp_path / "clean", policy=Policy(relabel_above=0, drop_below=0))
    listed = manifest(tmp_path / "clean")
    assert len(listed) == 5
    assert listed["file_name"].str.lower().is_unique, "also where case does not count"
    for row in listed.itertuples():
        assert (tmp_path / "clean" / row.file_name).read_bytes() == (data / row.source).read_bytes()


def test_hostile_class_names_stay_inside_the_folder(pictures, run_on, fingerprint, tmp_path):
    classes = [
        "..",
        ".",
        "",
        "a/b",
        "/etc",
        "train",
        "test",
        "NUL",
        ".hidden",
        "Cat",
        "cat",
        "end. ",
        "x" * 300,
        "ü",
        "a_b",
    ]
    classes = [name for name in classes if name.strip()] + ["  lead"]
    pixels, _ = pictures(len(classes) * 2)
    labels = np.array([classes[k % len(classes)] for k in range(len(pixels))], dtype=str)
    np.savez(tmp_path / "data.npz", x=pixels, y=labels)
    run = run_on(tmp_path / "run", tmp_path / "data.npz")
    before = fingerprint(tmp_path)
    export(run, "imagefolder", tmp_path / "clean", policy=NOTHING)
    after = {k: v for k, v in fingerprint(tmp_path).items() if not k.startswith("clean/")}
    assert after == before, "nothing outside of the new folder"
    names = load_run(run).classes
    folders = json.loads((tmp_path / "clean" / "class_folders.json").read_text())
    assert list(folders) == list(names)
    assert len({folder.casefold() for folder in folders.values()}) == len(names)
    assert folders["cat"] == "cat-2"
    assert folders["ü"] == "ü"
    assert sorted(path.name for path in (tmp_path / "clean").iterdir() if path.is_dir()) == sorted(folders.values())
    raw = read_dataset(str(tmp_path / "clean")).train
    assert len(raw) == len(pixels), "every class is read again as a class"
    back = {folder: name for name, folder in folders.items()}
    listed = manifest(tmp_path / "clean").set_index("file_name")["label"]
    assert [back[label] for label in raw.labels] == listed[raw.names].tolist()


@given(st.text())
def test_a_safe_name_is_one_name(name):
    for safe in (safe_name(name), safe_folder(name)):
        assert safe == safe.strip(". ")
        assert safe
        assert len(safe.encode("utf-8", "surrogatepass")) <= 204
        assert not set(safe) & set('/\\:*?"<>|\0\n')
    assert safe_name(safe_name(name)) == safe_name(name)


@given(st.lists(st.sampled_from(["a", "A", "a-2", "b", "é", "e\u0301"])))
def test_names_are_handed_out_once(stems):
    names = Unique()
    given_out = [names.take(stem, ".png") for stem in stems]
    assert len({name.casefold() for name in given_out}) == len(stems)


def encoded(pixels, kind) -> bytes:
    from io import BytesIO

    file = BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def test_images_inside_a_table_keep_their_bytes_and_get_their_suffix(pictures, run_on, tmp_path):
    pixels, labels = pictures(12)
    kinds = ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"] * 2
    content = [encoded(image, kind) for image, kind in zip(pixels, kinds, strict=True)]
    images = [{"bytes": one, "path": f"{row % 6}.jpg" if row else None} for row, one in enumerate(content)]
    pq.write_table(pa.table({"image": images, "label": [f"c{k}" for k in labels]}), tmp_path / "data.parquet")
    run = run_on(tmp_path / "run", tmp_path / "data.parquet")
    export(run, "imagefolder", tmp_path / "clean", policy=NOTHING)
    listed = manifest(tmp_path / "clean")
    assert len(listed) == 12
    suffix = {"PNG": ".png", "JPEG": ".jpg", "GIF": ".gif", "WEBP": ".webp", "BMP": ".bmp", "TIFF": ".tif"}
    for row, kind, one in zip(listed.itertuples(), kinds, content, strict=True):
        assert row.file_name.endswith(suffix[kind])
        assert (tmp_path / "clean" / row.file_name).read_bytes() == one
    with pytest.raises(InputError, match=r"not files of their own, .* leave out --link"):
        export(run, "imagefolder", tmp_path / "linked", link=True)


def test_files_without_a_usual_suffix_get_one(pictures, run_on, tmp_path):
    pixels, labels = pictures(6)
    for row, image in enumerate(pixels):
        (tmp_path / f"{row}.dat").write_bytes(encoded(image, "PNG"))
    lines = [f"{row}.dat,c{label}" for row, label in enumerate(labels)]
    (tmp_path / "list.csv").write_text("\n".join(["file,label", *lines]))
    run = run_on(tmp_path / "run", tmp_path / "list.csv")
    export(run, "imagefolder", tmp_path / "clean", policy=NOTHING)
    assert sorted(manifest(tmp_path / "clean")["file_name"]) == sorted(f"c{k % 3}/{k}.dat.png" for k in range(6))
    assert len(read_dataset(str(tmp_path / "clean")).train) == 6


def test_an_image_that_is_gone_leaves_nothing_behind(picture_folder, run_on, tmp_path):
    photos = picture_folder(tmp_path / "photos")
    run = run_on(tmp_path / "run", photos)
    (photos / "red" / "03.png").unlink()
    with pytest.raises(InputError, match=r"are not those that the run was trained on; say with --data where they are"):
        export(run, "imagefolder", tmp_path / "clean")
    (photos / "red" / "03.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.raises(InputError, match=r"the image .*03.png cannot be copied \(No such file"):
        export(run, "imagefolder", tmp_path / "clean", policy=NOTHING)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos", "run"]


def test_data_that_have_moved_are_found_where_one_says(picture_folder, run_on, tmp_path):
    photos = picture_folder(tmp_path / "photos")
    run = run_on(tmp_path / "run", photos)
    photos.rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"there are no data at .*photos; say with --data"):
        export(run, "imagefolder", tmp_path / "clean")
    export(run, "imagefolder", tmp_path / "clean", data=str(tmp_path / "moved"), policy=NOTHING)
    assert len(manifest(tmp_path / "clean")) == 36


def test_features_are_no_images(vectors, tmp_path):
    for format in ("imagefolder", "labelstudio", "fiftyone"):
        with pytest.raises(InputError, match=r"trained on feature vectors, .* export csv"):
            export(vectors, format, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_issue_is_never_dropped_and_an_empty_export_is_refused(photo_run, tmp_path):
    run = shutil.copytree(photo_run, tmp_path / "run")
    everything = Policy(relabel_above=1, drop_below=1)
    export(run, "imagefolder", tmp_path / "clean", policy=everything)
    table = load_run(run).table
    assert len(manifest(tmp_path / "clean")) == (~table["is_label_issue"]).sum() > 0
    write_issues(run, table.assign(is_label_issue=True, clean_probability=0.1))
    with pytest.raises(InputError, match="every image would be dropped; give a lower --drop-below"):
        export(run, "imagefolder", tmp_path / "none", policy=everything)
    assert not (tmp_path / "none").exists()


def test_many_equal_names_are_numbered_without_a_search_each():
    unique, count = Unique(), 20_000  # a search from the first for each would take minutes
    names = [unique.take("image", ".png") for _ in range(count)]
    assert names[:3] == ["image.png", "image-2.png", "image-3.png"]
    assert len(set(names)) == count
