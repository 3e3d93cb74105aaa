"""Clothing1M in the layouts in which it goes around."""

import pytest
from picture import save

from twincl.data.clothing1m import CLASSES
from twincl.data.read import read_dataset
from twincl.errors import InputError

NOISY = {"images/0/00/1,2.jpg": 3, "images/1/01/5,6.jpg": 13, "images/9/42/7,8.jpg": 0}
CLEAN = {"images/2/02/1,1.jpg": 1, "images/2/02/2,2.jpg": 5, "images/2/02/3,3.jpg": 12}


def lists(noisy=NOISY, clean=CLEAN):
    keys = list(clean)
    return {
        "noisy_train_key_list.txt": "\n".join(noisy),
        "noisy_label_kv.txt": "\n".join(f"{key} {label}" for key, label in [*clean.items(), *reversed(noisy.items())]),
        "clean_train_key_list.txt": keys[0],
        "clean_val_key_list.txt": keys[1],
        "clean_test_key_list.txt": "\n".join(keys[1:][::-1]),
        "clean_label_kv.txt": "\n".join(f"{key} {label}" for key, label in clean.items()),
    }


@pytest.fixture
def clothing(tmp_path):
    for key in (*NOISY, *CLEAN):
        save(tmp_path / "set" / key)
    for name, text in lists().items():
        (tmp_path / "set" / name).write_text(text + "\n")
    return tmp_path / "set"


def check(root, images="images/"):
    data = read_dataset(str(root))
    assert data.train.names == list(NOISY)
    assert data.train.labels.tolist() == list(NOISY.values())
    assert data.train.pixels == [root / name.replace("images/", images) for name in NOISY]
    assert data.test.names == list(CLEAN)[1:][::-1]
    assert data.test.labels.tolist() == [12, 5]
    return data


def test_noisy_trains_and_clean_tests(clothing):
    data = check(clothing)
    assert data.classes == CLASSES
    assert len(CLASSES) == 14
    assert read_dataset(str(clothing), split="val").train.names == [list(CLEAN)[1]]


def test_lists_in_annotations_and_names_in_a_file(clothing):
    (clothing / "annotations").mkdir()
    for name in lists():
        (clothing / name).rename(clothing / "annotations" / name)
    (clothing / "annotations" / "category_names_eng.txt").write_text("\n".join(f"kind {k}" for k in range(14)))
    assert check(clothing).classes[13] == "kind 13"


def test_lists_beside_the_folders_of_images(clothing):
    for folder in (clothing / "images").iterdir():
        folder.rename(clothing / folder.name)
    (clothing / "images").rmdir()
    check(clothing, images="")


def test_only_the_first_classes(clothing):
    data = read_dataset(str(clothing), max_classes=4)
    assert data.train.labels.tolist() == [3, 0]
    assert data.classes == CLASSES[:4]
    assert data.test is None


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        ("noisy_label_kv.txt", r"noisy_label_kv.txt is missing"),
        ("clean_label_kv.txt", r"clean_label_kv.txt is missing"),
        ("images/9/42/7,8.jpg", r"1 of 3 image files listed in .*noisy_train_key_list.txt does not exist"),
    ],
)
def test_what_is_missing_is_said(clothing, remove, message):
    (clothing / remove).unlink()
    with pytest.raises(InputError, match=message):
        read_dataset(str(clothing))


PARTS = [name for name in lists() if name != "noisy_train_key_list.txt"]


@pytest.mark.parametrize("place", [".", "annotations"])
@pytest.mark.parametrize("left", PARTS)
def test_without_the_noisy_list_it_is_not_a_folder_of_images(clothing, left, place):
    (clothing / "annotations").mkdir()
    (clothing / left).rename(clothing / place / left)
    for name in lists():
        if name != left:
            (clothing / name).unlink()
    with pytest.raises(InputError, match=rf"holds {left} but not noisy_train_key_list.txt, which lists"):
        read_dataset(str(clothing))


def test_an_image_listed_twice_is_one_image(clothing):
    before = read_dataset(str(clothing)).train
    keys = clothing / "noisy_train_key_list.txt"
    names = keys.read_text().split("\n")[:-1]
    keys.write_text("\n".join([*names, names[1]]))
    found = read_dataset(str(clothing)).train
    assert (found.names, found.labels.tolist()) == (before.names, before.labels.tolist())


def test_an_image_without_label_is_named(clothing):
    (clothing / "noisy_label_kv.txt").write_text("images/0/00/1,2.jpg 3\n")
    with pytest.raises(InputError, match=r"2 of 3 images in .*key_list.txt have no label in .*noisy_label_kv.txt"):
        read_dataset(str(clothing))


def test_a_list_cannot_lead_outside(clothing):
    save(clothing.parent / "secret.jpg")
    noisy = NOISY | {"images/../../secret.jpg": 2}
    for name, text in lists(noisy).items():
        (clothing / name).write_text(text)
    with pytest.raises(InputError, match=r"1 of 4 .* lies outside"):
        read_dataset(str(clothing))
    assert len(read_dataset(str(clothing), allow_outside=True).train) == 4
