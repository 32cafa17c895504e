"""topics.html: what the topics of many people's texts are, in words and in public texts. It shows releases and public texts only."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from feddp_kmeans import _text as text
from feddp_kmeans._text import finite
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.report.page import is_private
from feddp_kmeans.report.profiles import size_weights
from feddp_kmeans.report.templates import rendered

EXAMPLES = 5
"""Public texts shown with a topic."""
_WORDS = 8


def nearest_texts(centers: FloatArray, vectors: FloatArray, texts: list[str], shown: int = EXAMPLES) -> list[list[str]]:
    """Return the public texts nearest to each center, of those that are nearer to it than to any other."""
    there = np.flatnonzero(np.isfinite(vectors).all(axis=1))
    squares = cdist(vectors[there], centers, "sqeuclidean")
    own, found = squares.argmin(axis=1), []
    for row in range(len(centers)):
        members = np.flatnonzero(own == row)
        best = members[np.argsort(squares[members, row], kind="stable")]
        found.append([*dict.fromkeys(texts[place] for place in there[best])][:shown])
    return found


def topics_of(result: dict[str, Any], words: dict[str, Any], examples: list[list[str]]) -> list[dict[str, Any]]:
    """Return the topics as plain data, the largest first."""
    centers, error = np.array(result["centers"]), finite(result.get("count_stddev"))
    weights = size_weights(result["noisy_counts"], len(centers))
    apart = np.linalg.norm(centers[:, None] - centers[None], axis=2) + np.diag(np.full(len(centers), np.inf))
    made = [
        {
            "topic": row,
            "name": words["clusters"][row]["name"],
            "size": finite(result["noisy_counts"][row]),
            "size_error": error,
            "share": weights[row] / sum(weights),
            "words": words["clusters"][row]["words"][:_WORDS],
            "public_texts": examples[row],
            "closest": int(apart[row].argmin()) if len(centers) > 1 else None,
            "distance": float(apart[row].min()) if len(centers) > 1 else None,
        }
        for row in range(len(centers))
    ]
    return sorted(made, key=lambda topic: -(topic["size"] or 0.0))


def render_topics(result: dict[str, Any], topics: list[dict[str, Any]], spent: dict[str, Any] | None) -> str:
    """Return the page; ``spent`` is what all runs on the same data have spent together."""
    names = {topic["topic"]: topic["name"] for topic in topics}
    return rendered(
        "topics.html",
        result=result,
        private=is_private(result),
        topics=[topic | {"said": text.size(topic["size"], topic["size_error"]), "near": names.get(topic["closest"])} for topic in topics],
        spent=spent if spent and spent.get("epsilon") is not None else None,
    )
