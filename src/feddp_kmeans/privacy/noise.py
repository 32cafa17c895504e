"""Integer noise from a stream of random bits. It is added to integers, so no trace of floating-point arithmetic is released.

How exact the samplers are: every draw is a chain of *acceptances*, each an exact comparison of random bits with the float64 ``exp(-x)``.
The only error is the relative error of that float64, at most 2**-42 for all acceptances of one draw together (exponents stay below 100 up
to 13 standard deviations; the mass beyond is below 1e-38). A rejection sampler turns a relative error of its acceptances into the same
relative error of its probabilities, so the law of one draw is within a factor ``exp(+-SAMPLER_LOG_ERROR)`` of the ideal law. This costs
``2 * SAMPLER_LOG_ERROR`` of epsilon per draw, and nothing of delta.
"""

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from feddp_kmeans._typing import Array, BoolArray, FloatArray, IntArray
from feddp_kmeans.errors import InputError

SAMPLER_LOG_ERROR = 2.0**-41
"""Bound on |log(law of a draw / ideal law)|; it includes what separates a discrete from a rounded Gaussian."""

MAX_SCALE = 2.0**56
"""Largest noise scale, in integer steps, whose draws are sure to fit 63 bits."""

_CHUNK = 1 << 14
_REKEY_BYTES = 1 << 30


class RandomStream(Protocol):
    """A stream of uniform 64-bit integers."""

    secure: bool

    def uint64(self, size: int) -> Array:
        """Return ``size`` uniform 64-bit integers."""
        ...


class _ChaCha20Stream:
    """The ChaCha20 key stream, with a new key at least every gibibyte."""

    secure: bool

    def __init__(self, new_key: Callable[[], bytes]) -> None:
        self._new_key = new_key
        self._rekey()

    def _rekey(self) -> None:
        self._used = 0
        self._pid = os.getpid()
        self._encryptor = Cipher(algorithms.ChaCha20(self._new_key(), bytes(16)), mode=None).encryptor()

    def uint64(self, size: int) -> Array:
        if self._used > _REKEY_BYTES or (self.secure and self._pid != os.getpid()):
            self._rekey()
        self._used += 8 * size
        out = bytearray(8 * size)
        self._encryptor.update_into(bytes(8 * size), out)
        return np.frombuffer(out, dtype="<u8")


class SystemStream(_ChaCha20Stream):
    """Cryptographic randomness: keyed by the operating system, and keyed anew in a forked process."""

    secure = True

    def __init__(self) -> None:
        super().__init__(lambda: os.urandom(32))


class SeededStream(_ChaCha20Stream):
    """A reproducible stream for simulations. Whoever knows the seed can remove the noise: not private."""

    secure = False

    def __init__(self, seed: int, label: str = "") -> None:
        keys = itertools.count(1)
        super().__init__(lambda: hashlib.sha256(f"feddp-kmeans/{seed}/{label}/{next(keys)}".encode()).digest())


class StreamFactory:
    """Hands out one independent stream per label: secure ones, or reproducible ones where a seed is given."""

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        self._made: Counter[str] = Counter()

    @property
    def secure(self) -> bool:
        """Return whether the streams are cryptographic."""
        return self._seed is None

    def stream(self, label: str) -> RandomStream:
        """Return a new stream; asking for the same label again gives another stream."""
        if self._seed is None:
            return SystemStream()
        self._made[label] += 1
        return SeededStream(self._seed, f"{label}/{self._made[label]}")

    def integer_seed(self, label: str) -> int:
        """Return a 32-bit seed for randomness that needs no secrecy, such as restarts on the server."""
        return int(self.stream(label).uint64(1)[0] >> np.uint64(32))


