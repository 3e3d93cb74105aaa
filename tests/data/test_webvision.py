"""WebVision as published, and ILSVRC's validation images to test on."""

import pytest
from picture import save

from twincl.data.read import read_dataset
from twincl.data.synsets import match_synsets
from twincl.errors import InputError

SYNSETS = ("n01440764 tench, Tinca tinca", "n01443537 goldfish, Carassius auratus", "n01484850 great white shark")


@pytest.fixture
def webvision(tmp_path):
    """Three classes, two Google images each, one for validation; Flickr's are not to be read."""
    root, train, val = tmp_path / "webvision", [], []
    for label in range(3):
        for number in range(2):
            name = f"google/q000{label + 1}/{number}abc.jpg"
            save(root / name)
            train.append(f"{name} {label}")
        save(root / "val_images_256" / f"val{label}.jpg")
        val.append(f"val{label}.jpg {label}")
    save(root / "flickr" / "q0001" / "x.jpg")
    info = root / "info"
    info.mkdir()
    (info / "train_filelist_google.txt").write_text("\n".join(train) + "\n")
    (info / "train_filelist_flickr.txt").write_text("flickr/q0001/x.jpg 0\n")
    (info / "val_filelist.txt").write_text("\n".join(reversed(val)) + "\n")
    (info / "synsets.txt").write_text("\n".join([*SYNSETS, "n01491361 tiger shark"]) + "\n")
    return root


def test_google_trains_and_validation_tests(webvision):
    data = read_dataset(str(webvision))
    assert data.train.names[:3] == ["google/q0001/0abc.jpg", "google/q0001/1abc.jpg", "google/q0002/0abc.jpg"]
    assert data.train.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.train.pixels == [webvision / name for name in data.train.names]
    assert data.test.names == [f"val_images_256/val{label}.jpg" for label in (2, 1, 0)]
    assert data.test.labels.tolist() == [2, 1, 0]
    assert data.test.pixels[0] == webvision / "val_images_256" / "val2.jpg"
    assert data.classes == SYNSETS


def test_only_the_first_classes(webvision):
    data = read_dataset(str(webvision), max_classes=2)
    assert data.train.labels.tolist() == [0, 0, 1, 1]
    assert data.test.labels.tolist() == [1, 0]
    assert data.classes == SYNSETS[:2]


def test_fifty_classes_unless_told_otherwise(webvision):
    for label in (49, 50):
        save(webvision / f"google/q{label}/x.jpg")
        with (webvision / "info" / "train_filelist_google.txt").open("a") as file:
            file.write(f"google/q{label}/x.jpg {label}\n")
    (webvision / "info" / "synsets.txt").unlink()
    data = read_dataset(str(webvision))
    assert data.train.labels.max() == 49
    assert data.classes == tuple(str(number) for number in range(50))
    assert read_dataset(str(webvision), max_classes=1000).train.labels.max() == 50


def test_no_image_is_opened(webvision):
    for file in webvision.rglob("*.jpg"):
        file.write_bytes(b"not an image")
    assert len(read_dataset(str(webvision)).train) == 6


def test_what_is_missing_is_said(webvision):
    (webvision / "google" / "q0002" / "0abc.jpg").unlink()
    with pytest.raises(InputError, match=r"1 of 6 image files listed in .*train_filelist_google.txt does not exist"):
        read_dataset(str(webvision))
    assert len(read_dataset(str(webvision), max_classes=1).train) == 2, "what is not used may be missing"


@pytest.mark.parametrize("left", ["synsets.txt", "train_filelist_flickr.txt", "val_filelist.txt"])
def test_without_the_list_of_google_it_is_not_a_folder_of_images(webvision, left):
    for file in (webvision / "info").iterdir():
        if file.name != left:
            file.unlink()
    with pytest.raises(InputError, match=rf"holds info/{left} but not info/train_filelist_google.txt, which lists"):
        read_dataset(str(webvision))


