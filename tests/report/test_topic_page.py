"""The page of topics: releases and public texts."""

import numpy as np

from feddp_kmeans.report.topic_page import nearest_texts, render_topics, topics_of

RESULT = {
    "centers": [[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]],
    "noisy_counts": [10.0, 500.0, -3.0],
    "count_stddev": 4.0,
    "guarantee": "A guarantee.",
    "secure": True,
    "epsilon": 1.0,
    "privacy_unit": "client",
}
WORDS = {"clusters": [{"name": name, "words": [{"word": name, "lift": 2.5}] if name else []} for name in ("visa <i>", "flight", "")]}


def test_public_texts_are_those_nearest_to_their_own_center():
    vectors = np.array([[0.1, 0], [0.0, 0], [0.9, 0.1], [np.nan, 0], [0.05, 0]])
    texts = ["second", "first", "other", "none", "first"]
    assert nearest_texts(np.array([[0.0, 0], [1, 0], [5, 5]]), vectors, texts, shown=2)[:2] == [["first", "second"], ["other"]]


def test_the_page_has_the_largest_topic_first_and_escapes_what_it_shows():
    found = topics_of(RESULT, WORDS, [["<script>"], [], []])
    assert [topic["topic"] for topic in found] == [1, 0, 2]
    assert [topic["closest"] for topic in found] == [0, 1, 1]
    page = render_topics(RESULT, found, {"runs": 2, "epsilon": 1.5, "delta": 1e-6})
    for told in (
        "visa &lt;i&gt;",
        "&lt;script&gt;",
        "No word stands out",
        "No public text is nearest",
        "epsilon <b>1.5</b>",
        "Closest topic",
    ):
        assert told in page
    assert "<script>" not in page
    assert "together cost" not in render_topics(RESULT, found, None)
