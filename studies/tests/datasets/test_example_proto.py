"""tf.train.Example without tensorflow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.example_proto import text_features
from studies.tests.datasets.protos import example, field, varint


def test_bytes_written_out_by_hand():
    """features { feature { key: "a" value { bytes_list { value: "xy" } } } }."""
    message = bytes.fromhex("0a0d 0a0b 0a01 61 1206 0a04 0a02 7879")
    assert text_features(message) == {"a": "xy"}


def test_text_is_read_and_numbers_are_skipped():
    assert text_features(example(title="how?", score=70_000, weight=0.5, tags="c#|java")) == {"title": "how?", "tags": "c#|java"}
    assert text_features(b"") == {}
    assert text_features(example(title="")) == {"title": ""}


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=300), max_size=5))
def test_any_text_comes_back(values):
    assert text_features(example(**values)) == values


def test_fields_of_other_kinds_are_skipped():
    strange = varint(9 << 3) + varint(300) + varint(9 << 3 | 5) + b"four" + varint(9 << 3 | 1) + b"8 bytes!" + field(7, b"more")
    assert text_features(strange + example(a="x") + strange) == {"a": "x"}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (example(title="how?")[:-2], "whole fields"),
        (b"\xff", "one that does not end"),
        (b"\xff" * 20, "one that does not end"),
        (b"\x0b", "wire type 3"),
    ],
)
def test_broken_messages_are_refused(message, error):
    with pytest.raises(FedDPError, match=error):
        text_features(message)