def test_images_beside_another_info_folder_are_read(tmp_path):
    for name in ("ant", "bee"):
        save(tmp_path / name / "1.png")
    (tmp_path / "info").mkdir()
    (tmp_path / "info" / "about.txt").write_text("insects")
    assert read_dataset(str(tmp_path)).train.labels.tolist() == ["ant", "bee"]


@pytest.mark.parametrize("listing", ["train_filelist_google.txt", "val_filelist.txt"])
def test_labels_outside_the_synsets_are_refused(webvision, listing):
    file = webvision / "info" / listing
    lines = len(file.read_text().splitlines())
    with file.open("a") as stream:
        stream.write("google/q0001/0abc.jpg 30\n")
    read_dataset(str(webvision), max_classes=2)  # beyond what is read
    said = rf"line {lines + 1} of .*{listing} has the class 30 but .*synsets.txt has 4 classes, from 0 to 3"
    with pytest.raises(InputError, match=said):
        read_dataset(str(webvision))


def test_a_list_cannot_lead_outside(webvision):
    secret = save(webvision.parent / "secret.jpg")
    with (webvision / "info" / "train_filelist_google.txt").open("a") as file:
        file.write("../secret.jpg 1\n")
    with pytest.raises(InputError, match=r"lies outside"):
        read_dataset(str(webvision))
    data = read_dataset(str(webvision), allow_outside=True)
    assert data.train.pixels[-1].resolve() == secret


def test_columns_are_refused(webvision):
    with pytest.raises(InputError, match="is not a table"):
        read_dataset(str(webvision), label_column="x")


def ilsvrc(folder, layout):
    """An image of each of four synsets in one of the usual layouts; `SYNSETS` does not have the last."""
    synsets = [*(name.split()[0] for name in SYNSETS), "n01491361"]
    for label, synset in enumerate(synsets):
        inner = {"synsets": synset, "numbers": str(label), "list": "."}[layout]
        save(folder / inner / f"ILSVRC2012_val_0000000{9 - label}.jpg")
    if layout == "list":
        lines = [f"ILSVRC2012_val_0000000{9 - label}.jpg {label}\n" for label in range(4)]
        (folder / "val.txt").write_text("".join(reversed(lines)))
    return read_dataset(str(folder)).train


@pytest.mark.parametrize("layout", ["synsets", "numbers", "list"])
def test_ilsvrc_is_matched_by_synset(tmp_path, layout):
    split = match_synsets(ilsvrc(tmp_path / "val", layout), SYNSETS)
    found = {name.rsplit("_", 1)[1]: label for name, label in zip(split.names, split.labels, strict=True)}
    assert found == {f"0000000{9 - label}.jpg": SYNSETS[label] for label in range(3)}
    assert len(split.pixels) == 3


def test_numbers_of_the_development_kit_are_not_taken_for_synsets(tmp_path):
    save(tmp_path / "ILSVRC2012_val_00000001.JPEG")
    (tmp_path / "ILSVRC2012_validation_ground_truth.txt").write_text("490\n")
    with pytest.raises(InputError, match="numbers the classes in an order of its own; sort the images"):
        read_dataset(str(tmp_path))


def test_other_data_are_left_alone(tmp_path):
    split = ilsvrc(tmp_path / "val", "synsets")
    assert match_synsets(split, ("cat", "dog")) is split
    assert match_synsets(split, None) is split
    save(tmp_path / "other" / "cat" / "1.png")
    other = read_dataset(str(tmp_path / "other")).train
    assert match_synsets(other, SYNSETS) is other


def test_the_first_classes_of_any_data(tmp_path):
    for split in ("train", "test"):
        for name in ("ant", "bee", "cow"):
            save(tmp_path / split / name / "1.png")
    data = read_dataset(str(tmp_path), max_classes=2)
    assert data.train.labels.tolist() == data.test.labels.tolist() == ["ant", "bee"]
    assert read_dataset("digits", max_classes=3).train.labels.max() == 2
    assert read_dataset("digits", max_classes=3).classes == read_dataset("digits").classes[:3]
