import pytest

from twincl.report.headline import accuracy_on_test, against_truth, headline, percent


@pytest.mark.parametrize(
    ("flagged", "text"),
    [
        (0, "Not one label looks wrong"),
        (1, "The labels look clean"),
        (29, "The labels look clean"),
        (111, "About 1 in 9 labels looks wrong"),
        (276, "About 1 in 4 labels looks wrong"),
        (400, "About 4 in 10 labels look wrong"),
        (470, "About half of the labels look wrong"),
        (720, "About 7 in 10 labels look wrong"),
        (980, "Nearly all labels look wrong"),
    ],
)
def test_headline(flagged, text):
    assert headline(flagged, 1000) == text


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0, 0, "0 %"),
        (0.001, 0, "< 1 %"),
        (0.276, 0, "28 %"),
        (0.9999, 1, "> 99.9 %"),
        (1, 1, "100.0 %"),
        (0.5, 1, "50.0 %"),
    ],
)
def test_percent_never_rounds_to_nothing_or_everything(share, digits, text):
    assert percent(share, digits).replace("\N{NO-BREAK SPACE}", " ") == text


def test_accuracy_is_told_with_what_it_was_measured_on():
    assert accuracy_on_test({"test_accuracy_last5_mean": None, "test_data": "none"}) is None
    assert accuracy_on_test({"test_accuracy_last5_mean": 0.9, "test_data": "a split"}) == (
        "90.0\N{NO-BREAK SPACE}%",
        "a split",
    )


def test_the_truth_is_told_beside_the_estimate_where_it_is_known():
    summary = {"noise_rate_actual": 0.31, "noise_rate_estimate": 0.3, "detection_auroc": 0.98765}
    values = {name: value for value, name, _ in against_truth(summary)}
    assert values["labels estimated to be wrong"].startswith("30.0")
    assert values["AUROC"] == "0.9877"
    assert against_truth({"noise_rate_estimate": 0.3}) == []
