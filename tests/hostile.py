"""Valid files and messages, and strategies that spoil them: bytes flipped, cut and put in, values of plain data exchanged."""

import copy
import json

from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError

NASTY = [
    *(None, True, 0, -1, 1 << 60, 1 << 64, 10**400, 1e308, 5e-324, -0.0, float("nan"), float("inf"), -float("inf")),
    *("", "a", "nan", "1e999", "x" * 300, "\x00", "\n", "\ud800", "<script>alert(1)</script>", "0.5"),
    *([], {}, [[]], [None], {"a": 1}, [1, 2, 3], [[1, 2], [3]]),
]
"""Values where another is expected."""

HOSTILE = [
    b"",
    b"null",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"9" * 5_000,
    b"[1e999]",
    b"NaN",
    b"\xff\xfe\x00",
    b'{"a": 1, "a": 2}',
    b"\xef\xbb\xbf{}",
]
"""What is no JSON of ours, or too much of it."""


@st.composite
def spoilt_bytes(draw, content):
    """The content with a few bytes changed, taken out or put in."""
    spoilt = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(spoilt) - 1)))
        what = draw(st.sampled_from(["flip", "set", "cut", "insert", "end", "repeat", "wide"]))
        if what == "flip" and spoilt:
            spoilt[place] ^= 1 << draw(st.integers(0, 7))
        elif what == "set" and spoilt:
            spoilt[place] = draw(st.integers(0, 255))
        elif what == "cut":
            del spoilt[place : place + draw(st.integers(1, 40))]
        elif what == "insert":
            spoilt[place:place] = draw(st.binary(max_size=8) | st.sampled_from([b"NaN", b"9" * 5000, b'"', b"[", b"\r\n", b"-"]))
        elif what == "end":
            del spoilt[place:]
        elif what == "repeat":
            spoilt[place:place] = spoilt[place : place + 30]
        else:
            spoilt[place : place + 8] = draw(st.sampled_from([b"\xff" * 8, bytes(8), (1 << 60).to_bytes(8, "little")]))
    return bytes(spoilt)


@st.composite
def spoilt_tree(draw, tree):
    """Plain data with one or two of its values exchanged, taken away or given twice."""
    spoilt = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(spoilt))
        if not places:
            break
        parent, key = draw(st.sampled_from(places))
        what = draw(st.sampled_from(["exchange"] * 6 + ["remove", "add"]))
        if what == "exchange":
            parent[key] = copy.deepcopy(draw(st.sampled_from(NASTY)))
        elif what == "remove":
            del parent[key]
        elif isinstance(parent, dict):
            parent["odd"] = copy.deepcopy(draw(st.sampled_from(NASTY)))
        else:
            parent.append(copy.deepcopy(parent[key]))
    return spoilt


def _places(tree):
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, value in items:
        yield tree, key
        yield from _places(value)


def spoilt_json(tree):
    """Bytes that were JSON of this plain data once."""
    content = json.dumps(tree).encode()
    trees = spoilt_tree(tree).map(lambda spoilt: json.dumps(spoilt).encode())
    return st.one_of(trees, trees, spoilt_bytes(content), st.sampled_from(HOSTILE))


def refused_or_right(read):
    try:
        return read()
    except FedDPError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert len(str(error)) < 2000  # noqa: PT017


def written(path, content):
    path.unlink(missing_ok=True)  # a file that is still mapped must not change under its reader
    path.write_bytes(content)
    return path
