"""Messages: what goes in comes out to the bit, and bytes that are no message are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.wire import pack, unpack

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arrays = st.sampled_from(["<f8", "<i8", "<u8", ">f8"]).flatmap(
    lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
)
names = st.text("abcdefg.", min_size=1, max_size=6).filter(lambda name: name != "kind")


@given(st.text(), st.dictionaries(names, plain | arrays | st.binary(), max_size=5))
def test_a_message_comes_out_as_it_went_in(kind, fields):
    found = unpack(pack(kind, **fields))
    assert found.kind == kind
    assert found.fields.keys() == fields.keys()
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            assert found.fields[name].shape == value.shape
            assert found.fields[name].astype("<f8").tobytes() == value.astype("<f8").tobytes()
        else:
            assert found.fields[name] == value


@given(st.binary(max_size=300))
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(FedDPError, match="a message must be one of protocol 5"):
        unpack(data)


@given(st.data())
def test_a_damaged_message_is_refused_or_read_but_never_breaks(data):
    message = bytearray(pack("sum", a=np.arange(6.0).reshape(2, 3), b=b"xyz", c=[1, {"d": 2.5}], e="f"))
    for place in data.draw(st.lists(st.integers(0, len(message) - 1), min_size=1, max_size=4)):
        message[place] = data.draw(st.integers(0, 255))
    message = message[: data.draw(st.integers(0, len(message)))]
    try:
        unpack(bytes(message))
    except FedDPError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_a_header_that_promises_more_than_there_is_takes_no_memory():
    message = pack("sum", a=np.zeros(3)).replace(b'"<f8", [3]', b'"<f8", [2147483648, 2147483648]')
    with pytest.raises(FedDPError):
        unpack(message)


@pytest.mark.parametrize("value", [np.array([1, 2], dtype=np.int32), np.array(["a"]), np.array([object()])])
def test_only_numbers_of_64_bits_travel(value):
    with pytest.raises(FedDPError, match="64-bit numbers"):
        pack("sum", a=value)


def test_the_length_does_not_depend_on_the_numbers():
    lengths = {len(pack("masked", values=np.array(v, dtype=np.uint64))) for v in ([0, 1], [2**64 - 1, 7], [3, 2**40])}
    assert len(lengths) == 1


def test_a_field_of_the_wrong_kind_is_refused_by_name():
    told = unpack(pack("sum", number=True, name=3))
    with pytest.raises(FedDPError, match="field 'number' of a 'sum' message must be int, got bool"):
        told.get("number", int)
    with pytest.raises(FedDPError, match="field 'name' of a 'sum' message must be str, got int"):
        told.get("name", str)
    with pytest.raises(FedDPError, match="field 'gone' of a 'sum' message must be str, got NoneType"):
        told.get("gone", str)
