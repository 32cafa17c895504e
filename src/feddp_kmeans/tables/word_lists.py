"""Public lists of words: from a file, from the texts of a public table, or the common words of a language."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMON = (
    "a about after all also am an and any are as at be been before being between both but by can could did do does during each few for "
    "from get had has have he her here him his how i if in into is it its just may me more most my need no nor not of off on once one "
    "only or other our out over own same she should so some such than that the their them then there these they this those through to "
    "too under until up us use very was we were what when where which while who whom why will with would you your"
)
"""English words that tell nothing: left out of a list that is made of texts."""
MOST_COUNTED = 8
_LONGEST = 1500
_TELL_NOTHING = 100
"""Most frequent words of a language that are left out."""
_PIECE = 1 << 16


@dataclass(frozen=True)
class WordList:
    """Which words are counted. All of it is public."""

    file: Path | None = None
    """Of words, one per line."""
    texts: Path | None = None
    """Table with public texts."""
    language: str | None = None
    """Code, such as en or de."""
    stop: Path | None = None
    """File of words that are left out, one per line."""
    longest: int = _LONGEST
    """Words that are taken from texts or of a language."""
    most: int = MOST_COUNTED
    """Distinct words of a person, or of a row, that count."""

    def words(self, column: str, reading: Reading = AS_THE_HEADER_SAYS) -> tuple[str, ...]:
        """Return the words, the most frequent first. ``column`` is that of the texts."""
        from feddp_kmeans.tables.word_columns import vocabulary

        if sum(given is not None for given in (self.file, self.texts, self.language)) != 1:
            raise InputError(
                "words must be given by --list, a file of public words; by --server, a public table; or by --language; give one of them."
            )
        if self.file is not None:
            return tuple(dict.fromkeys(_lines(self.file)))
        if self.texts is not None:
            return vocabulary(column_texts(self.texts, column, reading), most=self.longest, stop=self.left_out)
        return tuple(islice(self._of_language(str(self.language)), self.longest))

    @property
    def left_out(self) -> "Sequence[str]":
        """Return the words that are left out."""
        return [COMMON, *(_lines(self.stop) if self.stop else ())]

    def _of_language(self, language: str) -> Iterator[str]:
        """Yield the common words of a language that tell something, as the package wordfreq counts them."""
        from feddp_kmeans.tables.word_columns import tokens

        try:
            import wordfreq
        except ImportError:
            raise InputError("--language must be given with wordfreq installed: pip install 'feddp-kmeans[words]'.") from None
        if language not in wordfreq.available_languages():
            raise InputError(f"--language must be one of {', '.join(sorted(wordfreq.available_languages()))}, got {language!r:.80}.")
        seen = {word for line in self.left_out for word in tokens(line)}
        for entry in islice(wordfreq.iter_wordlist(language), _TELL_NOTHING, None):
            for word in tokens(entry):
                if word not in seen and not word.isdigit():
                    seen.add(word)
                    yield word


def column_texts(path: Path, column: str, reading: Reading = AS_THE_HEADER_SAYS) -> list[str]:
    """Return the texts of a public table's column; a missing one is empty."""
    from feddp_kmeans.tables.cells import as_text, check_present
    from feddp_kmeans.tables.formats import read_schema, read_tables

    check_present((column,), read_schema(path, reading).names, path.name)
    parts = (as_text(table[column]).to_pylist() for table in read_tables(path, (column,), _PIECE, reading=reading))
    return [text or "" for part in parts for text in part]


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"words must be a text file, one word per line, got {str(path)!r}: {type(error).__name__}.") from None
