import numpy as np
import pytest

from twincl.report.posterior import decision_cut, posterior, to_log_odds


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_log_odds_are_finite_and_known():
    odds = to_log_odds(np.array([0.0, 0.5, 0.9, 1.0]))
    assert np.isfinite(odds).all()
    assert odds[1:3] == pytest.approx([0, np.log(9)])
    assert odds[0] == pytest.approx(-odds[3])


def test_two_groups_are_found_where_they_are():
    rng = np.random.default_rng(0)
    wrong = np.arange(1000) < 300
    odds = np.where(wrong, rng.normal(-4, 0.5, 1000), rng.normal(2, 1, 1000))
    found = posterior(sigmoid(odds), wrong)
    assert found.log_odds == pytest.approx(odds, abs=1e-6)
    assert found.fit.means == pytest.approx((-4, 2), abs=0.15)
    assert found.fit.deviations == pytest.approx((0.5, 1), abs=0.1)
    assert found.fit.weights == pytest.approx((0.3, 0.7), abs=0.01)
    assert odds[wrong].max() < found.cut < odds[~wrong].min()


def test_one_group_has_no_components():
    quality = sigmoid(np.random.default_rng(0).normal(2, 1, 500))
    found = posterior(quality, np.zeros(500, dtype=bool))
    assert found.fit.means is None
    assert found.cut is None


def test_there_is_no_cut_where_the_verdict_is_not_by_quality_alone():
    odds = np.array([-3.0, -1.0, 0.0, 2.0])
    assert decision_cut(odds, np.array([True, True, False, False])) == -0.5
    assert decision_cut(odds, np.array([True, False, True, False])) is None
    assert decision_cut(odds, np.ones(4, dtype=bool)) is None
