"""Files that are whole or absent, and folders that one process works in at a time; also where the system has no POSIX locks."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from feddp_kmeans._files import locked, write_whole
from feddp_kmeans.errors import FedDPError

ROOT = Path(__file__).parents[1]

ADD = """
import sys
from pathlib import Path
from feddp_kmeans._files import locked, write_whole
folder = Path(sys.argv[1])
for step in range(100):
    with locked(folder):
        write_whole(folder / "count", b"%d" % (int((folder / "count").read_bytes()) + 1), lasting=False)
    write_whole(folder / "other", b"x" * step, lasting=False)
"""

WITHOUT_POSIX = """
import os, sys, warnings
for name in ("fcntl", "msvcrt", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
import mmap
for owner, names in ((os, ("O_DIRECTORY", "sched_getaffinity", "killpg", "fork")), (mmap, ("MADV_DONTNEED",))):
    for name in names:
        delattr(owner, name)
opened = os.open
def no_folders(path, *given, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "a folder cannot be opened", str(path))
    return opened(path, *given, **more)
os.open = no_folders
warnings.filterwarnings("ignore", "only soft file lock is available")
"""

HOLD = """
import time
from pathlib import Path
from feddp_kmeans._files import locked
with locked(Path(sys.argv[1])):
"""

FIT = """
from pathlib import Path
import numpy as np
from feddp_kmeans import BudgetError, FedDPKMeans
rng = np.random.default_rng(0)
points = [rng.standard_normal((40, 2)) + 4 * (i % 2) for i in range(4)]
given = dict(epsilon=1.0, lloyd_steps=1, client_size=40, odometer=Path(sys.argv[1]) / "books.jsonl", limit=1.2)
FedDPKMeans(2, **given).fit(points, server_data=points[0])
try:
    FedDPKMeans(2, **given).fit(points, server_data=points[0])
except BudgetError as error:
    print(error)
"""


def start(program, *arguments):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out


@pytest.mark.parametrize("system", ["", WITHOUT_POSIX])
def test_processes_that_write_at_once_lose_nothing_and_leave_no_lock(tmp_path, system):
    (tmp_path / "count").write_text("0")
    for process in [start(system + ADD, tmp_path) for _ in range(3)]:
        ended(process)
    assert (tmp_path / "count").read_text() == "300"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["count", "other"]


def test_a_lock_may_be_nested_and_keeps_other_threads_out(tmp_path):
    seen = []

    def other():
        with locked(tmp_path):
            seen.append("other")

    with locked(tmp_path), locked(tmp_path / ".." / tmp_path.name) as alone:
        assert alone
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.2)
        seen.append("first")
    thread.join()
    assert seen == ["first", "other"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("system", ["", WITHOUT_POSIX])
def test_a_killed_process_locks_nothing(tmp_path, system):
    process = start(f"import sys\n{system}\n{HOLD}    print(flush=True)\n    time.sleep(300)", tmp_path)
    process.stdout.readline()
    process.kill()
    process.communicate()
    assert [path.name for path in tmp_path.iterdir()] == [".feddp.lock"]
    ended(start(f"import sys\n{system}\n{HOLD}    pass", tmp_path))
    assert not list(tmp_path.iterdir())


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    (tmp_path / ".a.json.x1.unfinished").write_text("half")
    (tmp_path / ".b.json.x1.unfinished").write_text("of another file")
    write_whole(tmp_path / "a.json", b"whole", mode=0o600)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.json.x1.unfinished", "a.json"]
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_is_an_error_and_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "a.json", b"")
    assert not (tmp_path / "none").exists()


def test_a_disk_without_locks_takes_files_and_no_bookings(tmp_path, monkeypatch):
    from filelock import _unix

    def none(_):
        raise OSError(38, os.strerror(38))

    monkeypatch.setattr(_unix, "_lock_fd_nonblocking", none)
    write_whole(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    with pytest.raises(OSError, match="not implemented"), locked(tmp_path):
        raise AssertionError("it was not locked")


def test_without_posix_a_fit_is_booked_and_limited(tmp_path):
    told = ended(start(WITHOUT_POSIX + FIT, tmp_path))
    assert "must stay within epsilon 1.2; with this run it is point: epsilon 1.4" in told
    assert len((tmp_path / "books.jsonl").read_text().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["books.jsonl"]


def test_a_federation_needs_posix_and_says_so(monkeypatch):
    from feddp_kmeans.network.deployment.children import ended_by_signals

    monkeypatch.delattr(os, "killpg")
    with pytest.raises(FedDPError, match="feddp serve, join and simulate must run on Linux"), ended_by_signals():
        raise AssertionError("it went on")
