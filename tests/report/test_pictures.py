import dataclasses
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from twincl.data.dataset import RawSplit
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.results.finished import load_run
from twincl.results.judged_data import judged_data
from twincl.runs.pictures import Pictures


def opened(content: bytes | None) -> Image.Image:
    assert content is not None
    image = Image.open(BytesIO(content))
    image.load()
    return image


def pictures(pixels) -> Pictures:
    return Pictures(RawSplit(pixels, None, [str(row) for row in range(len(pixels))]))


def encoded(array: np.ndarray, kind: str = "PNG", **options) -> bytes:
    buffer = BytesIO()
    Image.fromarray(array).save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (8, 8, 3), (8, 8, 4)])
def test_rows_of_arrays_keep_every_pixel(shape):
    array = np.random.default_rng(0).integers(0, 256, (3, *shape), dtype=np.uint8)
    if shape[2:] == (4,):
        array[..., 3] = 255
    image = opened(pictures(array).thumbnail(1))
    assert image.size == (8, 8)
    expected = array[1].reshape(8, 8, -1)[..., :3]
    assert np.array_equal(np.asarray(image.convert("RGB")), np.broadcast_to(expected, (8, 8, 3)))
    assert np.array_equal(pictures(array).sample(1), np.asarray(image.convert("RGB")))


def test_transparent_parts_are_white():
    array = np.zeros((1, 8, 8, 4), dtype=np.uint8)
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([0, 0, 0])
    buffer = BytesIO()
    palette.save(buffer, "PNG", transparency=0)
    for source in (array, [buffer.getvalue()]):
        assert (pictures(source).sample(0) == 255).all()


@pytest.mark.parametrize("as_file", [True, False])
def test_files_and_encoded_content_are_shown_whole_and_upright(tmp_path, as_file):
    array = np.zeros((200, 400, 3), dtype=np.uint8)
    array[:, 200:] = 255
    rotated = Image.Exif()
    rotated[0x0112] = 6  # to be turned a quarter to the right
    source = encoded(array, "JPEG", exif=rotated)
    file = tmp_path / "photo.jpg"
    file.write_bytes(source)
    image = opened(pictures([file if as_file else source]).thumbnail(0))
    assert image.size == (56, 112)
    pixels = np.asarray(image.convert("L"))
    assert pixels[:50].mean() < 20
    assert pixels[60:].mean() > 235
    assert pictures([source]).sample(0).shape == (400, 200, 3)


def test_sixteen_bits_are_scaled_not_cut():
    deep = np.full((20, 30), 257 * 100, dtype=np.uint16)
    sample = pictures([encoded(deep)]).sample(0)
    assert sample.shape == (20, 20, 3)
    assert (sample == 100).all()


def test_what_cannot_be_decoded_has_no_picture(tmp_path):
    broken = pictures([b"not an image", encoded(np.zeros((9, 9, 3), np.uint8))[:40]])
    for row in range(2):
        assert broken.thumbnail(row) is None
        assert broken.sample(row) is None
    assert pictures([tmp_path / "gone.png"]).thumbnail(0) is None


def test_feature_vectors_are_samples_without_a_picture():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert not pictures(rows).are_images
    assert pictures(rows).thumbnail(0) is None
    assert pictures(rows).sample(1).tolist() == [3, 4, 5]


def test_a_folder_is_found_again(photo_run, photos):
    run = load_run(photo_run)
    found = Pictures(judged_data(run))
    with Image.open(photos / run.table["file_name"][5]) as image:
        assert np.array_equal(found.sample(5), np.asarray(image))


def test_rows_are_those_of_the_table_where_it_leaves_out_some_of_the_data(photo_run, photos):
    run = load_run(photo_run)
    run = dataclasses.replace(run, table=run.table.drop(index=[0, 3]).reset_index(drop=True))
    split = judged_data(run)
    assert split.names == run.table["file_name"].tolist()
    with Image.open(photos / run.table["file_name"][5]) as image:
        assert np.array_equal(Pictures(split).sample(5), np.asarray(image))


def test_arrays_and_parquet_are_found_again(tmp_path, make_run, pictures):
    pixels, labels = pictures(30)
    np.savez(tmp_path / "data.npz", x=pixels, y=labels)
    content = [{"bytes": encoded(image), "path": None} for image in pixels]
    pd.DataFrame({"image": content, "label": labels}).to_parquet(tmp_path / "data.parquet")
    for name in ("data.npz", "data.parquet"):
        names = [str(row) for row in range(30)]
        run = load_run(make_run(tmp_path / f"run-{name}", tmp_path / name, names, labels, labels, ("a", "b", "c")))
        assert np.array_equal(Pictures(judged_data(run)).sample(7), pixels[7])


def test_names_of_every_kind_are_found_again(tmp_path, make_run, picture_folder):
    folder = picture_folder(tmp_path / "data")
    odd = ["a,b.png", 'quo"te.png', "new\nline.png", "caf\udce9.png", "NA.png", " .png"]
    for number, name in enumerate(odd):
        (folder / "red" / f"{number:02}.png").rename(folder / "red" / name)
    names = read_dataset(str(folder)).train.names
    labels = np.arange(len(names)) % 3
    run = load_run(make_run(tmp_path / "run", folder, names, labels, labels, ("a", "b", "c")))
    assert Pictures(judged_data(run)).thumbnail(0)


def test_missing_changed_and_broken_data_are_told_apart(tmp_path, make_run, monkeypatch):
    labels = np.arange(20) % 2
    names = [str(row) for row in range(20)]

    def reason(path: Path | str) -> str:
        run = load_run(make_run(tmp_path / "run", path, names, labels, labels, ("a", "b")))
        with pytest.raises(InputError) as error:
            judged_data(run)
        return str(error.value)

    assert reason(tmp_path / "gone") == f"there are no data at {tmp_path / 'gone'}"
    monkeypatch.chdir(tmp_path)
    assert reason("gone") == f"there are no data at gone (looked for from {tmp_path})"
    np.savez(tmp_path / "short.npz", x=np.zeros((5, 8, 8), np.uint8), y=labels[:5])
    assert reason(tmp_path / "short.npz").endswith("are not those that the run was trained on")
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    assert "cannot be read" in reason(tmp_path / "broken.npz")
