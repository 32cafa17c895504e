"""What to type about columns that do not hold what they must. Names of columns are public; nothing is taken from cells."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from feddp_kmeans.tables.cells import is_line, is_row, listed

ID_NAME = re.compile(r"(?i:(^|[_\s.-]|case|client|customer|member|patient|person|record|row|user)(id|uuid|guid)$)|[a-z]I[dD]$")
"""Names that people give to identifiers."""
_LONGEST = 80
"""Characters of a name that is repeated in a command to type."""
_MOST = 20
"""Number of columns named in one message."""
_OTHER = {
    "hold dates": 'text needs the order of day, month and year in a schema, such as order = "dmy"',
    "hold words for yes and no": 'state the words in a schema: boolean = ["ja", "nein"]',
}


Advice = Callable[[Sequence[str]], str]
"""Returns what to do about columns of these names."""


def refused_columns(wrong: Mapping[str, str], source: str, got: str, advise: Advice | None = None) -> str:
    """Return one line about all columns whose cells break their rule; ``wrong`` maps names to rules."""
    lines = []
    for rule in dict.fromkeys(wrong.values()):
        names = [name for name, broken in wrong.items() if broken == rule]
        advice = _OTHER.get(rule) or (advise or words_advice)(names)
        lines.append(f"column{'s' * (len(names) > 1)} {_named(names)} of {source} must {rule}, got {got}: {advice}")
    return "; ".join(lines) + "."


def words_advice(names: Sequence[str]) -> str:
    """Return what to type about columns of words or dates."""
    them, each = ("it", "it holds") if len(names) == 1 else ("them", "each holds")
    name = _typed(names[0]) if len(names) == 1 else "NAME"
    stated = f"--categories {name}=WORD,WORD for words, --range {name}=2015-01-01:2026-12-31 for dates"
    return (
        f"leave {them} out with {_ignored(names)}, or say what {each}, from public knowledge: {stated}, or a --schema file (feddp encode)"
    )


def other_columns(source: str, columns: Sequence[str], like: Sequence[str]) -> str:
    """Return one line about a table that has other columns than the tables before it."""
    lost, more = [name for name in like if name not in columns], [name for name in columns if name not in like]
    got = f"no {_named(lost)}{f', but {_named(more)}' * bool(more)}" if lost else f"also {_named(more)}"
    ways = ["rename columns in the file" if more else "add what is missing to the file"] if lost else []
    if len(lost) < len(like):  # there is a column that both have
        ways.append(f"leave out what not all tables have, with {_ignored([*lost, *more])}")
    return f"{source} must have the columns of the other tables, {listed(like, 4)}, got {got}: {', or '.join(ways)}."


def _named(names: Sequence[str]) -> str:
    return listed([*map(repr, names)], _MOST)


def _ignored(names: Sequence[str]) -> str:
    return " ".join(f"--ignore {_typed(name)}" for name in names[:_MOST]) + (" ..." if len(names) > _MOST else "")


def _typed(name: str) -> str:
    """Return a name as it is typed in a shell; a placeholder for one that nobody types."""
    return shlex.quote(name) if is_line(name) and len(name) <= _LONGEST else "NAME"


def id_advice(names: Sequence[str]) -> str:
    """Return what to type about columns that are named like identifiers; empty if there are none."""
    ids = [name for name in names if ID_NAME.search(name)]
    named = f"Columns {listed(ids)} are named like ids" if len(ids) > 1 else f"Column {listed(ids)} is named like an id"
    return f"{named}. Ids say nothing about clusters and cost budget; to leave out: {_ignored(ids)}" if ids else ""


def row_advice(names: Sequence[str]) -> str:
    """Return what to do about a frame whose names may be the first row of a file; empty if they are not. None is quoted."""
    counted = any([*names] == [str(start + place) for place in range(len(names))] for start in (0, 1))
    advice = "if they are the first row of a file without names, read it with header=None: names are published with a result"
    return f"columns of X have numbers for names: {advice}." if is_row(names, ".") and not counted else ""


def frame_advice(names: Sequence[str]) -> str:
    """Return what to do in Python about columns of words or dates."""
    stated = f"schema={{{names[0]!r:.60}: {{'categories': [...]}}, ...}}, or {{'range': ['2015-01-01', '2026-12-31']}} for dates"
    return f"drop them, or say what they hold, from public knowledge: {stated}"
