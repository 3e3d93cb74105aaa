"""The report as it is written into a run folder."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.results.finished import load_run
from twincl.results.folder import SUMMARY, write_issues
from twincl.runs import report as report_module
from twincl.runs.pictures import Pictures
from twincl.runs.report import write_report

VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Checks that tags are balanced and collects text and attributes."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def read(run, **options) -> Reader:
    page = write_report(run, **options)
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    assert reader.open == []
    reader.text = " ".join(reader.text.split())
    return reader


def test_everything_is_there_and_nothing_comes_from_elsewhere(photo_run):
    page = read(photo_run)
    names = sorted(path.name for path in (photo_run / "figures").iterdir())
    assert names == [
        "label_quality.png",
        "map.png",
        "noise_by_class.png",
        "training_accuracy.png",
        "training_loss.png",
        "training_noise.png",
        "transitions.png",
    ]
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object")
        assert attributes.get("src", "data:image/").startswith("data:image/")
        assert attributes.get("href", "#").startswith("#")
        if tag == "img":
            assert attributes["alt"]
    assert [tag for tag, _ in page.tags].count("h1") == 1
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert {attributes["href"][1:] for tag, attributes in page.tags if tag == "a"} <= ids
    assert "About 1 in 4 labels looks wrong" in page.text
    assert "9 of 36 labels do not fit their images" in page.text
    assert "40 samples held out of the data" in page.text
    assert "Because the truth is known" not in page.text
    assert "no image, or nearly the same image, occurs under two labels" in page.text
    assert re.search(r"data\.image_column ?data\.label_column ?data\.path", page.text), "no value is an empty cell"
    assert not list(photo_run.glob(".*"))


def test_a_card_shows_the_picture_and_its_company(photo_run, photos):
    page = read(photo_run)
    cards = [attributes for tag, attributes in page.tags if tag == "img" and attributes["alt"].startswith("image ")]
    company = [
        attributes for tag, attributes in page.tags if tag == "img" and attributes["alt"].startswith("labelled ")
    ]
    assert len(cards) == 9
    assert len(company) == 9 * 6
    assert all(card["class"] == "pixelated" for card in cards)
    content = base64.b64decode(cards[0]["src"].partition(",")[2])
    assert content.startswith(b"\x89PNG")
    name = re.match(r"image (.*), labelled (\w+)$", cards[0]["alt"])
    assert (photos / name[1]).is_file()
    assert name[1].startswith(name[2])


@pytest.mark.parametrize(("clean", "shown"), [(0.6, "40.0"), (0.9, "25.0")])
def test_the_share_wrong_is_what_is_expected_and_at_least_what_is_suspect(photo_run, clean, shown):
    table = load_run(photo_run).table.assign(clean_probability=clean)  # a quarter of the labels is suspect
    write_issues(photo_run, table)
    assert f"estimated share wrong{shown} %" in read(photo_run).text


def test_what_looked_wrong_about_the_training_stands_above_its_outcome(photo_run):
    assert "Read what follows with care" not in read(photo_run).text
    summary = json.loads((photo_run / SUMMARY).read_text())
    (photo_run / SUMMARY).write_text(json.dumps(summary | {"warnings": ["the model has collapsed; try <more> epochs"]}))
    text = read(photo_run, force=True).text
    sentence = "Read what follows with care: the model has collapsed; try <more> epochs."
    assert text.index(sentence) < text.index("estimated share wrong")


def test_truth_has_a_box_of_its_own(tmp_path, make_run):
    labels = np.arange(40) % 4
    run = make_run(tmp_path / "run", "digits", list(map(str, range(40))), labels, labels, "0123", truth=True)
    page = read(run)
    assert "Because the truth is known" in page.text
    assert "0.9500" in page.text
    assert (run / "figures" / "training_detection.png").is_file()


def test_data_that_moved_away_are_a_sentence_in_the_report(tmp_path, make_run):
    labels = np.arange(40) % 2
    names = [f"{row}.jpg" for row in range(40)]
    run = make_run(
        tmp_path / "run",
        tmp_path / "gone",
        names,
        labels,
        np.where(labels & (np.arange(40) % 4 == 1), 0, labels),
        ("cat", "dog"),
    )
    page = read(run)
    sentence = f"Pictures are missing because there are no data at {tmp_path / 'gone'}."
    assert page.text.count(sentence) == 1
    assert f"Duplicates were not looked for because there are no data at {tmp_path / 'gone'}." in page.text
    assert "dog → cat" in page.text
    assert re.search(r"others labelled cat \d+.jpg \d+.jpg \d+.jpg", page.text)
    assert not any(attributes["alt"].startswith("image ") for tag, attributes in page.tags if tag == "img")


def test_feature_vectors_have_text_cards_and_exact_duplicates(tmp_path, make_run):
    rows = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    rows[7] = rows[4]
    labels = np.arange(40) % 2
    np.savez(tmp_path / "data.npz", x=rows, y=labels)
    suggested = np.where(np.arange(40) % 8 == 0, 1, labels)
    names = list(map(str, range(40)))
    run = make_run(tmp_path / "run", tmp_path / "data.npz", names, labels, suggested, ("a", "b"), shape=(5,))
    page = read(run)
    assert "feature vectors, so there are no pictures" in page.text
    assert "1 sample occurs more than once with labels that differ" in page.text
    assert "5 of 40 labels do not fit their samples" in page.text
    assert not re.search(r"\bimages?\b", page.text, re.IGNORECASE)


def test_conflicting_duplicates_are_shown_with_their_labels(tmp_path, make_run, pictures):
    pixels, labels = pictures(30)
    pixels[20] = pixels[3]
    np.savez(tmp_path / "data.npz", x=pixels, y=labels)
    run = make_run(tmp_path / "run", tmp_path / "data.npz", list(map(str, range(30))), labels, labels, ("a", "b", "c"))
    bars = []

    def progress(iterable, **options):
        bars.append(options)
        return iterable

    page = read(run, progress=progress)
    assert "1 image occurs more than once" in page.text
    assert "identical a 3 c 20" in page.text
    assert len(bars) == 1


@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_duplicates_are_looked_for_by_several_threads_with_the_same_result(
    tmp_path, make_run, pictures, picture_folder, monkeypatch, meeting, kind
):
    if kind == "files":
        data = picture_folder(tmp_path / "data", per_class=20)
        for copy, broken in (("red/03.png", "red/11.png"), ("green/07.png", "blue/00.png")):
            (data / copy).write_bytes((data / "blue" / "05.png").read_bytes())
            (data / broken).write_bytes(b"broken")
        names, labels = read_dataset(str(data)).train.names, np.repeat(np.arange(3), 20)
    else:
        pixels, labels = pictures(60)
        pixels[20] = pixels[3]
        data, names = tmp_path / "data.npz", list(map(str, range(60)))
        np.savez(data, x=pixels, y=labels)
    run = make_run(tmp_path / "run", data, names, labels, labels, ("a", "b", "c"))
    pages, sample = [], Pictures.sample
    for threads in (1, 3):
        met = meeting(sample, threads)
        monkeypatch.setattr(Pictures, "sample", lambda self, row, met=met: met(self, row))
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        pages.append(read(run, force=True).text)
        assert len(met.seen) == threads
        assert "MainThread" not in met.seen
    assert pages[0] == pages[1]
    assert "1 image occurs more than once" in pages[0]


def test_too_many_images_are_not_compared(photo_run, monkeypatch):
    monkeypatch.setattr(report_module, "MOST", 10)
    assert "among at most 10 images" in read(photo_run).text


def test_clean_labels(tmp_path, make_run):
    labels = np.arange(50) % 5
    run = make_run(tmp_path / "run", "digits", list(map(str, range(50))), labels, labels, "01234", epochs=1)
    page = read(run)
    assert "Not one label looks wrong" in page.text
    assert "No label is suspect." in page.text


def test_many_classes_are_cut_to_the_most_telling(tmp_path, make_run):
    classes = [f"class {k:03}" for k in range(60)]
    given = np.arange(240) % 60
    suggested = np.where(np.arange(240) % 3 == 0, (given + 7) % 60, given)
    run = make_run(tmp_path / "run", "digits", list(map(str, range(240))), given, suggested, classes)
    page = read(run)
    assert "the first 30 of 60 classes" in page.text
    assert "Of 60 classes the 20 most confused are shown" in page.text
    assert "The 10 most frequent of 60 classes are named" in page.text
    assert "The 40 labels that fit worst, of 80" in page.text


def test_two_tiny_classes(tmp_path, make_run):
    run = make_run(tmp_path / "run", "digits", ["0", "1", "2"], np.array([0, 1, 1]), np.array([0, 0, 1]), ("0", "1"))
    page = read(run)
    assert "too few images" in page.text
    assert not (run / "figures" / "map.png").exists()


def test_hostile_names_are_text(tmp_path, make_run, picture_folder):
    folder = picture_folder(tmp_path / "data")
    (folder / "red" / "00.png").rename(folder / "red" / "<img src=x onerror=alert(1)>.png")
    (folder / "red" / "01.png").rename(folder / "red" / "new\nline \udcff.png")
    names = read_dataset(str(folder)).train.names
    labels = np.arange(len(names)) % 3
    classes = ("</style><script>alert(1)</script>", "$\\frac{", '"\u202e👩\u200d🔬')
    run = make_run(tmp_path / "run", folder, names, labels, (labels + 1) % 3, classes)
    page = read(run)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script"})
    assert not any("onerror" in attributes for _, attributes in page.tags)
    assert "<img src=x onerror=alert(1)>.png" in page.text
    assert r"new\nline \udcff.png" in page.text
    assert "</style><script>alert(1)</script>" in page.text
    assert "👩\u200d🔬" in page.text


def test_nothing_is_overwritten_unasked(photo_run):
    write_report(photo_run)
    before = (photo_run / "report.html").stat().st_mtime_ns
    with pytest.raises(InputError, match=r"report\.html exists; pass --force"):
        write_report(photo_run)
    assert (photo_run / "report.html").stat().st_mtime_ns == before
    write_report(photo_run, force=True)
    (photo_run / "report.html").unlink()
    with pytest.raises(InputError, match="png exists; pass --force"):
        write_report(photo_run)
    assert not (photo_run / "report.html").exists()


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="no finished run"):
        write_report(tmp_path)


def test_a_picture_that_broke_leaves_a_blank(tmp_path, make_run, picture_folder):
    folder = picture_folder(tmp_path / "data")
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.png"))]
    labels = np.repeat(np.arange(3), 12)
    run = make_run(tmp_path / "run", folder, names, labels, (labels + 1) % 3, ("blue", "green", "red"))
    (folder / names[0]).write_bytes(b"broken")
    Image.new("RGB", (300, 100)).save(folder / names[1])
    assert "no picture" in read(run).text
