"""Work in parallel processes: each uses one thread, and ends when the process that started it ends."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from feddp_kmeans.silos.threads import THREADS

Result = TypeVar("Result")


def side_by_side(work: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], processes: int) -> Iterator[Result]:
    """Yield the result of the work for each task's arguments, as it is done; in this process if one process or one task is all there is."""
    if processes == 1 or len(tasks) < 2:
        with threadpool_limits(1):
            for task in tasks:
                yield work(*task)
        return
    with ProcessPoolExecutor(min(processes, len(tasks)), get_context("spawn"), _start) as pool:
        futures = [pool.submit(work, *task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start() -> None:
    """Use one thread, and end with the process that started this one: a killed run leaves no process behind."""
    threadpool_limits(1)
    os.environ[THREADS] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
