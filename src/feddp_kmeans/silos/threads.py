"""Sums over batches on all cores: numpy and BLAS release the interpreter's lock while they compute, so threads are enough.

Sums are whole numbers, so the order of the batches does not matter.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

from feddp_kmeans._typing import IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.statistics.batch import ClientBatch

THREADS = "FEDDP_THREADS"
"""Environment variable that sets how many threads compute at once."""

_ALONE = 128
"""Batches added before any thread starts: for fewer, threads took a third more processor time and saved little waiting."""


def n_threads() -> int:
    """Return how many threads compute at once: FEDDP_THREADS, or the number of cores that this process may use."""
    given = os.environ.get(THREADS)
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or int(given) < 1:
        raise InputError(f"{THREADS} must be a whole number from 1, got {given!r}.")
    return int(given)


def add_batches(total: IntArray, batches: Iterator[ClientBatch], compute: Callable[[ClientBatch], IntArray]) -> None:
    """Add ``compute`` of every batch to the total. Few batches are held at once, and BLAS gets one thread per thread of ours."""
    threads = n_threads()
    with one_blas_thread():
        for batch in batches if threads == 1 else islice(batches, _ALONE):
            total += compute(batch)
        following = next(batches, None)
        if following is not None:
            with ThreadPoolExecutor(threads) as pool:
                _add_in_threads(total, following, batches, lambda batch: pool.submit(copy_context().run, compute, batch), threads)


def _add_in_threads(
    total: IntArray, first: ClientBatch, rest: Iterator[ClientBatch], submit: Callable[[ClientBatch], "Future[IntArray]"], threads: int
) -> None:
    waiting = deque([submit(first)])
    for batch in rest:
        waiting.append(submit(batch))
        if len(waiting) > threads:
            total += waiting.popleft().result()
    for part in waiting:
        total += part.result()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: by default each product of small matrices wakes all cores, at up to twice the cost."""
    with _pools("scipy.linalg").limit(limits=1, user_api="blas"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit scikit-learn's threads too: many of them add in an order that differs from run to run, and a seed must give the same bits."""
    with _pools("scipy.linalg", "sklearn.cluster").limit(limits=1):
        yield


@cache
def _pools(*modules: str) -> Any:
    """Return the pools of threads that are there once these modules are, which bring some of their own."""
    from threadpoolctl import ThreadpoolController

    for module in modules:
        import_module(module)
    return ThreadpoolController()
