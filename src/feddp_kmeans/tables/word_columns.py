"""Text as the listed words in it: only words of a public list are ever counted."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_text
from feddp_kmeans.tables.column import Column

MOST_LISTED = 100_000
_RUNS = re.compile(r"[^\W_]+(?:['\-.+#]+[^\W_]+)*[+#]*")
"""Letters and digits of any script, and marks inside a word: c++, c#, don't, node.js."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
"""Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese. Pairs of their letters are words."""


def tokens(text: str) -> Iterator[str]:
    """Yield the words of a text, in lower case and Unicode's compatible form.

    >>> list(tokens("Don't use C++, Node.js"))
    ["don't", 'use', 'c++', 'node.js']
    >>> list(tokens("東京都 2024"))
    ['東京', '京都', '2024']
    """
    for run in _RUNS.findall(unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")):
        parts = _UNSPACED.findall(run)
        if parts:
            yield from (part[index : index + 2] for part in parts for index in range(len(part) - 1))
            continue
        yield run


def vocabulary(texts: Iterable[str], *, most: int = 2000, least: int = 3, stop: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words of most *public* texts, the most frequent first: those in at least ``least`` texts, without stop words."""
    counts: dict[str, int] = {}
    left_out = {word for line in stop for word in tokens(line)}
    for text in texts:
        for word in {*tokens(text)} - left_out:
            counts[word] = counts.get(word, 0) + 1
    kept = sorted((word for word, count in counts.items() if count >= least and not word.isdigit()), key=lambda word: (-counts[word], word))
    return tuple(kept[:most])


@dataclass(frozen=True)
class WordColumn(Column):
    """A column of text, of which the first listed words of each cell are read, each once."""

    name: str
    listed: tuple[str, ...]
    most: int = 8
    """How many words of a cell are read."""
    weight: float = 1.0
    missing: str = "middle"
    kind: ClassVar[str] = "words"
    rule: ClassVar[str] = "hold text"

    def __post_init__(self) -> None:
        if not 0 < len(self._numbers) == len(self.listed) <= MOST_LISTED:
            rule = f"1 to {MOST_LISTED} distinct words, in lower case, as texts are cut into them"
            raise InputError(f"words of column {self.name!r:.80} must be {rule}, got {self.listed!r:.80}.")
        if self.most < 1:
            raise InputError(f"most words of column {self.name!r:.80} must be at least 1, got {self.most}.")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.listed) if [*tokens(word)] == [word]}

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return tuple(f"{self.name} (word {slot})" for slot in range(self.most))

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates."""
        return float(self.most) * len(self.listed) ** 2

    @property
    def public(self) -> str:
        """Return how many words are listed."""
        return f"{len(self.listed):,} listed words"

    def encode(self, column: Any, decimal: str) -> FloatArray:  # noqa: ARG002
        """Return the numbers of the first listed words of each cell; -1 where there are no more."""
        found = np.full((len(column), self.most), -1.0)
        for row, text in enumerate(as_text(column).to_pylist()):
            known = dict.fromkeys(self._numbers[word] for word in tokens(text or "") if word in self._numbers)
            numbers = [*known][: self.most]
            found[row, : len(numbers)] = numbers
        return found

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:  # noqa: ARG002
        """Return that no cell is strange."""
        return 0, len(column)
