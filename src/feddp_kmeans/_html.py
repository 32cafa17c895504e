"""Small pieces of HTML for notebooks: tables and lines in which every value is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first cell of each row is its name."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def line(words: str, *, strong: bool = False) -> str:
    """Return a paragraph."""
    return f"<p><b>{escape(words)}</b></p>" if strong else f"<p>{escape(words)}</p>"
