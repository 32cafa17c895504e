"""What to type about columns that do not hold what they must. Names of columns are public; nothing is taken from cells."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from feddp_kmeans.tables.cells import is_line, listed

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


def refused_columns(wrong: Mapping[str, str], source: str, got: str, advise: Callable[[Sequence[str]], str] | None = None) -> str:
    """Return one line about all columns whose cells break their rule; ``wrong`` maps names to rules."""
    lines = []
    for rule in dict.fromkeys(wrong.values()):
        names = [name for name, broken in wrong.items() if broken == rule]
        advice = _OTHER.get(rule) or (advise or words_advice)(names)
        lines.append(f"column{'s' * (len(names) > 1)} {listed([*map(repr, names)], _MOST)} of {source} must {rule}, got {got}: {advice}")
    return "; ".join(lines) + "."


def words_advice(names: Sequence[str]) -> str:
    """Return what to type about columns of words or dates."""
    quoted = [_typed(name) for name in names[:_MOST]]
    them, each = ("it", "it holds") if len(names) == 1 else ("them", "each holds")
    ignored = " ".join(f"--ignore {name}" for name in quoted) + (" ..." if len(names) > _MOST else "")
    name = quoted[0] if len(names) == 1 else "NAME"
    stated = f"--categories {name}=WORD,WORD for words, --range {name}=2015-01-01:2026-12-31 for dates"
    return f"leave {them} out with {ignored}, or say what {each}, from public knowledge: {stated}, or a --schema file (feddp encode)"


def _typed(name: str) -> str:
    """Return a name as it is typed in a shell; a placeholder for one that nobody types."""
    return shlex.quote(name) if is_line(name) and len(name) <= _LONGEST else "NAME"


def id_advice(names: Sequence[str]) -> str:
    """Return what to type about columns that are named like identifiers; empty if there are none."""
    ids = [name for name in names if ID_NAME.search(name)]
    ignored = " ".join(f"--ignore {_typed(name)}" for name in ids[:_MOST])
    named = f"Columns {listed(ids)} are named like ids" if len(ids) > 1 else f"Column {listed(ids)} is named like an id"
    return f"{named}. Ids say nothing about clusters and cost budget; to leave out: {ignored}" if ids else ""


def frame_advice(names: Sequence[str]) -> str:
    """Return what to do in Python about columns of words or dates."""
    return f"drop them, or say what they hold, from public knowledge: schema={{{names[0]!r:.60}: {{'categories': [...]}}, ...}}"
