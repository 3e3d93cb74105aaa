import numpy as np

from twincl.report.suspects import most_suspect, with_neighbours


def test_only_flagged_rows_the_worst_first():
    quality = np.array([0.1, 0.5, 0.05, 0.01, 0.3])
    flagged = np.array([True, True, True, False, True])
    assert most_suspect(quality, flagged, 3).tolist() == [2, 0, 4]
    assert most_suspect(quality, np.zeros(5, dtype=bool), 3).tolist() == []


def test_neighbours_match_a_naive_search():
    rng = np.random.default_rng(0)
    count, classes = 120, 4
    given, suggested = rng.integers(0, classes, count), rng.integers(0, classes, count)
    suggested = np.where(rng.random(count) < 0.7, given, suggested)
    flagged = given != suggested
    embeddings = rng.normal(size=(count, 5)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    rows = np.flatnonzero(flagged)[:10]
    for suspect in with_neighbours(rows, given, suggested, flagged, embeddings):
        for label, found in ((given, suspect.like_given), (suggested, suspect.like_suggested)):
            candidates = [i for i in range(count) if given[i] == label[suspect.row] and not flagged[i]]
            expected = sorted(candidates, key=lambda i: -float(embeddings[i] @ embeddings[suspect.row]))[:3]
            assert found == expected


def test_a_class_with_too_few_clean_images_has_fewer_neighbours():
    given, suggested = np.array([0, 0, 1, 2]), np.array([1, 0, 1, 1])
    embeddings = np.eye(4, dtype=np.float32)
    first, second = with_neighbours(np.array([0, 3]), given, suggested, given != suggested, embeddings)
    assert (first.like_given, first.like_suggested) == ([1], [2])
    assert (second.like_given, second.like_suggested) == ([], [2])