def discrete_gaussian(stream: RandomStream, sigma: float, size: int) -> IntArray:
    """Return integers x drawn with probability proportional to ``exp(-x**2 / (2 sigma**2))``.

    Canonne, Kamath and Steinke (2020), vectorised: a discrete Laplace proposal, accepted with probability
    ``exp(-(|y| - sigma**2/t)**2 / (2 sigma**2))``.
    """
    _check_scale(sigma)
    t = int(sigma) + 1

    def draw(count: int) -> IntArray:
        magnitude = _geometric(stream, t, count)
        negative = _coins(stream, count)
        exponent = np.asarray((magnitude - sigma**2 / t) ** 2 / (2 * sigma**2), dtype=np.float64)
        keep = _bernoulli_exp(stream, exponent) & ~(negative & (magnitude == 0))
        signed: IntArray = np.where(negative, -magnitude, magnitude)[keep]
        return signed

    return _fill(size, draw)


def rounded_laplace(stream: RandomStream, scale: int, size: int) -> IntArray:
    """Return Laplace draws of integer scale, rounded to the nearest integer.

    Added to an integer, this is the rounding of the continuous mechanism's output: a post-processing of it, so the
    Laplace mechanism's guarantee holds as it stands. ``P(|x| >= j) = exp(-(j - 1/2) / scale)`` for j >= 1.
    """
    _check_scale(scale)

    def draw(count: int) -> IntArray:
        nonzero = _bernoulli_exp(stream, np.full(count, 0.5 / scale, dtype=np.float64))
        magnitude = np.where(nonzero, 1 + _geometric(stream, scale, count), 0)
        signed: IntArray = np.where(_coins(stream, count), -magnitude, magnitude)
        return signed

    return _fill(size, draw)


def _check_scale(scale: float) -> None:
    if not 0 < scale <= MAX_SCALE:
        raise InputError(f"noise scale must be above 0 and at most 2**56 integer steps, got {scale}.")


def _fill(size: int, draw: Callable[[int], IntArray]) -> IntArray:
    """Return ``size`` accepted values, drawn in chunks that stay in the cache."""
    out = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        batch = draw(min(_CHUNK, 2 * (size - filled) + 16))[: size - filled]
        out[filled : filled + len(batch)] = batch
        filled += len(batch)
    return out


def _coins(stream: RandomStream, count: int) -> BoolArray:
    bits = np.unpackbits(stream.uint64(count // 64 + 1).view(np.uint8))
    return bits[:count].astype(bool)


def _bernoulli_exp(stream: RandomStream, exponent: FloatArray) -> BoolArray:
    """Return coins that show true with probability exactly the float64 ``exp(-exponent)``, exponent >= 0."""
    probability = np.exp(-exponent)
    certain: BoolArray = probability >= 1.0
    probability[certain] = 0.0
    return _below(stream, probability) | certain


def _below(stream: RandomStream, probability: FloatArray) -> BoolArray:
    """Return whether a uniform number is below each probability, exactly: 64 bits are compared, and where they are equal, the next 64."""
    scaled = probability * 2.0**64
    whole = np.floor(scaled)
    threshold = whole.astype(np.uint64)
    bits = stream.uint64(len(scaled))
    result: BoolArray = bits < threshold
    tie = (bits == threshold) & (scaled > whole)
    if tie.any():
        result[tie] = _below(stream, (scaled - whole)[tie])
    return result


def _uniform_below(stream: RandomStream, bound: int, size: int) -> IntArray:
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)

    def draw(count: int) -> IntArray:
        values = (stream.uint64(count) & mask).astype(np.int64)
        kept: IntArray = values[values < bound]
        return kept

    return _fill(size, draw)


def _geometric(stream: RandomStream, t: int, size: int) -> IntArray:
    """Return x >= 0 with probability proportional to ``exp(-x / t)``, as ``u + t v`` with u < t."""

    def draw(count: int) -> IntArray:
        u = _uniform_below(stream, t, count)
        kept: IntArray = u[_bernoulli_exp(stream, u / t)]
        return kept

    return _fill(size, draw) + t * _geometric_unit(stream, size)


def _geometric_unit(stream: RandomStream, size: int) -> IntArray:
    """Return v >= 0 with probability proportional to ``exp(-v)``: the number of times in a row that a coin of chance 1/e shows true."""
    v = np.zeros(size, dtype=np.int64)
    running = np.arange(size)
    while len(running):
        running = running[_bernoulli_exp(stream, np.ones(len(running)))]
        v[running] += 1
    return v
