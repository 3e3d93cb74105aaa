"""From class probabilities to answers about each label."""

import numpy as np
import pytest

from twincl.core.noise_model import NoiseModel
from twincl.results.judgement import judge_labels

T = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
SAID = np.array([[0.9, 0.05, 0.05], [0.9, 0.05, 0.05], [0.5, 0.4, 0.1]], np.float32)
GIVEN = np.array([0, 1, 1])


def test_answers_by_hand():
    found = judge_labels(SAID, GIVEN, NoiseModel(T, 1.0))
    posterior = []
    for said, label in zip(SAID.tolist(), GIVEN, strict=True):
        joint = [p * T[z, label] for z, p in enumerate(said)]
        posterior.append([x / sum(joint) for x in joint])
    assert found.label_quality.tolist() == pytest.approx([0.9, 0.05, 0.4])
    assert found.clean_probability.tolist() == pytest.approx([row[y] for row, y in zip(posterior, GIVEN, strict=True)])
    assert found.suggested.tolist() == [0, 0, 1], "the last image looks like 0, but its label tips the scales"
    assert found.confidence.tolist() == pytest.approx([max(row) for row in posterior])
    assert found.is_issue.tolist() == [False, True, False]
    assert found.noise_rate == pytest.approx(1 / 3), "one of three is called wrong, more than is expected"
    expected = 1 - np.mean([row[y] for row, y in zip(posterior, GIVEN, strict=True)])
    none_called_wrong = found._replace(suggested=GIVEN)
    assert none_called_wrong.noise_rate == pytest.approx(expected, rel=1e-5)
    by_class = np.zeros((3, 3))
    for row, label in zip(posterior, GIVEN, strict=True):
        by_class[label] += row
    np.testing.assert_allclose(found.by_class, by_class, rtol=1e-5)
    np.testing.assert_allclose(found.transition_matrix[:2], by_class[:2] / [[1], [2]], rtol=1e-5)
    assert found.transition_matrix[2].tolist() == [0, 0, 0], "no label of this class was given"
