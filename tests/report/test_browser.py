"""The report in a real browser, opened from disk."""

import shutil

import numpy as np
import pytest

from twincl.data.read import read_dataset
from twincl.runs.report import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)")

HOSTILE = (
    "<script>alert(1)</script>",
    "very-long-name-without-a-break-" * 6,
    "שלום \u202e<b>",
    "$x_{",
    "猫 👩\u200d🔬",
)
SIZES = {"phone": {"width": 375, "height": 812}, "desktop": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory, make_run, picture_folder):
    root = tmp_path_factory.mktemp("hostile")
    folder = picture_folder(root / "data", per_class=20)
    (folder / "red" / "00.png").rename(folder / "red" / "<img src=x onerror=alert(1)>.png")
    (folder / "red" / "01.png").rename(folder / "red" / ("x" * 200 + ".png"))
    names = read_dataset(str(folder)).train.names
    labels = np.arange(len(names)) % len(HOSTILE)
    suggested = np.where(np.arange(len(names)) % 2, labels, (labels + 1) % len(HOSTILE))
    return write_report(make_run(root / "run", folder, names, labels, suggested, HOSTILE, truth=True))


@pytest.fixture(scope="module")
def many_classes_report(tmp_path_factory, make_run):
    root = tmp_path_factory.mktemp("many")
    classes = [f"a class called {k:03}" for k in range(60)]
    given = np.arange(240) % 60
    suggested = np.where(np.arange(240) % 3 == 0, (given + 7) % 60, given)
    names = [f"folder/{row}.jpg" for row in range(240)]
    return write_report(make_run(root / "run", root / "gone", names, given, suggested, classes))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("report", ["hostile_report", "many_classes_report"])
def test_it_opens_without_a_complaint_a_request_or_a_sideways_scroll(browser, request, report, size, scheme):
    complaints, requests = [], []
    page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda made: requests.append(made.url))
    url = request.getfixturevalue(report).as_uri()
    page.goto(url)
    page.locator("summary").click()  # the settings too
    assert complaints == []
    assert [made for made in requests if not made.startswith("data:")] == [url]
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    overflowing = """[...document.querySelectorAll('body *')].filter(one =>
        one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.hidden')
        && getComputedStyle(one).overflow !== 'hidden'
        && !one.closest('.file, .labels, .neighbours, .heat')).map(one => one.outerHTML.slice(0, 80))"""
    assert page.evaluate(overflowing) == []
    broken = "[...document.images].filter(one => !one.complete || !one.naturalWidth).length"
    assert page.evaluate(broken) == 0
    page.close()


def test_hostile_names_are_shown_as_text(browser, hostile_report):
    page = browser.new_page(viewport=SIZES["desktop"])
    page.goto(hostile_report.as_uri())
    text = page.evaluate("document.body.textContent")
    for name in (*HOSTILE, "<img src=x onerror=alert(1)>.png"):
        assert name in text
    assert page.evaluate("document.querySelectorAll('script, main b').length") == 0
    page.close()


def test_it_prints_light_whatever_the_screen_is(browser, hostile_report):
    page = browser.new_page(viewport=SIZES["desktop"], color_scheme="dark")
    page.goto(hostile_report.as_uri())
    shown = """kind => [...document.querySelectorAll('.chart')]
        .every(one => one.checkVisibility() === one.classList.contains(kind))"""
    assert page.evaluate(shown, "on-dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(shown, "on-light")
    assert page.pdf().startswith(b"%PDF")
    page.close()
